"""Effects in sentences, never stronger than the data."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from reports.cautions import Cautions, JointCautions, cautions, joint_cautions
from reports.conditional import conditional_effects
from reports.effects import comparisons
from reports.finding import DEPENDS, EFFECT, INTERACTION, MOST, PLACEBO, Finding, finding_of
from reports.frames import Frames
from reports.glance import glance_of
from reports.interactions import interaction_comparisons
from reports.leading import leading
from reports.pairs import pairs, told_levels
from reports.panel import Panel, panel
from reports.placebo import of_placebo, placebo_claim, placebo_support
from reports.ranking import (
    beyond_noise,
    budget_change,
    depends_on_others,
    has_survivors_only,
    importance,
    size,
)
from reports.records import records
from reports.sentences import cancels, claim_of, support_of, tells_range
from reports.together import interaction_claim, interaction_support
from reports.unshown import exploratory, noise, undecided
from reports.where import where
from reports.wording import PERCENT

Names = dict[str, dict[str, str]]
"""By factor: each level as sentences write it."""

MAX_INTERACTIONS = 3
"""Interactions told of each metric beside those that its effects tell; the rest is counted."""


def state_findings(
    frames: Frames,
    effects: pd.DataFrame | None = None,
    *,
    interactions: pd.DataFrame | None = None,
    data: Panel | None = None,
    beside: Cautions | None = None,
    joint: JointCautions | None = None,
) -> list[Finding]:
    """What a run shows about its primary metrics, largest effects first.

    For each metric: which factor leads; then effects that depend on the other factors so that none
    is left on average; then the other shown effects, all ordered by size, but those of metrics that
    no seed changes after what was measured, and last those with a caution; then interactions that
    none of them tells; then what cannot be concluded, what lies inside seed noise, and a count of
    exploratory effects. Where the run has a placebo one finding says what it shows: before all
    others where that is more than nothing, else with the exploratory ones.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it, if already computed.
        interactions: `reports.interactions.interaction_comparisons` of it, if already computed.
        data: `reports.panel.panel` of it, if already computed.
        beside: `reports.cautions.cautions` of it, if already computed.
        joint: `reports.cautions.joint_cautions` of it, if already computed.
    """
    data = panel(frames) if data is None else data
    table = comparisons(frames, data) if effects is None else effects
    both = interaction_comparisons(frames, data) if interactions is None else interactions
    beside = cautions(frames, table) if beside is None else beside
    joint = joint_cautions(frames, both) if joint is None else joint
    names = told_levels(frames)
    table, both = _named(table, names), _named(both, names)
    table = table.assign(
        shown=beyond_noise(table),
        depends=depends_on_others(table),
        weight=importance(table),
        size=size(table),
        judged=~has_survivors_only(table) & (table["n_pairs"] > 0),
    )
    both = both.assign(
        shown=beyond_noise(both),
        size=size(both),
        judged=~has_survivors_only(both) & (both["n_pairs"] > 0),
    )
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    units = dict(zip(info["metric"], info["unit"], strict=True))
    real = table[~of_placebo(table)]
    primary = real[real["primary"]].sort_values("weight", ascending=False, kind="stable")
    between = both[~of_placebo(both)]
    warning, note = _placebo(table, both, units)
    return [
        *warning,
        *_effects(frames, data, primary, units, budget_change(table), beside, names),
        *_interactions(primary, between[between["primary"]], units, joint),
        *undecided(frames, data, primary, units, beside),
        *noise(primary, beside),
        *exploratory(real, between),
        *note,
    ]


def _named(table: pd.DataFrame, names: Names) -> pd.DataFrame:
    """The same table with its levels as sentences write them, in columns ``…_name``."""
    for factor in ("factor", "factor_2"):
        for level in ("level", "reference"):
            column = level + factor.removeprefix("factor")
            if column in table:
                keys = zip(table[factor], table[column], strict=True)
                table = table.assign(**{f"{column}_name": [names[f][one] for f, one in keys]})
    return table


def _effects(
    frames: Frames,
    data: Panel,
    primary: pd.DataFrame,
    units: dict[str, str],
    budget: dict[tuple[str, str], float],
    beside: Cautions,
    names: Names,
) -> list[Finding]:
    """What is shown: first what leads, then what cancels, then the rest.

    An effect that is no evidence leads nothing.
    """
    contrasts = pairs(frames)

    def places(row: Any) -> str:
        """Where an effect holds, if one other factor tells."""
        if not (tells_range(row) and row.varies_with):
            return ""
        rows = conditional_effects(
            frames,
            factor=row.factor,
            level=row.level,
            metric=row.metric,
            factor_2=row.varies_with,
            alpha=row.told_level,
            data=data,
            contrasts=contrasts,
        )
        return where(rows, units.get(row.metric, ""), names[row.varies_with])

    def told(
        row: Any, kind: str, before: str = "", rivals: tuple[str, ...] | None = None
    ) -> Finding:
        held = places(row)
        said = cancels(row, units, held) if kind == DEPENDS else claim_of(row, units, budget, held)
        caution = beside.get((row.factor, row.level, row.metric))
        if caution is not None:
            said += f"; {caution}"
        brief = None if rivals is None else glance_of(row, units, held, rivals)
        claim = f"{row.metric}: {before}{said}"
        return finding_of(row, kind, claim, support_of(row, budget, held), brief)

    found: list[Finding] = []
    leads = [leading(rows) for _, rows in primary.groupby("metric", sort=False)]
    sure = [lead for lead in leads if lead and place_of(lead.row, beside)[0] == 0]
    leaders = {lead.row.Index for lead in sure}
    for lead in sorted(sure, key=lambda lead: place_of(lead.row, beside)):
        before = f"{lead.words}; " if lead.words else ""
        found.append(told(lead.row, MOST, before, lead.rivals))
    ordered = sorted(records(primary), key=lambda row: place_of(row, beside))
    found += [told(row, DEPENDS) for row in ordered if row.depends and not row.shown]
    rest = [row for row in ordered if row.shown and row.Index not in leaders]
    return found + [told(row, EFFECT) for row in rest]


def place_of(row: Any, beside: Cautions) -> tuple[bool, bool, float]:
    """Where an effect stands among others: what is no evidence last, before it what is exact, and
    the largest first. ``weight`` is `reports.ranking.importance`."""
    caution = (row.factor, row.level, row.metric) in beside
    return caution, bool(row.exact), -float(row.weight)


def _interactions(
    primary: pd.DataFrame, between: pd.DataFrame, units: dict[str, str], beside: JointCautions
) -> Iterator[Finding]:
    """Interactions that no effect tells already, by size, and how many more there are."""
    depend = primary[primary["depends"] & (primary["varies_with"] != "")]
    told = {(row.metric, row.factor, row.level, row.varies_with) for row in records(depend)}
    rows = between[between["shown"] & ~between["exact"]]
    rows = rows.sort_values("size", ascending=False, kind="stable")
    said: dict[str, int] = {}
    more = 0
    for row in records(rows):
        if (row.metric, row.factor, row.level, row.factor_2) in told:
            continue
        if (row.metric, row.factor_2, row.level_2, row.factor) in told:
            continue
        written = math.isfinite(row.estimate) and (row.estimate > 0 or row.scale == "linear")
        if said.get(row.metric, 0) >= MAX_INTERACTIONS or not written:
            more += 1
            continue
        said[row.metric] = said.get(row.metric, 0) + 1
        claim = f"{row.metric}: {interaction_claim(row, units.get(row.metric, ''))}"
        caution = beside.get((row.factor, row.level, row.factor_2, row.level_2, row.metric))
        if caution is not None:
            claim += f"; {caution}"
        yield finding_of(row, INTERACTION, claim, interaction_support(row))
    if more:
        lie = "one lies" if more == 1 else f"{more:,} lie"
        yield Finding(
            kind=INTERACTION,
            claim=f"Of further interactions on primary metrics {lie} outside noise",
            support=f"false discovery rate 5{PERCENT}; the table of interactions has them",
        )


def _placebo(
    table: pd.DataFrame, both: pd.DataFrame, units: dict[str, str]
) -> tuple[list[Finding], list[Finding]]:
    """What the placebo shows: as a warning, or as a note."""
    found = placebo_claim(table, units)
    if found is None:
        return [], []
    claim, warns = found
    said = Finding(
        kind=PLACEBO,
        claim=f"placebo: {claim}",
        support=placebo_support(table, both),
        factor=PLACEBO,
    )
    return ([said], []) if warns else ([], [said])
