"""Effects that faulty components take part in: no evidence, or less than it looks."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reports.frames import Frames
from reports.marks import LEAKS, NONCONFORMING, marked_trials
from reports.pairs import Contrast, pairs
from reports.quadruples import quadruples

SAID: Mapping[str, tuple[str, str]] = {
    LEAKS: ("a component reads the future", ": no evidence"),
    NONCONFORMING: ("a component breaks a contract of its kind", ""),
}
"""What a mark that a component gives says of an effect, before and after where it is."""

Faulty = Mapping[tuple[str, ...], str]
"""By factor and level, or by two factors with their levels: what is said."""


def faulty_effects(frames: Frames) -> Faulty:
    """What is said of the effects that models with faulty components take part in."""
    return _said(frames, pairs, ("factor", "level"), "pairs")


def faulty_interactions(frames: Frames) -> Faulty:
    """The same of interactions."""
    names = ("factor", "level", "factor_2", "level_2")
    return _said(frames, quadruples, names, "groups of four cells")


def _said(
    frames: Frames, arrange: Callable[[Frames], list[Contrast]], names: Sequence[str], noun: str
) -> dict[tuple[str, ...], str]:
    marked = marked_trials(frames)
    found: dict[tuple[str, ...], list[str]] = {}
    contrasts = arrange(frames) if marked["mark"].isin(list(SAID)).any() else []
    for mark, (before, after) in SAID.items():
        cells = set(marked.loc[marked["mark"] == mark, "cell"])
        if not cells:
            continue
        faulty = frames.cells["cell"].isin(cells).to_numpy()
        for contrast in contrasts:
            n, of = int(np.any(faulty[contrast.cells], axis=0).sum()), contrast.cells.shape[1]
            if n:
                where = "" if n == of else f" in {n:,} of {of:,} {noun}"
                key = tuple(contrast.names[name] for name in names)
                found.setdefault(key, []).append(f"{before}{where}{after}")
    return {key: "; ".join(words) for key, words in found.items()}
