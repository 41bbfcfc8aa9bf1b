"""What one effect says: its claim, and what supports it.

Rows are those of `reports.effects.comparisons` with ``depends``, whether the effect depends on the
other factors (`reports.ranking.depends_on_others`).
"""

from typing import Any

from reports.ranking import BUDGET
from reports.wording import PERCENT, bounds, change, counted, listed, percent, short, span

_MOST_SHARE = 10.0
_SMALL_BUDGET = 1e-3  # a smaller difference in parameters is told beside the figures

_CAUSES = {
    "n_diverged": "diverged",
    "n_failed": "failed",
    "n_marked": "with a cancelled probe",
    "n_skipped": "skipped",
    "n_not_run": "not run yet",
    "n_no_value": "without a usable value",
}


def claim_of(row: Any, units: dict[str, str], budget: dict[tuple[str, str], float]) -> str:
    """Direction and size, and the parameters beside them."""
    if row.scale == "log":
        said = change(row.estimate, "log")
        verb = f"makes it {said} as large" if said.endswith("times") else f"changes it by {said}"
    else:
        unit = f" {units[row.metric]}" if units.get(row.metric) else ""
        verb = f"changes it by {change(row.estimate, 'linear')}{unit}"
        # Beside a mean close to zero a percentage says nothing.
        if 0 < abs(row.estimate) < _MOST_SHARE * row.reference_mean:
            less_more = "more" if row.estimate > 0 else "less"
            verb += f", {_share(row.estimate / row.reference_mean)} {less_more}"
    if _tells_range(row):
        verb += " on average"
    extra = _budget(row, budget)
    if abs(extra) >= _SMALL_BUDGET:
        verb += f", with {_parameters(extra)}"
    if _tells_range(row):
        verb += f", but it depends on {_others(row)}: {_range(row, units)} over the pairs"
    return f"{contrast(row)} {verb}"


def cancels(row: Any, units: dict[str, str]) -> str:
    """An effect of which nothing is left on average, though pairs differ."""
    none = 1.0 if row.scale == "log" else 0.0
    mixed = row.pair_low < none < row.pair_high
    said = "has no common direction" if mixed else "has no effect on average that noise leaves"
    return (
        f"{contrast(row)} {said}: it depends on {_others(row)}, {_range(row, units)} over the pairs"
    )


def _others(row: Any) -> str:
    return short(row.varies_with) if row.varies_with else "the other factors"


def _tells_range(row: Any) -> bool:
    """Whether the claim says that pairs differ; of an exact metric only where signs do."""
    none = 1.0 if row.scale == "log" else 0.0
    return bool(row.depends) and (not row.exact or row.pair_low < none < row.pair_high)


def _range(row: Any, units: dict[str, str]) -> str:
    unit = f" {units[row.metric]}" if row.scale == "linear" and units.get(row.metric) else ""
    return f"{span(row.pair_low, row.pair_high, row.scale)}{unit}"


def _budget(row: Any, budget: dict[tuple[str, str], float]) -> float:
    return 0.0 if row.metric == BUDGET else budget.get((row.factor, row.level), 0.0)


def _parameters(extra: float) -> str:
    return f"{_share(extra)} {'more' if extra > 0 else 'fewer'} parameters"


def _share(share: float) -> str:
    return percent(abs(share)) if abs(share) >= 1e-4 else f"under 0.01{PERCENT}"


def contrast(row: Any) -> str:
    """The level and what it is set against."""
    return f"{short(row.factor)} = {short(row.level)} instead of {short(row.reference)}"


def support_of(row: Any, budget: dict[tuple[str, str], float]) -> str:
    """The interval, how many pairs and seeds there are, their direction, and what is not used."""
    pairs, seeds = counted(row.n_pairs, "pair"), counted(row.n_seeds, "seed")
    if row.exact:
        if row.depends and not _tells_range(row):
            pairs += f", {span(row.pair_low, row.pair_high, row.scale)}"
        mean = "mean of " if row.n_pairs > 1 else ""
        parts = [f"exact, no seed changes it; {mean}{pairs}; {seeds}"]
    elif row.n_seeds == 1:
        parts = [f"{pairs}, {seeds}", "one seed: no interval can be given"]
    else:
        interval = f"adjusted 95{PERCENT} interval {bounds(row.low, row.high, row.scale)}"
        parts = [interval, f"{pairs}, {seeds}"]
    none = 1.0 if row.scale == "log" else 0.0
    if row.n_pairs > 1 and row.estimate != none:
        same = "every pair" if row.same_sign == 1 else f"{percent(row.same_sign)} of the pairs"
        parts.append(f"same direction in {same}")
    extra = _budget(row, budget)
    if 0 < abs(extra) < _SMALL_BUDGET:
        parts.append(_parameters(extra))
    if row.n_dropped:
        parts.append(dropped(row))
    return "; ".join(parts)


def dropped(row: Any) -> str:
    """How many observations are not in a figure, and why."""
    counts = {words: int(getattr(row, column)) for column, words in _CAUSES.items()}
    causes = [f"{n:,} {words}" for words, n in counts.items() if n]
    alone = row.n_dropped - sum(counts.values())
    if alone:
        causes.append(f"{alone:,} without their partner in another seed")
    total = row.n_dropped + row.n_pairs * row.n_seeds
    return (
        f"{row.n_dropped:,} of {counted(total, 'paired observation')} "
        f"{'is' if row.n_dropped == 1 else 'are'} not used: {listed(causes)}"
    )
