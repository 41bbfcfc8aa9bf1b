"""Which settings learn at which learning rates: a field for each, split by how its trials ended."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from reports.plots.style import LIGHT, WIDTH, Theme, drawable
from reports.plots.survival_fields import SurvivalTable
from reports.training.names import LEARNING_RATE, OPTIONS
from reports.training.outcomes import STATES, rate_name, tally
from reports.wording import counted, distinct, listed, short

MAX_TOLD = 12
"""Settings that the text alternative tells one by one."""

# Inches, of which those of a field are along rates.
_ROW, _TOP, _HEADING, _BOTTOM, _RIGHT = 0.29, 0.68, 0.22, 0.12, 0.2
_LEAST, _COMFORTABLE, _WIDEST = 0.55, 0.74, 1.25
_NAMES = 2.6  # that settings may always take
_LEAST_WIDTH = 5.6
_CHARACTER, _MARK, _GAP = 0.074, 0.17, 0.15
_COLOR = {"learnt": 0, "stalled": 4, "diverged": 1, "failed": 7}
_TINT = {"learnt": 0.38, "stalled": 0.3, "diverged": 0.62, "failed": 0.55}
_MARKER = dict(zip(STATES, ("o", "o", "x", "^", ".", "_"), strict=True))


def plot_survival(table: SurvivalTable, *, theme: Theme = LIGHT) -> Figure:
    """A row a setting, a column a learning rate; a field is split by the shares of its trials."""
    names, widths = _names(table)
    left = sum(widths) or 0.2
    n_rows, n_columns = len(table.settings), len(table.rates)
    field = min(_WIDEST, max(_LEAST, (WIDTH - left - _RIGHT) / n_columns))
    width = max(_LEAST_WIDTH, left + field * n_columns + _RIGHT)
    by_rate = table.rates != ("",)
    height = _TOP + _HEADING * by_rate + _ROW * n_rows + _BOTTOM
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes(
        (left / width, _BOTTOM / height, field * n_columns / width, _ROW * n_rows / height)
    )
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.axis("off")
    for fields in table.fields.to_dict("records"):
        _draw_field(axes, fields, field, theme)
    _write_names(axes, names, widths, field, theme)
    for row, (above, below) in enumerate(pairwise(table.settings), start=1):
        if len(above) > 1 and above[0] != below[0]:
            axes.plot([0.06 - left / field, n_columns], [row, row], color=theme.muted,
                      linewidth=0.6, clip_on=False)  # fmt: skip
    for column, rate in enumerate(table.rates):
        axes.text(column + 0.5, -0.25, drawable(rate_name(rate), 12), ha="center", va="bottom")
    if by_rate:
        axes.text(n_columns / 2, -1.0, "learning rate", ha="center", va="bottom",
                  fontweight="bold", fontsize=9)  # fmt: skip
    present = [state for state in STATES if table.counts[state]]
    figure.legend(
        handles=[(_patch(state, theme), _mark(state, theme)) for state in present],
        labels=[*present],
        loc="upper left",
        ncols=len(present),
        handlelength=1.8,
        columnspacing=1.6,
    )
    return figure


def _names(table: SurvivalTable) -> tuple[list[list[str]], list[float]]:
    """The names to write, a column a factor with its heading first, and how wide each is."""
    headings = [f.removeprefix(OPTIONS).replace("_", " ") for f in table.row_factors]
    levels = [list(column) for column in zip(*table.settings, strict=True)]
    room = [
        max(len(heading) + 1, *map(len, column))  # as headings are bold
        for heading, column in zip(headings, levels, strict=True)
    ]
    most = max(WIDTH - _RIGHT - _COMFORTABLE * len(table.rates), _NAMES)
    while sum(room) * _CHARACTER + _GAP * len(room) > most:
        room[room.index(max(room))] -= 1  # the longest names give way first
    columns: list[list[str]] = []
    for number, (heading, column) in enumerate(zip(headings, levels, strict=True)):
        told = distinct(column, room[number])
        before = [setting[: number + 1] for setting in table.settings]
        again = [False, *(above == below for above, below in pairwise(before))]
        columns.append([drawable(heading, room[number])])
        columns[-1] += [
            "" if repeated else drawable(told[level], room[number])
            for level, repeated in zip(column, again, strict=True)
        ]
    return columns, [_CHARACTER * n + _GAP for n in room]


def _write_names(
    axes: Axes, names: list[list[str]], widths: list[float], field: float, theme: Theme
) -> None:
    x = 0.06 - sum(widths) / field
    for column, width in zip(names, widths, strict=True):
        axes.text(x, -0.25, column[0], va="bottom", fontweight="bold", fontsize=9)
        for row, name in enumerate(column[1:]):
            axes.text(x, row + 0.5, name, va="center", fontsize=9, color=theme.text)
        x += width / field


def _draw_field(axes: Axes, row: Mapping[Any, Any], field: float, theme: Theme) -> None:
    """A field split by shares; marks and counts where they have room (widths in inches)."""
    n = sum(row[state] for state in STATES)
    margin = 0.03 / field
    x, inside = row["column"] + margin, 1 - 2 * margin
    for state in STATES:
        share = row[state] / n
        if not share:
            continue
        axes.add_patch(
            Rectangle((x, row["row"] + 0.06), share * inside, 0.88, **_filling(state, theme))
        )
        middle, room = x + share * inside / 2, share * inside * field - 0.04
        told = next(
            (
                text
                for text in (f"{row[state]}/{n}", f"{row[state]}")
                if _MARK + _CHARACTER * len(text) <= room
            ),
            "",
        )
        aside = _CHARACTER * len(told) / 2 / field
        if room >= 0.1:
            axes.plot(middle - aside, row["row"] + 0.5, **_look(state, theme))
        if told:
            axes.text(
                middle - aside + 0.1 / field, row["row"] + 0.52, told, va="center", fontsize=8.5
            )
        x += share * inside


def _filling(state: str, theme: Theme) -> Mapping[str, Any]:
    if state in _COLOR:
        return {"facecolor": theme.colors[_COLOR[state]], "alpha": _TINT[state], "linewidth": 0}
    return {"facecolor": "none", "edgecolor": theme.muted, "linewidth": 0.6, "linestyle": ":"}


def _look(state: str, theme: Theme) -> Mapping[str, Any]:
    hollow = state == "stalled"
    return {
        "marker": _MARKER[state],
        "markersize": 5.5,
        "markeredgewidth": 1.5,
        "markeredgecolor": theme.text,
        "markerfacecolor": "none" if hollow else theme.text,
        "linestyle": "none",
    }


def _patch(state: str, theme: Theme) -> Patch:
    return Patch(**_filling(state, theme))


def _mark(state: str, theme: Theme) -> Line2D:
    return Line2D([], [], **_look(state, theme))


def describe_survival(table: SurvivalTable) -> tuple[str, str]:
    """Text alternative and caption of `plot_survival`."""
    by_rate = table.rates != ("",)
    by = [f"{listed([short(factor) for factor in table.row_factors])} (rows)"]
    by = [*by[: len(table.row_factors)], *[f"{LEARNING_RATE} (columns)"][:by_rate]]
    names = distinct([*dict.fromkeys(level for setting in table.settings for level in setting)])
    told = [_told(table, row, names) for row in range(min(len(table.settings), MAX_TOLD))]
    alt = (
        f"Map of how trainings ended: {tally(table.counts)}. Learnt of all"
        f"{f', at {listed(list(table.rates), 20)}' if by_rate else ''}: {'; '.join(told)}."
    )
    if len(table.settings) > MAX_TOLD:
        alt += f" {len(table.settings) - MAX_TOLD} more settings follow."
    counts = table.fields[list(STATES)]
    n_mixed = int((counts.max(axis=1) < counts.sum(axis=1)).sum())
    caption = (
        f"How each training ended{f', by {listed(by)}' if by else ''}: {tally(table.counts)}. "
        "k/n: k of a field's n trials; a field whose trials do not all end alike is split by their "
        f"shares ({n_mixed:,} of {counted(len(counts), 'field')})."
    )
    if table.over:
        over = listed([short(factor) for factor in table.over])
        caption += f" A field goes over all levels of {over}, which matter less."
    return alt, caption


def _told(table: SurvivalTable, row: int, names: Mapping[str, str]) -> str:
    """A setting and how many of its trials learnt at each rate."""
    shares = ["none"] * len(table.rates)
    for field in table.fields[table.fields["row"] == row].to_dict("records"):
        shares[field["column"]] = f"{field['learnt']}/{sum(field[state] for state in STATES)}"
    name = ", ".join(names[level] for level in table.settings[row]) or "all settings"
    return f"{name}: {', '.join(shares)}"
