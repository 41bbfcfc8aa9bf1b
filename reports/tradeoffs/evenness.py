"""How far ratios lie from 1, in either direction."""

from dataclasses import replace

import numpy as np

from reports.panel import Panel

CAPTION = (
    " A ratio of 2 and one of 1/2 both lie 2 times away from 1, where the gradient is even along "
    "depth. Nearer is better for evenness alone: it does not say which cell trains better."
)
"""What a figure says of a ratio that is told by its distance."""


def is_even_at_one(data: Panel, metric: str) -> bool:
    """Whether a metric is a ratio without a better direction: the further from 1 the less even."""
    row = data.info[data.info["metric"] == metric].iloc[0]
    return bool(row["unit"] == "ratio" and row["scale"] == "log" and row["better"] == "neither")


def away_from_one(metric: str) -> str:
    """The name of a ratio's distance from 1."""
    return f"{metric} away from 1"


def distances(data: Panel, metric: str) -> Panel:
    """The panel of `away_from_one` of a metric: how many times each value is off, less is better.

    Args:
        data: A run, with the metric on log scale.
        metric: A ratio.
    """
    of_ratio = data.only(metric)
    info = of_ratio.info.assign(metric=away_from_one(metric), unit="times", better="lower")
    return replace(of_ratio, info=info, values=np.abs(of_ratio.values))
