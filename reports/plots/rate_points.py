"""What is drawn of final losses by learning rate: capped means, their spread and the best rates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.frames import Frames
from reports.training.arrangement import Arrangement, arrange, level_of, present_levels
from reports.training.best_rates import least_bad
from reports.training.names import FINAL_LOSS, LEARNING_RATE
from reports.training.outcomes import RAN, learning_rates, outcomes, rate_values

LINE = ["row", "column", "hue"]
"""The columns that tell one line from another."""

SLOTS = {"hue": 40, "column": 4, "row": 4}


@dataclass(frozen=True, kw_only=True)
class RatesTable:
    """What `reports.plots.rates` draws.

    Attributes:
        points: A row for each rate of each line: ``row``, ``column``, ``hue`` (levels), ``rate``
            (as it is written) and ``x``; ``n`` trials that ran and how many of them ``learnt``,
            ``stalled`` and ``diverged``; ``n_lost`` that failed or have not run; ``mean``, ``low``
            and ``high`` of the capped losses (NaN without any), ``cap``, the mean loss at
            initialization of those that diverged; ``best``, whether it is the line's best rate, and
            ``edge``, whether that is the ``lowest`` or the ``highest`` rate tried, else ``""``.
        arrangement: What tells the lines apart.
        unit: Of the loss.
        counts: Trials by state.
        n_capped: Trials that did not diverge, but ended above their loss at initialization.
    """

    points: pd.DataFrame
    arrangement: Arrangement
    unit: str
    counts: "pd.Series[int]"
    n_capped: int


def rates_table(frames: Frames, ranking: Sequence[str]) -> RatesTable | None:
    """The capped final losses by learning rate, or None without two rates or any loss at
    initialization.

    A trial counts with its final loss or its loss at initialization, whichever is smaller, and with
    the latter if it diverged, so that no mean is one of survivors. Where that is not known it is
    the median over the run. The cap is that of the learning rate sensitivity (Wortsman et al.
    2023, arXiv:2309.14322). A line has a best rate if it is there at every rate and each trial that
    was asked for ran: of the rates at which the fewest diverged the one with the lowest mean.

    Args:
        frames: The run.
        ranking: Factors, the most influential first.
    """
    trials = outcomes(frames)
    rates = rate_values(learning_rates(frames))
    trials = trials[trials["state"] != "skipped"].reset_index(drop=True)
    cells = frames.cells.iloc[trials["cell"]].reset_index(drop=True)
    if not rates or trials.empty or cells[LEARNING_RATE].nunique() < 2:
        return None
    ran = trials["state"].isin(RAN)
    known = trials["initial"].where(np.isfinite(trials["initial"]))
    cap = known.fillna(known.median())
    if cap.isna().any():
        return None
    loss = trials["final"].where(np.isfinite(trials["final"]) & (trials["state"] != "diverged"))
    capped = np.fmin(loss, cap).where(ran)
    if loss[ran].isna().all():
        return None
    arrangement = arrange(cells, ranking, SLOTS)
    named = pd.DataFrame({key: level_of(cells, arrangement.told.get(key, "")) for key in LINE})
    named = named.assign(
        rate=cells[LEARNING_RATE].astype(object),
        x=cells[LEARNING_RATE].map(rates).astype(float),
        n=ran.astype(int),
        **{state: (trials["state"] == state).astype(int) for state in RAN},
        n_lost=(~ran).astype(int),
        mean=capped,
        low=capped,
        high=capped,
        cap=cap.where(trials["state"] == "diverged"),
    )
    how = dict.fromkeys(["n", *RAN, "n_lost"], "sum")
    how |= {"mean": "mean", "low": "min", "high": "max", "cap": "mean"}
    points = named.groupby([*LINE, "rate", "x"], sort=False, as_index=False).agg(how)
    points = points.sort_values("x", kind="stable")
    order = {key: present_levels(frames, cells, arrangement.told.get(key, "")) for key in LINE}
    points = points.sort_values(
        LINE, key=lambda levels: levels.map(order[levels.name].index), kind="stable"
    )
    info = frames.metric_info
    about = info[(info["metric"] == FINAL_LOSS) & (info["form"] == "metric")]
    return RatesTable(
        points=_with_best(points.reset_index(drop=True)),
        arrangement=arrangement,
        unit=str(about["unit"].iloc[0]),
        counts=trials["state"].value_counts(),
        n_capped=int((loss > cap).sum()),
    )


def _with_best(points: pd.DataFrame) -> pd.DataFrame:
    n_rates = points["rate"].nunique()
    best = np.zeros(len(points), dtype=bool)
    edge = np.full(len(points), "", dtype=object)
    for _, line in points.groupby(LINE, sort=False):
        able = line[line["diverged"] < line["n"]]
        if able.empty or line["n_lost"].any() or len(line) < n_rates:
            continue
        place = able.index[least_bad(able["diverged"], able["mean"])]
        best[place] = True
        if len(line) > 1 and place in (line.index[0], line.index[-1]):
            edge[place] = "lowest" if place == line.index[0] else "highest"
    return points.assign(best=best, edge=edge)
