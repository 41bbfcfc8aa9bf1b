"""How each training ended, as figures show it."""

import numpy as np
import pandas as pd

from reports.frames import Frames
from reports.pairs import ordered_levels
from reports.training.names import (
    DIVERGED,
    FINAL_LOSS,
    INITIAL_LOSS,
    LEARNING_RATE,
    LEARNT,
    MEASURE,
    STALLED,
)
from reports.wording import counted, number

STATES = ("learnt", "stalled", "diverged", "failed", "not run", "skipped")
"""How a training ends: ``failed`` is also one that crashed, took too long or gave no outcome."""

RAN = STATES[:3]
"""Those that are a result."""

_ENDED = {
    "done": "failed",
    "diverged": "diverged",
    "failed": "failed",
    "crashed": "failed",
    "timeout": "failed",
    "missing": "not run",
    "skipped": "skipped",
}

_LONG = 6  # characters


def outcomes(frames: Frames) -> pd.DataFrame:
    """A row for each trial that was to be trained, none left out.

    Returns:
        ``cell`` (its row in ``frames.cells``), ``seed``, ``state`` (one of `STATES`), ``final`` and
        ``initial`` (losses as they were measured; NaN without one), ordered by cell and seed.
    """
    trials = frames.trials.loc[frames.trials["measure"] == MEASURE, ["cell", "seed", "state"]]
    wanted = [LEARNT, STALLED, DIVERGED, FINAL_LOSS, INITIAL_LOSS]
    values = frames.metrics[frames.metrics["metric"].isin(wanted)]
    wide = values.pivot(index=["cell", "seed"], columns="metric", values="value")
    wide = wide.reindex(columns=wanted).reset_index()
    table = trials.merge(wide, on=["cell", "seed"], how="left").reset_index(drop=True)
    ran = table["state"].isin(["done", "diverged"])
    told = [ran & (table[name] == 1) for name in (LEARNT, STALLED, DIVERGED)]
    place = pd.Index(frames.cells["cell"]).get_indexer(pd.Index(table["cell"]))
    found = pd.DataFrame(
        {
            "cell": place,
            "seed": table["seed"].to_numpy(dtype=np.int64),
            "state": np.select(told, RAN, default=table["state"].astype(object).map(_ENDED)),
            "final": table[FINAL_LOSS].to_numpy(dtype=np.float64),
            "initial": table[INITIAL_LOSS].to_numpy(dtype=np.float64),
        }
    )
    return found.sort_values(["cell", "seed"], ignore_index=True)


def learning_rates(frames: Frames) -> list[str]:
    """The levels of the learning rate from small to large; empty where the grid has no such factor.

    Levels that are no numbers keep the grid's order.
    """
    if LEARNING_RATE not in frames.cells:
        return []
    levels = ordered_levels(frames, LEARNING_RATE)
    values = rate_values(levels)
    return levels if values is None else sorted(levels, key=values.__getitem__)


def rate_values(levels: list[str]) -> dict[str, float] | None:
    """Each level as a number, or None where one is no number above zero."""
    try:
        values = {level: float(level) for level in levels}
    except ValueError:
        return None
    return values if all(0 < value < np.inf for value in values.values()) else None


def rate_name(level: str) -> str:
    """A learning rate as it stands beside an axis: ``0.0003``, or ``1·10⁻⁵`` where that is long."""
    known = rate_values([level])
    return number(known[level]) if known and len(level) > _LONG else level


def tally(counts: "pd.Series[int]") -> str:
    """``10 trials learnt, 2 diverged`` of counts by state, in the order of `STATES`."""
    told = [(state, int(counts[state])) for state in STATES if counts.get(state, 0)]
    if not told:
        return "none"
    first = f"{counted(told[0][1], 'trial')} {told[0][0]}"
    return ", ".join([first, *(f"{n:,} {state}" for state, n in told[1:])])
