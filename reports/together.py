"""What one interaction says: its claim, and what supports it."""

from typing import Any

from reports.sentences import dropped, same_direction
from reports.wording import PERCENT, bounds, change, counted, short

GROUPS = "group of four cells", "groups of four cells"


def interaction_claim(row: Any, unit: str) -> str:
    """Two levels, and what they do together beyond what they do apart.

    Args:
        row: One of `reports.interactions.interaction_comparisons`, with names of its levels.
        unit: That of the metric; told of differences alone.
    """
    one, two = (
        f"{short(factor)} = {level} instead of {reference}"
        for factor, level, reference in (
            (row.factor, row.level_name, row.reference_name),
            (row.factor_2, row.level_2_name, row.reference_2_name),
        )
    )
    said = change(row.estimate, row.scale, row.low, row.high)
    if row.scale == "linear":
        beyond = f"change it by {said}{f' {unit}' if unit else ''} beyond what they do apart"
    elif said.endswith("times"):
        beyond = f"make it {said} as large as what they do apart would"
    else:
        beyond = f"change it by {said} beyond what they do apart"
    return f"{one} and {two} interact: together they {beyond}"


def interaction_support(row: Any) -> str:
    """The interval, how many groups of cells and seeds there are, and what is not used."""
    groups = f"{row.n_pairs:,} {GROUPS[row.n_pairs != 1]}"
    parts = [
        f"adjusted 95{PERCENT} interval {bounds(row.low, row.high, row.scale, row.estimate)}",
        f"{groups}, {counted(row.n_seeds, 'seed')}",
        *same_direction(row, "group"),
        f"exploratory, false discovery rate 5{PERCENT}",
    ]
    if row.n_dropped:
        parts.append(dropped(row, "observation of four cells", "observations of four cells"))
    return "; ".join(parts)
