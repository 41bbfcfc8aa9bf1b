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
from reports.wording import PERCENT, bounds, change, counted, listed, short

MAX_RATES = 4

Key = tuple[str, str, str]


def disagreements(
    effects: pd.DataFrame,
    at_best: pd.DataFrame,
    common: pd.DataFrame,
    units: Mapping[str, str],
    beside: Cautions,
) -> Iterator[Finding]:
    """A finding for each level of which something else is shown at a rate that both of a pair have.

    With each setting at its own best rate, at a common one, and on average over those, an effect is
    shown upwards, shown downwards, or not shown; what cannot be judged disagrees with nothing. Told
    is the first metric of `TAKEN` on which they disagree, and which others do.

    Args:
        effects: `reports.effects.comparisons` of the run: averages over its learning rates.
        at_best: The same at the best rates.
        common: `reports.training.common_rates.effects_at_common_rates`.
        units: Of each metric.
        beside: `reports.cautions.cautions` of the run.
    """
    others: dict[Key, list[Any]] = {}
    for table in (common, effects):
        for row in records(_judged(table)):
            others.setdefault((row.factor, row.level, row.metric), []).append(row)
    found: dict[tuple[str, str], list[tuple[str, Any, list[Any]]]] = {}
    best = {(row.factor, row.level, row.metric): row for row in records(_judged(at_best))}
    for factor, level in at_best[["factor", "level"]].drop_duplicates().itertuples(index=False):
        for metric in TAKEN if factor != PLACEBO else ():
            row = best.get((factor, level, at_best_rate(metric)))
            if row is None:
                continue
            apart = [o for o in others.get((factor, level, metric), []) if o.shown != row.shown]
            if apart:
                found.setdefault((factor, level), []).append((metric, row, apart))
    for (metric, row, apart), *more in found.values():
        also = [name for name, _, _ in more]
        yield _told(metric, row, apart, also, units, beside.get((row.factor, row.level, metric)))


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    """Rows that can be judged, with ``shown``: 1 upwards, −1 downwards, 0 not at all."""
    known = table[table["within_noise"].notna() & ~has_survivors_only(table)]
    beyond = (~known["within_noise"].astype(bool)).to_numpy(dtype=bool)
    return known.assign(shown=np.where(beyond, np.sign(position(known, "estimate")), 0.0))


def _told(
    metric: str,
    row: Any,
    apart: list[Any],
    more: list[str],
    units: Mapping[str, str],
    caution: str | None,
) -> Finding:
    unit = units.get(metric, "")
    told = [f"{_does(one, unit)} {_place(one)}" for one in apart]
    claim = (
        f"{metric}: {contrast(row)} {_does(row, unit)} with each at its own best learning rate; "
        f"with one rate for both it {listed(told, MAX_RATES + 1)}"
    )
    if any(one.shown * row.shown < 0 for one in apart):
        claim += ": the direction turns around"
    if more:
        claim += f"; likewise on {listed(more)}"
    if caution is not None:
        claim += f"; {caution}"
    seeds = counted(row.n_seeds, "seed")
    support = f"95{PERCENT} intervals, those at one rate exploratory; {seeds}"
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
    return f"at {short(row.level_2)}" if hasattr(row, "level_2") else "on average over all rates"
