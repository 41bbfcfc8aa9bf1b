"""Effects and interactions with their intervals, on one axes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reports.plots.effects import draw_effects, placed
from reports.plots.on_axes.given import given_or_new, with_plain_texts
from reports.plots.style import LIGHT
from reports.ranking import size

MAX_ROWS = 30


def plot_effects(table: pd.DataFrame, ax: Axes | None = None, *, unit: str = "") -> Axes:
    """A dot and an interval for each effect, its figures at the right.

    Dots are filled where an effect is shown and hollow where not; diamonds are exact.

    >>> table = effects_table(comparisons(frames), "gradient_flow.embedding")
    >>> ax = plot_effects(table)

    Args:
        table: `reports.plots.effects_table` of a metric, or `interactions_table`.
        ax: Where to draw; a new figure if None.
        unit: Of the metric, where levels are compared by difference.

    Raises:
        ValueError: There is nothing to draw.
    """
    if table.empty:
        raise ValueError("expected a table with rows, got none: no such effect was estimated")
    ax = given_or_new(ax)
    handles = draw_effects(ax, table, unit=unit, theme=LIGHT)
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9
    )
    return with_plain_texts(ax)


def interactions_table(
    interactions: pd.DataFrame, metric: str, limit: int = MAX_ROWS
) -> pd.DataFrame:
    """The interactions of two levels on one metric, the largest first: for `plot_effects`.

    Args:
        interactions: `reports.interactions.interaction_comparisons` of a run.
        metric: Which metric.
        limit: How many rows at most; the smallest are left out.
    """
    rows = interactions[(interactions["metric"] == metric) & interactions["estimate"].notna()]
    shown = rows["within_noise"].eq(False).fillna(False).astype(bool)
    rows = rows.assign(shown=shown, size=size(rows), depends=False)
    rows = rows.assign(pair_low=np.nan, pair_high=np.nan)
    rows = rows.sort_values(["shown", "size"], ascending=False, kind="stable").head(limit)
    names = [
        f"{first} = {level} with {second} = {level_2}"
        for first, level, second, level_2 in zip(
            *(rows[column] for column in ("factor", "level", "factor_2", "level_2")), strict=True
        )
    ]
    rows = rows.reset_index(drop=True)
    return placed(rows.assign(name=pd.Series(names, dtype=object)))
