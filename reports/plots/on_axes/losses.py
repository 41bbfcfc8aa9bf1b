"""Training losses by step, on one axes."""

import math

import pandas as pd
from matplotlib.axes import Axes

from reports.frames import Frames
from reports.pairs import factor_names, ordered_levels
from reports.plots.loss_lines import loss_lines
from reports.plots.on_axes.given import given_or_new, with_plain_texts
from reports.plots.style import LIGHT, drawable, drawable_names, nth_style
from reports.records import records

_DASHES = {"learnt": "-", "stalled": (0, (3.5, 1.5)), "diverged": (0, (1, 1.2))}


def losses_table(frames: Frames, by: str | None = None) -> pd.DataFrame:
    """The training loss by step: a line a cell, or a trial where its seeds end differently.

    No line is a mean of survivors: where a seed of a cell diverged, or is missing, each of its
    trials is a line of its own, up to its last finite loss.

    Args:
        frames: A run that trains.
        by: The factor told by colour; none if None.

    Returns:
        ``line`` (its number), ``level`` (of ``by``, else ``""``), ``place`` (of the level in the
        grid), ``state`` (how it ended), ``n`` (trials), ``x`` (step), ``mean``, ``low`` and
        ``high`` (over its trials), ``unit``. A trial that diverged before any finite loss has one
        row, at step 0, without a mean.

    Raises:
        ValueError: There is no such factor, or no trial left a finite loss.
    """
    factors = factor_names(frames)
    if by is not None and by not in factors:
        raise ValueError(f"by: expected one of {factors}, got {by!r}")
    found = loss_lines(frames, [*filter(None, [by]), *(name for name in factors if name != by)])
    if found is None:
        raise ValueError("no trial of this run left a finite training loss")
    told = {factor: place for place, factor in found.arrangement.told.items()}
    if by is None or by in told:
        level = pd.Series("", found.lines.index) if by is None else found.lines[told[by]]
    elif frames.cells[by].nunique() == 1:
        level = pd.Series(frames.cells[by].iloc[0], found.lines.index)
    elif (found.lines["cell"] < 0).any():  # a line is then of several levels
        n_levels = frames.cells[by].nunique()
        raise ValueError(f"by: expected a factor of fewer than {n_levels} levels, got {by!r}")
    else:
        cells = frames.cells[by].to_numpy(dtype=object)[found.lines["cell"]]
        level = pd.Series(cells, found.lines.index)
    order = [""] if by is None else ordered_levels(frames, by)
    lines = found.lines[["line", "state", "n"]].assign(
        level=level.astype(object),
        place=[order.index(one) for one in level],
        unit=found.unit,
    )
    table = lines.merge(found.points, on="line", how="left")
    table["x"] = table["x"].fillna(0.0)  # where a trial diverged before any finite loss
    return table.sort_values(["line", "x"], ignore_index=True)


def plot_losses(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """A line a cell or a trial; dashed if it stalled, with a cross where it diverged.

    >>> ax = plot_losses(losses_table(frames, by="placement"))

    Args:
        table: `losses_table` of a run.
        ax: Where to draw; a new figure if None.

    Raises:
        ValueError: There is nothing to draw.
    """
    if table.empty:
        raise ValueError("expected a table with rows, got none")
    ax = given_or_new(ax)
    told = drawable_names(table["level"])
    named: set[str] = set()
    ends = table.groupby("line", sort=True).tail(1).sort_values("place", kind="stable")
    for end in records(ends):
        points = table[table["line"] == end.line]
        color = LIGHT.colors[nth_style(end.place).color]
        label = told[end.level] if end.level and end.level not in named else None
        named.add(end.level)
        ax.plot(points["x"], points["mean"], color=color, linestyle=_DASHES[end.state], label=label)
        ax.fill_between(points["x"], points["low"], points["high"], color=color, alpha=0.12, lw=0)
        if end.state == "diverged":
            never = math.isnan(end.mean)  # finite: then its cross is at the top
            place = ax.get_xaxis_transform() if never else ax.transData
            ax.plot(
                *(end.x, 1.0 if never else end.mean),
                marker="x",
                color=color,
                mew=2,
                clip_on=False,
                transform=place,
            )
    ax.set_xlabel("step")
    ax.set_ylabel(drawable(f"training loss ({table['unit'].iloc[0]})"))
    ax.grid(axis="y", alpha=0.5)
    if any(named):
        ax.legend(frameon=False)
    return with_plain_texts(ax)
