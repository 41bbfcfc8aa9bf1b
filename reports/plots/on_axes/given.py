"""The axes that a figure is drawn on, and names on them that are drawn as they are."""

from matplotlib.axes import Axes
from matplotlib.text import Text


def given_or_new(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure, which a notebook shows."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def with_plain_texts(ax: Axes) -> Axes:
    """The axes, no text of which is read as mathematics: a dollar sign in a name is one."""
    for text in ax.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
    return ax
