"""Panels by two factors with legends above them: the frame of the figures of trainings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.frames import Frames
from reports.pairs import baseline_level
from reports.plots.panels import Panels
from reports.plots.style import (
    MAX_LEVELS,
    WIDTH,
    LevelStyle,
    drawable,
    drawable_names,
    level_styles,
)
from reports.training.names import LEARNING_RATE
from reports.training.outcomes import rate_name
from reports.wording import counted

_LEFT, _RIGHT, _BOTTOM, _ACROSS, _DOWN = 0.72, 0.12, 0.52, 0.2, 0.2  # inches, as all below
_SIDE, _LABEL, _HEADING, _LEAST, _WIDEST = 0.36, 0.28, 0.24, 0.75, 4.6
_LEGEND_ROW, _LEGEND_GAP, _CHARACTER, _HANDLE = 0.19, 0.1, 0.077, 0.65
_LONGEST = 30  # characters of an entry
_ALONE = LevelStyle(color=0, marker="o", line="-")

MUTED = LevelStyle(color=MAX_LEVELS - 1, marker=".", line="-")
"""The looks of levels beyond those that can be told apart."""


@dataclass(frozen=True, kw_only=True)
class Legend:
    """Entries of a legend, beside or below its title."""

    title: str
    handles: Sequence[Line2D]

    @property
    def n_columns(self) -> int:
        """How many entries fit beside each other; a legend is filled column by column."""
        lengths = [min(len(str(handle.get_label())), _LONGEST) for handle in self.handles]
        for n_rows in range(1, len(lengths)):
            columns = [lengths[i : i + n_rows] for i in range(0, len(lengths), n_rows)]
            if sum(_CHARACTER * max(column) + _HANDLE for column in columns) <= WIDTH - 0.2:
                return len(columns)
        return 1

    @property
    def height(self) -> float:
        """In inches."""
        n_rows = -(-len(self.handles) // self.n_columns) + bool(self.title)
        return _LEGEND_ROW * n_rows + _LEGEND_GAP


def looks_of(frames: Frames, factor: str, levels: Sequence[str]) -> dict[str, LevelStyle]:
    """The looks of levels; of more than `MAX_LEVELS` the last share muted ones.

    The baseline is always told apart.
    """
    if not factor:
        return dict.fromkeys(levels, _ALONE)
    styles = level_styles(frames)
    baseline = baseline_level(frames, factor)
    first = sorted(levels, key=lambda level: level != baseline)
    apart = first if len(first) <= MAX_LEVELS else first[: MAX_LEVELS - 1]
    return {level: styles[factor, level] if level in apart else MUTED for level in levels}


@dataclass(frozen=True, kw_only=True)
class Crossed:
    """A figure and its panels, by the levels of the row and of the column."""

    figure: Figure
    panels: dict[tuple[str, str], Axes]


def legend_of(
    factor: str, looks: Mapping[str, LevelStyle], line: Callable[[str, LevelStyle], Line2D]
) -> Legend:
    """The legend of a factor's levels, those with muted looks in one entry.

    Args:
        factor: Which; without one there is no entry.
        looks: `looks_of` its levels.
        line: Gives the line that stands for a name with these looks.
    """
    told = [line(level, look) for level, look in looks.items() if look is not MUTED]
    n_muted = sum(look is MUTED for look in looks.values())
    if n_muted:
        told.append(line(counted(n_muted, "more level"), MUTED))
    return Legend(title=factor, handles=told if factor else [])


def panel_width(n_columns: int, *, by_row: bool) -> float:
    """How wide each of so many panels is, in inches."""
    side = _RIGHT + _SIDE * by_row
    fitting = (WIDTH - _LEFT - side - _ACROSS * (n_columns - 1)) / n_columns
    return min(max(_LEAST, fitting), _WIDEST)


def crossed_panels(
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
    legends: Sequence[Legend],
    *,
    height: float,
    extra: float = 0.0,
) -> Crossed:
    """Empty panels that share their y axis, named by the levels of two factors.

    Args:
        rows: What a row of panels tells and its levels; ``""`` and one ``""`` without any.
        columns: The same of a column.
        legends: What to set above them.
        height: Of a panel, in inches.
        extra: Room below the last row of panels for long labels, in inches.
    """
    (row_name, row_levels), (column_name, column_levels) = rows, columns
    shown = [legend for legend in legends if legend.handles]
    above = 0.06 + sum(legend.height for legend in shown) + 0.06
    n_columns = len(column_levels)
    width = panel_width(n_columns, by_row=bool(row_name))
    measures = Panels(
        width=width,
        height=height,
        left=_LEFT,
        right=max(_RIGHT + _SIDE * bool(row_name), WIDTH - _LEFT - width if n_columns < 2 else 0),
        top=above + _HEADING * (2 if column_name else 0.4),
        bottom=_BOTTOM + extra,
        across=_ACROSS,
        down=_DOWN,
    )
    figure, panels = measures.make(len(row_levels) * n_columns, n_columns)
    total = float(figure.get_size_inches()[1])
    y = 0.06
    for legend in shown:
        _place(figure, legend, 1 - y / total)
        y += legend.height
    if column_name:
        middle = (panels[0].get_position().x0 + panels[n_columns - 1].get_position().x1) / 2
        figure.text(middle, 1 - above / total, drawable(column_name), ha="center", va="top",
                    fontweight="bold", fontsize=9)  # fmt: skip
    if row_name:
        middle = (panels[0].get_position().y1 + panels[-1].get_position().y0) / 2
        beside = panels[-1].get_position().x1 + _LABEL / float(figure.get_size_inches()[0])
        figure.text(beside, middle, drawable(row_name, 36), va="center", fontweight="bold",
                    fontsize=9, rotation=270)  # fmt: skip
    said = [rate_name(one) if column_name == LEARNING_RATE else one for one in column_levels]
    titles = drawable_names(said, int(measures.width / 0.078))
    beside_rows = drawable_names(row_levels, int(height / 0.075))
    for i, axes in enumerate(panels):
        row, column = divmod(i, n_columns)
        if i:
            axes.sharey(panels[0])
        if column:
            axes.tick_params(axis="y", labelleft=False, length=0)
        if row + 1 < len(row_levels):
            axes.tick_params(axis="x", labelbottom=False)
        if column_name and row == 0:
            axes.set_title(titles[said[column]], fontsize=9.5, y=1.0)
        if row_name and column == n_columns - 1:
            name = beside_rows[row_levels[row]]
            axes.annotate(name, (1.0, 0.5), (5, 0), xycoords="axes fraction", va="center",
                          textcoords="offset points", rotation=270, fontsize=9.5)  # fmt: skip
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        sns.despine(ax=axes, left=bool(column))
    keys = [(row, column) for row in row_levels for column in column_levels]
    return Crossed(figure=figure, panels=dict(zip(keys, panels, strict=True)))


def _place(figure: Figure, legend: Legend, y: float) -> None:
    told = drawable_names((str(handle.get_label()) for handle in legend.handles), _LONGEST)
    for handle in legend.handles:
        handle.set_label(told[str(handle.get_label())])
    drawn = figure.legend(
        handles=list(legend.handles),
        title=drawable(legend.title) if legend.title else None,
        loc="upper left",
        bbox_to_anchor=(0.0, y),
        ncols=legend.n_columns,
        alignment="left",
        borderaxespad=0.1,
        borderpad=0.2,
        labelspacing=0.35,
        handlelength=2.4,
    )
    drawn.get_title().set_fontweight("bold")
    drawn.get_title().set_fontsize(9)
