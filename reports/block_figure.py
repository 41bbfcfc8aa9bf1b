"""The figure of a run's blocks, each distinct one once, and those that could not be watched."""

from functools import partial

from reports.frames import Frames
from reports.plots.blocks import block_table, describe_blocks, plot_blocks
from reports.plots.data import figure_data
from reports.plots.style import Drawing, draw
from reports.wording import listed, short

LONGEST_REASON = 120
UNSEEN = "unseen"
"""The part of a block that could not be watched."""


def block_figure(frames: Frames) -> Drawing | None:
    """How each block is wired, or None where nothing is known of any."""
    table = block_table(frames.blocks[frames.blocks["part"] != UNSEEN])
    if not table.blocks:
        return None
    alt, caption = describe_blocks(table)
    data = figure_data("blocks", "tables/blocks.csv", frames.blocks)
    return draw(partial(plot_blocks, table), alt=alt, caption=caption, data=data)


def blocks_unseen(frames: Frames) -> str:
    """The blocks that are not drawn, in a sentence, or ``""``."""
    unseen = frames.blocks[frames.blocks["part"] == UNSEEN]
    if unseen.empty:
        return ""
    reasons = unseen.get("reason", [""] * len(unseen))
    told = [_told(*one) for one in zip(unseen["block"], reasons, strict=True)]
    return f"Not drawn: {listed(told)}."


def _told(name: str, reason: str) -> str:
    return f"{short(name)} ({short(reason, LONGEST_REASON)})" if reason else short(name)
