"""How blocks are wired: the calls of their parts from top to bottom, and what each comes from."""

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from reports.plots.style import LIGHT, WIDTH, Theme, drawable
from reports.records import records
from reports.wording import counted, distinct, listed, short

MAX_BLOCKS = 12
_A_ROW = 4
_TITLE = 22
_PARTS = {"norm": "norm", "attention": "attention", "feed_forward": "feed-forward",
          "residual": "residual", "out": "out"}  # fmt: skip
_COLOR = {"norm": 3, "attention": 0, "feed_forward": 2, "residual": 7}
_SIDE = 1.9  # half of the width of a diagram
_HALF = 0.78  # of the width of a box
_APART = 0.12  # of lines into a box from those out of it
_LANE = 0.3  # between lines beside the boxes, if there is room


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a part, and the numbers of the calls that it comes from; 0 is the stream."""

    part: str
    inputs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class BlockTable:
    """What `plot_blocks` draws: the calls of each block by its name, and how many blocks more."""

    blocks: dict[str, tuple[Call, ...]]
    n_more: int


def block_table(blocks: pd.DataFrame) -> BlockTable:
    """The calls of each block in order, at most of `MAX_BLOCKS`."""
    found: dict[str, list[Call]] = {}
    for row in records(blocks.sort_values("call", kind="stable").sort_index()):
        inputs = tuple(int(number) for number in row.inputs.split(",") if number.strip())
        found.setdefault(str(row.block), []).append(Call(part=str(row.part), inputs=inputs))
    kept = {name: tuple(calls) for name, calls in list(found.items())[:MAX_BLOCKS]}
    return BlockTable(blocks=kept, n_more=len(found) - len(kept))


def plot_blocks(table: BlockTable, *, theme: Theme = LIGHT) -> Figure:
    """A column of boxes for each block."""
    lengths = [len(calls) for calls in table.blocks.values()]
    longest = [max(lengths[at : at + _A_ROW]) for at in range(0, len(lengths), _A_ROW)]
    heights = [0.5 + 0.42 * (length + 1) for length in longest]
    figure = Figure(figsize=(WIDTH, sum(heights)))
    grid = figure.add_gridspec(
        len(heights), _A_ROW, height_ratios=heights, left=0, right=1, bottom=0, top=1, wspace=0,
        hspace=0,
    )  # fmt: skip
    names = distinct(list(table.blocks), _TITLE)
    for number, (name, calls) in enumerate(table.blocks.items()):
        row, column = divmod(number, _A_ROW)
        axes = figure.add_subplot(grid[row, column])
        axes.set_xlim(-_SIDE, _SIDE)
        axes.set_ylim(longest[row] + 0.6, -1.1)
        axes.axis("off")
        axes.text(0, -0.75, drawable(names[name], _TITLE), ha="center", fontweight="bold")
        axes.text(0, 0, "stream", ha="center", va="center", fontsize=8.5, color=theme.muted)
        _draw_lines(axes, calls, theme)
        for place, call in enumerate(calls, start=1):
            _draw_box(axes, place, call.part, theme)
    return figure


def _draw_box(axes: Axes, place: int, part: str, theme: Theme) -> None:
    if part in _COLOR:
        axes.add_patch(
            FancyBboxPatch(
                (-_HALF, place - 0.26),
                2 * _HALF,
                0.52,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor=theme.back,
                edgecolor=theme.colors[_COLOR[part]],
                linewidth=1.5,
                zorder=2,
            )
        )
    said = _PARTS.get(part, drawable(part, 12))
    color = theme.text if part in _COLOR else theme.muted
    axes.text(0, place, said, ha="center", va="center", fontsize=8.5, color=color, zorder=3)


def _draw_lines(axes: Axes, calls: tuple[Call, ...], theme: Theme) -> None:
    """Down the middle from a call to the next, else around those between, in lanes apart."""
    arrow = {"arrowstyle": "-|>", "color": theme.muted, "shrinkA": 0, "shrinkB": 0}
    found = lanes(calls)
    outermost = max((lane // 2 for lane in found.values() if lane is not None), default=0)
    apart = min(_LANE, (_SIDE - _HALF) / (outermost + 1.5))
    for (start, end), lane in found.items():
        if lane is None:
            axes.annotate("", (0, end - 0.27), (0, start + 0.25), arrowprops=arrow)
            continue
        side = -1 if lane % 2 == 0 else 1
        x = side * (_HALF + apart * (1 + lane // 2))
        edge = side * (_HALF if start else 0.45)
        above, below = start + (_APART if start else 0), end - _APART
        axes.plot([edge, x, x], [above, above, below], color=theme.muted, linewidth=1, zorder=1)
        near = side * (_HALF if calls[end - 1].part in _COLOR else 0.25)
        axes.annotate("", (near, below), (x, below), arrowprops=arrow)


def lanes(calls: tuple[Call, ...]) -> dict[tuple[int, int], int | None]:
    """For each line its lane, None down the middle; lines that share a lane do not touch."""
    found: dict[tuple[int, int], int | None] = {}
    ends: list[int] = []  # of the last line in each lane
    lines = [(start, end) for end, call in enumerate(calls, start=1) for start in call.inputs]
    for start, end in sorted(lines):
        if end == start + 1:
            found[start, end] = None
            continue
        lane = next((n for n, last in enumerate(ends) if last < start), len(ends))
        ends[lane : lane + 1] = [end]
        found[start, end] = lane
    return found


def describe_blocks(table: BlockTable) -> tuple[str, str]:
    """Text alternative and caption of `plot_blocks`."""
    told = [f"{short(name)}: {_told(calls)}" for name, calls in table.blocks.items()]
    n = counted(len(told), "block")
    alt = f"Diagram of {n}, calls numbered from the top. {'; '.join(told)}."
    caption = (
        f"How {n} of this run {'is' if len(told) == 1 else 'are'} wired, "
        "as seen in one pass: from top to bottom the calls of norms, attention, "
        "feed-forward and residual, lines from what each is computed from. One diagram a placement "
        "and residual, and for layers that are wired otherwise; which components take these parts "
        "is told by the cell."
    )
    if table.n_more:
        caption += f" {counted(table.n_more, 'block')} more: tables/blocks.csv has all."
    return alt, caption


def _told(calls: tuple[Call, ...]) -> str:
    return ", ".join(
        f"{'' if call.part == 'out' else f'{place} '}{_PARTS.get(call.part, short(call.part))} of "
        + (listed([str(n) if n else "the stream" for n in call.inputs]) or "nothing")
        for place, call in enumerate(calls, start=1)
    )
