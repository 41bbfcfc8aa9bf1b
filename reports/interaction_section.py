"""Interactions as a table of the page."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.cautions import JointCautions
from reports.listing import Table, make_table
from reports.ranking import beyond_noise, has_survivors_only, size
from reports.records import records
from reports.wording import bounds, change, counted, number, percent

MAX_A_METRIC = 20

NONE_TOGETHER = (
    "No cell changes two factors at once, so nothing is said of interactions: an effect is that of "
    "its level beside the baselines of all other factors, and may be another elsewhere."
)


@dataclass(frozen=True, kw_only=True)
class Interactions:
    """What a page says of interactions: a sentence, and a table of those beyond noise."""

    said: str
    table: Table | None


def interactions_section(
    table: pd.DataFrame, beside: JointCautions | None = None
) -> Interactions | None:
    """Interactions beyond noise on primary metrics, by metric, the largest first.

    Args:
        table: `reports.interactions.interaction_comparisons` of a run.
        beside: `reports.cautions.joint_cautions` of it.
    """
    if table.empty:
        return None
    if not table[["n_pairs", "n_dropped"]].to_numpy().any():
        return Interactions(said=NONE_TOGETHER, table=None)
    table = table.assign(size=size(table), shown=beyond_noise(table))
    primary = table[table["primary"]]
    shown = primary[primary["shown"]]
    unjudged = int((primary["within_noise"].isna() | has_survivors_only(primary)).sum())
    n_rest = int((table["shown"] & ~table["primary"]).sum())
    said = (
        f"{len(shown):,} of {counted(len(primary), 'interaction')} of two levels on primary "
        f"metrics beyond noise"
    )
    if unjudged:
        said += f", {unjudged:,} could not be judged"
    said += f"; on the other metrics {n_rest:,} of {len(table) - len(primary):,}."
    said += " All are in tables/interactions.csv."
    return Interactions(said=said, table=_table(shown, beside or {}) if len(shown) else None)


def _table(shown: pd.DataFrame, beside: JointCautions) -> Table:
    largest = shown["size"].groupby(shown["metric"]).max()
    order = sorted(shown["metric"].unique(), key=lambda metric: -largest[metric])
    place = shown["metric"].map({metric: place for place, metric in enumerate(order)})
    shown = shown.assign(place=place)
    shown = shown.sort_values(["place", "size"], ascending=[True, False], kind="stable")
    listed = list(records(shown.groupby("metric", sort=False).head(MAX_A_METRIC)))
    note = ""
    if len(listed) < len(shown):
        note = f"At most {MAX_A_METRIC} a metric; the rest is in tables/interactions.csv."
    columns = {
        "Two levels together": False,
        "Interaction": True,
        "Adjusted 95\u00a0% interval": True,
        "Verdict": False,
        "Same direction": True,
        "Groups of four": True,
        "Seeds": True,
        "Not used": True,
    }
    caption = (
        "What two levels do together beyond what they do apart, on primary metrics: the effect "
        "of the first under the second over (less, for differences) its effect under the second "
        "factor's baseline. Intervals are adjusted by Benjamini–Hochberg over all interactions, "
        "which are exploratory."
    )
    rows = [_row(row, beside) for row in listed]
    return make_table(caption, columns, rows, note=note, groups=[row.metric for row in listed])


def _row(row: Any, beside: JointCautions) -> list[str]:
    caution = beside.get((row.factor, row.level, row.factor_2, row.level_2, row.metric))
    verdict = "exact" if row.exact else "beyond noise"
    first, second = f"{row.factor} = {row.level}", f"{row.factor_2} = {row.level_2}"
    return [
        f"{first} with {second}",
        change(row.estimate, row.scale, row.low, row.high),
        "—" if row.exact else bounds(row.low, row.high, row.scale, row.estimate),
        verdict if caution is None else f"{verdict}; {caution}",
        percent(row.same_sign),
        number(row.n_pairs),
        number(row.n_seeds),
        number(row.n_dropped),
    ]
