"""Findings of a run that varies the learning rate: as it was run, and each at its own best rate."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from reports.cautions import Cautions, JointCautions
from reports.finding import (
    DEPENDS,
    EFFECT,
    EXPLORATORY,
    INTERACTION,
    MOST,
    NOISE,
    PLACEBO,
    RATES,
    UNDECIDED,
    Finding,
)
from reports.findings import place_of, state_findings
from reports.frames import Frames
from reports.ranking import BUDGET, importance
from reports.records import records
from reports.training.disagreements import disagreements
from reports.training.names import LEARNING_RATE
from reports.training.pair_rates import PairRates
from reports.training.rate_differences import rate_differences

if TYPE_CHECKING:
    from reports.training.compared import AtBestRate, Compared

_ORDER = (RATES, MOST, DEPENDS, EFFECT, INTERACTION, UNDECIDED, NOISE, EXPLORATORY, PLACEBO)
Place = tuple[bool, bool, float]
_FIRST: Place = (False, False, 0.0)
_OF_EFFECTS = (MOST, DEPENDS, EFFECT, INTERACTION, UNDECIDED)


def all_findings(
    frames: Frames, compared: "Compared", beside: Cautions, joint: JointCautions
) -> list[Finding]:
    """What a run shows, in one list ordered as `reports.findings.state_findings` orders it.

    How a training's trials ended comes first, but for a placebo's warning: a level under which
    trials stall is told there, whatever few seeds can show of its effect. Effects on what is
    trained say at which learning rates they were seen. Where a run varies the learning rate, the
    rest is what its levels do averaged over the rates, and what they do with each setting at its
    own best rate; each finding says which. Before them come effects that are others in one of the
    two.

    Args:
        frames: The run.
        compared: `reports.training.compared.compare` of it.
        beside: `reports.cautions.cautions` of it.
        joint: `reports.cautions.joint_cautions` of it.
    """
    findings = state_findings(
        frames,
        compared.effects,
        interactions=compared.interactions,
        data=compared.data,
        beside=beside,
        joint=joint,
    )
    at_best = compared.at_best
    first = [] if compared.ended is None else [compared.ended]
    averaged = [one.supported(_rates(one, compared.pair_rates)) for one in findings]
    if at_best is None:
        return _after_warnings(first, averaged)
    own = compared.findings_at_best_rate
    places = _places(compared.effects, beside) | _places(at_best.effects, at_best.beside)
    merged = heapq.merge(_ranked(averaged, places), _ranked(own, places), key=lambda one: one[0])
    first += compared.rate_findings
    return _after_warnings(first, [finding for _, finding in merged])


def _after_warnings(first: list[Finding], findings: list[Finding]) -> list[Finding]:
    """`first` and then all others, but for warnings of a placebo, which stay in front."""
    n = next((i for i, one in enumerate(findings) if one.kind != PLACEBO), 0)
    return [*findings[:n], *first, *findings[n:]]


def rate_findings(frames: Frames, compared: "Compared", beside: Cautions) -> list[Finding]:
    """Effects that are others with each setting at its own best rate; none without such rates.

    Arguments are those of `all_findings`.
    """
    if compared.at_best is None:
        return []
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    units = dict(zip(info["metric"], info["unit"], strict=True))
    own = compared.at_best.effects
    apart = rate_differences(compared.data, compared.at_best)
    edges = compared.at_best.edges
    return [
        one.supported(edges.told(one))
        for one in disagreements(compared.effects, own, compared.common, apart, units, beside)
    ]


def findings_at_best_rate(effects: pd.DataFrame, at_best: "AtBestRate") -> list[Finding]:
    """What levels do with each setting at its own best rate, and which of those rates are at an
    edge of the grid.

    Args:
        effects: `reports.effects.comparisons` of the whole run, for the parameters of levels.
        at_best: The run at the best rates.
    """
    budgets = effects[(effects["metric"] == BUDGET) & (effects["factor"] != LEARNING_RATE)]
    findings = state_findings(
        at_best.frames,
        pd.concat([at_best.effects, budgets.assign(primary=False)], ignore_index=True),
        interactions=at_best.interactions,
        data=at_best.data,
    )
    how = "at its own best learning rate"
    if at_best.rates.optimistic:
        how = "at the learning rate that is best in its only seed, which is optimistic"

    def told(one: Finding) -> Finding:
        # A claim begins with the name of its metric, or with a word.
        first = one.claim[:1] if one.metric else one.claim[:1].lower()
        said = replace(one, claim=f"Each {how}, {first}{one.claim[1:]}")
        return said.supported(at_best.edges.told(one))

    return [told(one) for one in findings]


def _rates(finding: Finding, rates: PairRates) -> str:
    """The rates of the pairs that a finding rests on, in words; ``""`` of what is not trained."""
    metric = finding.metric or ""
    if finding.kind in _OF_EFFECTS and finding.factor:
        of_pair = (finding.factor, finding.level or "")
        had = rates.of(metric, *of_pair, finding.factor_2 or "", finding.level_2 or "")
        # An effect that lost trials has a sentence on those that survived, and no other support.
        who = "survivors " if finding.kind == UNDECIDED and not finding.support else ""
        return f"{who}{rates.in_words(had)}" if had else ""
    of_each = {rates.of(metric, factor, level) for factor, level in finding.levels}
    told = {rates.in_words(had) for had in of_each if had}
    if len(told) != 1:
        return ""
    of = "levels of other factors " if () in of_each else ""  # beside those of the rate itself
    return f"{of}{told.pop()}"


def _places(effects: pd.DataFrame, beside: Cautions) -> dict[tuple[str, str, str], Place]:
    weighed = records(effects.assign(weight=importance(effects)))
    return {(row.factor, row.level, row.metric): place_of(row, beside) for row in weighed}


def _ranked(
    findings: list[Finding], places: Mapping[tuple[str, str, str], Place]
) -> Iterator[tuple[tuple[int, Place], Finding]]:
    """Each finding with its place: by kind, and effects as `reports.findings.place_of` says."""
    for number, one in enumerate(findings):
        place = _ORDER.index(one.kind)
        if one.kind == PLACEBO and number == 0 and len(findings) > 1:
            place = -1  # before all others it is a warning
        among = _FIRST
        if one.kind in (MOST, DEPENDS, EFFECT):
            among = places.get((one.factor or "", one.level or "", one.metric or ""), _FIRST)
        yield (place, among), one
