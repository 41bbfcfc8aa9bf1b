"""What one effect says: its claim, and what supports it.

Rows are those of `reports.effects.comparisons` with ``depends``, whether the effect depends on the
other factors (`reports.ranking.depends_on_others`).
"""

import math
from typing import Any

from reports.ranking import BUDGET
from reports.where import NOWHERE
from reports.wording import PERCENT, SHORT, bounds, change, counted, listed, percent, short, span

_MOST_SHARE = 10.0
_SMALL_BUDGET = 1e-3  # a smaller difference in parameters is told beside the figures

_CAUSES = {
    "n_diverged": "diverged",
    "n_failed": "failed",
    "n_marked": "with a cancelled probe",
    "n_skipped": "skipped",
    "n_not_run": "not run yet",
    "n_not_applicable": "not applicable",
    "n_no_value": "without a usable value",
}


def claim_of(
    row: Any, units: dict[str, str], budget: dict[tuple[str, str], float], places: str = ""
) -> str:
    """Direction and size, and the parameters beside them.

    Args:
        row: The effect.
        units: Of each metric.
        budget: `reports.ranking.budget_change`.
        places: Where it holds (`reports.where`), told instead of its range over pairs.
    """
    said = figure(row, units)
    verb = f"makes it {said} as large" if said.endswith("times") else f"changes it by {said}"
    verb += relative(row)
    if tells_range(row):
        verb += " on average"
    extra = _budget(row, budget)
    if abs(extra) >= _SMALL_BUDGET:
        verb += f", with {_parameters(extra)}"
    if tells_range(row):
        if places == NOWHERE:
            verb += f", but it differs between levels of {others(row)}: {places}"
        else:
            verb += f", but it depends on {others(row)}: {places or _range(row, units)}"
    return f"{contrast(row)} {verb}"


def figure(row: Any, units: dict[str, str]) -> str:
    """The estimate with its unit, written as its interval is."""
    unit = f" {units[row.metric]}" if row.scale == "linear" and units.get(row.metric) else ""
    return f"{change(row.estimate, row.scale, row.low, row.high)}{unit}"


def relative(row: Any) -> str:
    """A difference as a share of the reference; nothing where that says nothing."""
    # Beside a mean close to zero a percentage says nothing, and nothing is less than all of it.
    most = _MOST_SHARE if row.estimate > 0 else 1.0
    if row.scale == "log" or not 0 < abs(row.estimate) <= most * row.reference_mean:
        return ""
    less_more = "more" if row.estimate > 0 else "less"
    return f", {_share(row.estimate / row.reference_mean)} {less_more}"


def seen(row: Any, units: dict[str, str]) -> str:
    """What was measured where no interval says how sure it is: no cause is claimed."""
    where = "in the only seed" if row.n_seeds == 1 else f"in {counted(row.n_seeds, 'seed')}"
    if row.unchanged:
        return f"{contrast(row)} left it unchanged {where}"
    said = figure(row, units)
    if said.endswith("times"):
        return f"{contrast(row)} was {said} as large {where}"
    return f"{contrast(row)} differed by {said}{relative(row)} {where}"


def cancels(row: Any, units: dict[str, str], places: str = "") -> str:
    """An effect of which nothing is left on average, though pairs differ."""
    if places == NOWHERE:
        return (
            f"{contrast(row)} shows no average effect, but differs between levels of "
            f"{others(row)}: {places}"
        )
    said = "has no common direction:" if mixed(row) else "shows no average effect, but"
    return f"{contrast(row)} {said} it depends on {others(row)}, {places or _range(row, units)}"


def mixed(row: Any) -> bool:
    """Whether effects in both directions are shown inside this one."""
    none = 1.0 if row.scale == "log" else 0.0
    return bool(row.shown_low < none < row.shown_high)


def others(row: Any) -> str:
    """What an effect depends on."""
    return short(row.varies_with) if row.varies_with else "the other factors"


def tells_range(row: Any) -> bool:
    """Whether the claim says that pairs differ; of an exact metric only where signs do."""
    return bool(row.depends) and (not row.exact or mixed(row))


