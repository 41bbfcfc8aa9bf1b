"""How figures look: two themes, the colours of levels, text that any font can draw, SVG."""

import io
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports.frames import Frames
from reports.pairs import baseline_level, ordered_levels
from reports.plots.data import FigureData
from reports.plots.svg import compact
from reports.visible import HIDDEN
from reports.wording import distinct, short

WIDTH = 8.2
"""Inches; at 72 points an inch and 4/3 pixels a point a figure is 787 pixels wide."""


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of everything in a figure but its levels."""

    name: str
    back: str
    text: str
    muted: str
    grid: str
    accent: str
    colors: tuple[str, ...]

    def values(self) -> tuple[str, ...]:
        """Every colour, in the same order in every theme."""
        return (self.back, self.text, self.muted, self.grid, self.accent, *self.colors)

    def context(self) -> AbstractContextManager[None]:
        """Matplotlib's settings for drawing and saving in this theme."""
        return mpl.rc_context(
            {
                "font.family": [
                    "DejaVu Sans"
                ],  # comes with matplotlib, so figures are reproducible
                "font.size": 9.5,
                "axes.titlesize": 10,
                "axes.labelsize": 9.5,
                "legend.fontsize": 9.5,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.linewidth": 0.8,
                "axes.edgecolor": self.muted,
                "axes.labelcolor": self.text,
                "text.color": self.text,
                "xtick.color": self.muted,
                "ytick.color": self.muted,
                "xtick.labelcolor": self.text,
                "ytick.labelcolor": self.text,
                "grid.color": self.grid,
                "grid.linewidth": 0.7,
                "figure.facecolor": "none",
                "axes.facecolor": "none",
                "savefig.facecolor": "none",
                "legend.frameon": False,
                "text.parse_math": False,  # a dollar sign in a level's name is a dollar sign
                "svg.fonttype": "path",  # looks the same whatever fonts the reader has
                "svg.hashsalt": "ablations",
            }
        )


# Okabe and Ito's colours, which stay apart for colour-blind readers; black and yellow, each of
# which vanishes on one background, are left out. The baseline's blue is lighter on dark.
_SHARED = ("#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
LIGHT = Theme(
    name="light",
    back="#ffffff",
    text="#1b1f24",
    muted="#6a737d",
    grid="#e3e6ea",
    accent="#0072b2",
    colors=("#0072b2", *_SHARED),
)
DARK = Theme(
    name="dark",
    back="#16191d",
    text="#e6e8eb",
    muted="#9aa4af",
    grid="#343a42",
    accent="#3d9be0",
    colors=("#3d9be0", *_SHARED[:4], "#9fd8f7", *_SHARED[5:]),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))

MAX_LEVELS = len(_MARKERS)
"""Levels that one figure tells apart."""


@dataclass(frozen=True, kw_only=True)
class LevelStyle:
    """A level's looks; the colour is an index into a theme's colours."""

    color: int
    marker: str
    line: Any


def level_styles(frames: Frames) -> Mapping[tuple[str, str], LevelStyle]:
    """The same looks for the same level in every figure; a baseline has the first ones."""
    styles: dict[tuple[str, str], LevelStyle] = {}
    for factor in frames.factors["factor"].unique():
        baseline = baseline_level(frames, factor)
        others = [level for level in ordered_levels(frames, factor) if level != baseline]
        for number, level in enumerate([baseline, *others]):
            styles[factor, level] = nth_style(number)
    return styles


def nth_style(number: int) -> LevelStyle:
    """The looks of one of several levels, by its place; they repeat after `MAX_LEVELS`."""
    return LevelStyle(
        color=number % MAX_LEVELS,
        marker=_MARKERS[number % MAX_LEVELS],
        line=_LINES[number % len(_LINES)],
    )


def drawable(name: str, limit: int = 40) -> str:
    """A name on one line, shortened, with a replacement for what the figure's font cannot draw."""
    known = _glyphs()
    line = HIDDEN.sub("\ufffd", short(name, limit))
    return "".join(c if ord(c) in known else "\ufffd" for c in line)


def drawable_names(names: Iterable[str], limit: int = 40) -> dict[str, str]:
    """Each of some names as `drawable` writes it, shortened so that no two are alike."""
    told = distinct(list(dict.fromkeys(names)), limit)
    return {name: drawable(text, limit) for name, text in told.items()}


@cache
def _glyphs() -> frozenset[int]:
    path = font_manager.findfont("DejaVu Sans")
    return frozenset(font_manager.get_font(path).get_charmap())


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure as SVG data URIs for light and dark pages, with what it shows in words.

    ``warning`` is what a reader must know before looking at it, or ``""``; ``data`` is what it
    draws, to be taken along.
    """

    light: str
    dark: str
    width: int
    height: int
    alt: str
    caption: str
    data: FigureData
    warning: str = ""


class Plot(Protocol):
    """A ``plot_…`` function that has got its table."""

    def __call__(self, *, theme: Theme) -> Figure:
        """Draw it."""
        ...


def draw(plot: Plot, *, alt: str, caption: str, data: FigureData, warning: str = "") -> Drawing:
    """Draw a figure for both themes: once, and then with the colours of the dark one.

    Drawing is nearly all of what a report takes to write.
    """
    buffer = io.BytesIO()
    with LIGHT.context():
        figure = plot(theme=LIGHT)
        # Without a date, so that the same run gives the same bytes. `Figure.savefig` gives the same
        # too, but draws everything a first time to lay it out, which drawing does anyway.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    width, height = (round(float(side) * 96) for side in figure.get_size_inches())
    light = compact(buffer.getvalue().decode("utf-8"))
    return Drawing(
        light=_uri(light),
        dark=_uri(in_the_dark(light)),
        width=width,
        height=height,
        alt=alt,
        caption=caption,
        data=data,
        warning=warning,
    )


def in_the_dark(svg: str) -> str:
    """A figure drawn in the light theme, with each of its colours changed for the dark theme's."""
    return _COLOR.sub(lambda found: _DARK_OF.get(found[0], found[0]), svg)


def _uri(svg: str) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg.encode('utf-8')).decode('ascii')}"


_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_DARK_OF = dict(zip(LIGHT.values(), DARK.values(), strict=True))
