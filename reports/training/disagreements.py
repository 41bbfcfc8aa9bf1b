"""Effects that are others where each setting has its own best learning rate."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.cautions import Cautions
from reports.finding import RATES, Finding, finding_of
from reports.placebo import PLACEBO
from reports.ranking import has_survivors_only, position
from reports.records import records
from reports.sentences import contrast
from reports.training.at_best_rate import TAKEN
from reports.training.names import at_best_rate
from reports.training.rate_differences import ALL_RATES
from reports.wording import PERCENT, bounds, change, counted, listed, short

MAX_RATES = 4

Key = tuple[str, str, str]


def disagreements(
    effects: pd.DataFrame,
    at_best: pd.DataFrame,
    common: pd.DataFrame,
    apart: pd.DataFrame,
    units: Mapping[str, str],
    beside: Cautions,
) -> Iterator[Finding]:
    """A finding for each level of which something else is shown at a rate that both of a pair have.

    With each setting at its own best rate, at a common one, and on average over those, an effect is
    shown upwards, shown downwards, or not shown; what cannot be judged disagrees with nothing. That
    one is shown and another is not is no disagreement by itself, as it may just lack seeds: the
    difference between the two has to be beyond noise. Told is the first metric of `TAKEN` on which
    they disagree, and which others do.

    Args:
        effects: `reports.effects.comparisons` of the run: averages over its learning rates.
        at_best: The same at the best rates.
        common: `reports.training.common_rates.effects_at_common_rates`.
        apart: `reports.training.rate_differences.rate_differences`.
        units: Of each metric.
        beside: `reports.cautions.cautions` of the run.
    """
    others: dict[Key, list[Any]] = {}
    for table in (common, effects):
        for row in records(_judged(table)):
            others.setdefault((row.factor, row.level, row.metric), []).append(row)
    differ = {
        (row.factor, row.level, row.metric, row.level_2)
        for row in records(_judged(apart))
        if row.shown
    }
    found: dict[tuple[str, str], list[tuple[str, Any, list[Any], str]]] = {}
    best = {(row.factor, row.level, row.metric): row for row in records(_judged(at_best))}
    for factor, level in at_best[["factor", "level"]].drop_duplicates().itertuples(index=False):
        for metric in TAKEN if factor != PLACEBO else ():
            row = best.get((factor, level, at_best_rate(metric)))
            if row is None:
                continue
            there = others.get((factor, level, metric), [])
            against = [
                other
                for other in there
                if other.shown != row.shown and (factor, level, metric, _rate(other)) in differ
            ]
            if against:
                found.setdefault((factor, level), []).append((metric, row, against, _count(there)))
    for (metric, row, against, count), *more in found.values():
        also = [name for name, *_ in more]
        caution = beside.get((row.factor, row.level, metric))
        yield _told(metric, row, against, count, also, units, caution)


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    """Rows that can be judged, with ``shown``: 1 upwards, −1 downwards, 0 not at all."""
    known = table[table["within_noise"].notna() & ~has_survivors_only(table)]
    beyond = (~known["within_noise"].astype(bool)).to_numpy(dtype=bool)
    return known.assign(shown=np.where(beyond, np.sign(position(known, "estimate")), 0.0))


def _rate(row: Any) -> str:
    """Which of the common rates an effect is at."""
    return str(getattr(row, "level_2", ALL_RATES))


def _count(rows: list[Any]) -> str:
    """At how many of the common rates something is shown."""
    alone = [row for row in rows if _rate(row) != ALL_RATES]
    return f"{sum(row.shown != 0 for row in alone):,} of {counted(len(alone), 'rate')}"


def _told(
    metric: str,
    row: Any,
    against: list[Any],
    count: str,
    more: list[str],
    units: Mapping[str, str],
    caution: str | None,
) -> Finding:
    unit = units.get(metric, "")
    told = [f"{_does(one, unit)} {_place(one)}" for one in against]
    claim = (
        f"{metric}: {contrast(row)} {_does(row, unit)} with each at its own best learning rate; "
        f"with one rate for both, where it is shown at {count}, it {listed(told, MAX_RATES + 1)}"
    )
    if any(one.shown * row.shown < 0 for one in against):
        claim += ": the direction turns around"
    if more:
        claim += f"; likewise on {listed(more)}"
    if caution is not None:
        claim += f"; {caution}"
    seeds = counted(row.n_seeds, "seed")
    support = (
        f"95{PERCENT} intervals, those at one rate exploratory; differs from each beyond noise, "
        f"false discovery rate 5{PERCENT}; {seeds}"
    )
    return finding_of(row, RATES, claim, support)


def _does(row: Any, unit: str) -> str:
    """``changes it by +0.20 nats (+0.10 to +0.30)``, or within which bounds it shows nothing."""
    written = f" {unit}" if unit and row.scale == "linear" else ""
    within = bounds(row.low, row.high, row.scale, row.estimate)
    if not row.shown:
        return f"shows no effect ({within}{written})"
    return f"changes it by {change(row.estimate, row.scale, row.low, row.high)}{written} ({within})"


def _place(row: Any) -> str:
    """At which of the common rates."""
    rate = _rate(row)
    return "on average over all rates" if rate == ALL_RATES else f"at {short(rate)}"