def _range(row: Any, units: dict[str, str]) -> str:
    unit = f" {units[row.metric]}" if row.scale == "linear" and units.get(row.metric) else ""
    noise = "" if row.exact else ", noise included"
    return f"pair means go {span(row.pair_low, row.pair_high, row.scale)}{unit}{noise}"


def _budget(row: Any, budget: dict[tuple[str, str], float]) -> float:
    return 0.0 if row.metric == BUDGET else budget.get((row.factor, row.level), 0.0)


def _parameters(extra: float) -> str:
    return f"{_share(extra)} {'more' if extra > 0 else 'fewer'} parameters"


def _share(share: float) -> str:
    return percent(abs(share)) if abs(share) >= 1e-4 else f"under 0.01{PERCENT}"


def contrast(row: Any) -> str:
    """The level and what it is set against."""
    level, reference = level_names(row)
    return f"{short(row.factor)} = {level} instead of {reference}"


def level_names(row: Any) -> tuple[str, str]:
    """The level and its reference, short and still distinct where `reports.findings` made them."""
    return (
        getattr(row, "level_name", short(row.level)),
        getattr(row, "reference_name", short(row.reference)),
    )


def support_of(row: Any, budget: dict[tuple[str, str], float], places: str = "") -> str:
    """The interval, how many pairs and seeds there are, their direction, and what is not used."""
    pairs, seeds = counted(row.n_pairs, "pair"), counted(row.n_seeds, "seed")
    if row.exact:
        if row.depends and not tells_range(row):
            pairs += f", {span(row.pair_low, row.pair_high, row.scale)}"
        mean = "mean of " if row.n_pairs > 1 else ""
        parts = [f"exact, no seed changes it; {mean}{pairs}; {seeds}"]
    elif row.n_seeds == 1:
        parts = [f"{pairs}, {seeds}", "one seed: no interval can be given"]
    elif row.n_pairs and math.isnan(row.low):
        parts = [f"{pairs}, {seeds}", "seeds agree here: no interval can be given"]
    elif places:
        parts = [
            f"95{PERCENT} intervals by {others(row)}, adjusted for all that was looked at",
            f"{pairs}, {seeds}",
        ]
    else:
        within = bounds(row.low, row.high, row.scale, row.estimate)
        parts = [f"adjusted 95{PERCENT} interval {within}", f"{pairs}, {seeds}"]
    parts += same_direction(row, "pair")
    extra = _budget(row, budget)
    if 0 < abs(extra) < _SMALL_BUDGET:
        parts.append(_parameters(extra))
    if row.n_dropped:
        parts.append(dropped(row))
    if row.only_with:
        parts.append(f"only pairs with {short(row.only_with, 2 * SHORT)}")
    return "; ".join(parts)


def same_direction(row: Any, noun: str) -> list[str]:
    """How many pairs or groups go the way their mean goes; nothing where there is no such way."""
    none = 1.0 if row.scale == "log" else 0.0
    if row.n_pairs < 2 or row.estimate == none:
        return []
    same = f"every {noun}" if row.same_sign == 1 else f"{percent(row.same_sign)} of the {noun}s"
    return [f"same direction in {same}"]


def dropped(row: Any, one: str = "paired observation", several: str = "paired observations") -> str:
    """How many observations are not in a figure, and why."""
    total = row.n_dropped + row.n_pairs * row.n_seeds
    return (
        f"{row.n_dropped:,} of {total:,} {one if total == 1 else several} "
        f"{'is' if row.n_dropped == 1 else 'are'} not used: {causes(row)}"
    )


def causes(row: Any) -> str:
    """Why observations are not in a figure, each cause with its count."""
    counts = {words: int(getattr(row, column)) for column, words in _CAUSES.items()}
    told = [f"{n:,} {words}" for words, n in counts.items() if n]
    alone = int(row.n_dropped) - sum(counts.values())
    if alone:
        told.append(f"{alone:,} without their partner in another seed")
    return listed(told, limit=9)


def ranked_last(row: Any) -> str:
    """How often the level wins where what diverged is last, or nothing if that is unknown."""
    if not row.n_ranked:
        return ""
    of = counted(row.n_ranked, "paired observation")
    last = "diverged trials" if row.n_diverged or not row.n_no_value else "what is not finite"
    return f"ranked with {last} last, it wins {percent(row.win_rate)} of {of}"
