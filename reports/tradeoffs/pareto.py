"""Cells by what they cost and what they give: which of them no cell as cheap does better than.

Shapes: C cells, S seeds, P pairs of cells.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.intervals import false_coverage_levels, p_values
from reports.marks import LEAKS, NONCONFORMING, marked_trials
from reports.pairs import baseline_level, factor_names, told_levels
from reports.panel import REASONS, Panel
from reports.wording import short

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

FRONT, BEHIND, BEATEN, UNRANKED, LOST = "front", "behind", "beaten", "unranked", "lost"
"""What becomes of a cell, see `pareto_table`."""

MAX_TESTED = 500
"""Cells of which every two are compared; of more than these none is."""

_LOST = REASONS.index("marked")
_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Tradeoff:
    """One cost against one outcome.

    Attributes:
        cost: The metric that is the cost, of which less is better; ``cost_unit``, ``cost_scale``.
        outcome: The metric that is had for it; ``unit``, ``scale``.
        better: ``higher``, ``lower`` or ``neither``, as ``metric_info`` declares of the outcome.
        rows: A row a cell that is drawn: ``cell``, ``name`` (the levels in which it differs from
            the baseline), ``baseline``, ``cost``, ``mean`` (NaN of a lost cell), ``status``, and
            the factors.
        n_seeds: Seeds that each mean is over.
        held: What all of these cells have in common, as ``training.warmup_steps = 0``.
        n_unequal: Cells that are not here since they have another level of what is held.
        n_absent: Cells that are not here since they have no value in some seed and lost none.
        n_tested: Pairs of cells that were compared.
    """

    cost: str
    cost_unit: str
    cost_scale: str
    outcome: str
    unit: str
    scale: str
    better: str
    rows: pd.DataFrame
    n_seeds: int
    held: tuple[str, ...]
    n_unequal: int
    n_absent: int
    n_tested: int

    def of(self, *statuses: str) -> pd.DataFrame:
        """The rows with one of these statuses, the cheapest first."""
        rows = self.rows[self.rows["status"].isin(statuses)]
        return rows.sort_values(["cost", "mean"], kind="stable")


def pareto_table(
    frames: Frames, costs: Panel, data: Panel, *, cost: str, outcome: str, held: Collection[str]
) -> Tradeoff | None:
    """Set the cells of a run at the baseline of what is held against each other.

    ``front``: by the means over seeds no other cell costs at most as much and gives more, or as
    much for less. ``beaten``: some cell that costs no more is shown to give more, paired over
    seeds, with a false discovery rate of 5 % over all pairs of cells. As costs are known, which
    pairs are looked at depends on no measured value. ``behind``: not on the front by the means, and
    not shown to be beaten. ``unranked``: no direction of the outcome is better. ``lost``: a seed
    diverged, failed, was marked or gave no usable value, or a component of the cell reads the
    future or breaks a contract; it is neither on the front nor does it beat anything.

    Args:
        frames: The run, or that of its settings at their best learning rates.
        costs: A panel of the same cells that has the cost.
        data: The panel of ``frames``.
        cost: The metric that is the cost.
        outcome: The metric that is had for it.
        held: Factors whose levels make cells no fair comparison, such as options of a training.

    Returns:
        The table, or None where no cell has both or all of them cost the same.
    """
    of_cost, of_outcome = costs.only(cost), data.only(outcome)
    if of_cost.info.empty or of_outcome.info.empty or not len(data.seeds):
        return None
    told = of_outcome.info.iloc[0]
    fair = np.ones(len(frames.cells), dtype=bool)
    for factor in held:
        fair &= (frames.cells[factor] == baseline_level(frames, factor)).to_numpy(dtype=bool)
    values, usable = of_cost.values[0], of_cost.usable[0]
    n_known = usable.sum(axis=1)
    price = np.where(usable, values, 0.0).sum(axis=1) / np.maximum(n_known, 1)
    worst = np.maximum(of_cost.reason[0].max(axis=1), of_outcome.reason[0].max(axis=1))  # (C,)
    faulty = (worst >= _LOST) | _at_fault(frames)
    drawn = fair & (n_known > 0) & (faulty | (worst == 0))
    whole = drawn & ~faulty
    if not whole.any() or np.ptp(price[drawn]) == 0:
        return None
    status = np.full(len(frames.cells), LOST, dtype=object)
    outcomes = of_outcome.values[0][whole]  # (cells that are whole, S)
    status[whole], n_tested = UNRANKED, 0
    if told["better"] != "neither":
        worse = outcomes if told["better"] == "lower" else -outcomes
        spread = None if of_outcome.spread is None else of_outcome.spread[0][whole]
        status[whole], n_tested = ranked(price[whole], worse, spread)
    mean = np.full(len(frames.cells), np.nan)
    mean[whole] = outcomes.mean(axis=1)
    log_cost = of_cost.info["scale"].iloc[0] == "log"
    names, baseline = cell_names(frames, held)
    rows = frames.cells.assign(
        name=names,
        baseline=baseline,
        cost=np.exp(price) if log_cost else price,
        mean=np.exp(mean) if told["scale"] == "log" else mean,
        status=status,
    )
    return Tradeoff(
        cost=cost,
        cost_unit=str(of_cost.info["unit"].iloc[0]),
        cost_scale=str(of_cost.info["scale"].iloc[0]),
        outcome=outcome,
        unit=str(told["unit"]),
        scale=str(told["scale"]),
        better=str(told["better"]),
        rows=rows[drawn].reset_index(drop=True),
        n_seeds=len(data.seeds),
        held=tuple(f"{factor} = {baseline_level(frames, factor)}" for factor in held),
        n_unequal=int((~fair).sum()),
        n_absent=int((fair & ~drawn).sum()),
        n_tested=n_tested,
    )


def _at_fault(frames: Frames) -> Mask:
    """(C,) where a component makes what was measured no evidence."""
    marked = marked_trials(frames)
    cells = marked.loc[marked["mark"].isin([LEAKS, NONCONFORMING]), "cell"]
    return np.asarray(frames.cells["cell"].isin(cells), dtype=bool)


def ranked(price: Floats, worse: Floats, spread: Floats | None) -> tuple[NDArray[np.object_], int]:
    """(C,) statuses of cells with prices (C,) and outcomes (C, S) of which less is better, and how
    many pairs were compared."""
    status = np.where(pareto_front(price, worse.mean(axis=1)), FRONT, BEHIND).astype(object)
    n_cells, n_seeds = worse.shape
    if n_seeds < 2 or n_cells > MAX_TESTED:
        return status, 0
    dearer, cheaper = np.tril_indices(n_cells, -1)  # (P,)
    swapped = price[dearer] < price[cheaper]
    dearer, cheaper = np.where(swapped, cheaper, dearer), np.where(swapped, dearer, cheaper)
    difference = worse[dearer] - worse[cheaper]  # (P, S)
    error = difference.std(axis=1, ddof=1) / np.sqrt(n_seeds)
    if spread is not None:
        error *= np.maximum(spread[dearer], spread[cheaper])
    mean = difference.mean(axis=1)
    p = p_values(mean, error, np.full(len(mean), n_seeds - 1.0))
    _, shown = false_coverage_levels(p)
    status[dearer[shown & (mean > 0)]] = BEATEN
    level = shown & (mean < 0) & (price[dearer] == price[cheaper])  # then either may beat the other
    status[cheaper[level]] = BEATEN
    return status, len(p)


def pareto_front(price: Floats, worse: Floats) -> Mask:
    """(C,) which cells no other beats: at most as dear and better, or as good and cheaper."""
    front = np.zeros(len(price), dtype=bool)
    best = np.inf
    for each in np.unique(price):
        here = np.flatnonzero(price == each)
        least = worse[here].min()
        if least < best:
            front[here[worse[here] == least]] = True
            best = least
    return front


def cell_names(frames: Frames, held: Collection[str] = ()) -> tuple[list[str], Mask]:
    """(C,) each cell by the levels in which it differs from the baseline, but for what is held, and
    whether it is the baseline's cell."""
    base = {factor: baseline_level(frames, factor) for factor in factor_names(frames)}
    levels = told_levels(frames)
    names: list[str] = []
    baseline: list[bool] = []
    for row in frames.cells.to_dict("records"):
        away = [factor for factor, level in base.items() if row[factor] != level]
        told = [f"{short(f)} = {levels[f][str(row[f])]}" for f in away if f not in held]
        names.append(short(", ".join(told), _NAME) or "the baseline")
        baseline.append(not away)
    return names, np.array(baseline, dtype=bool)
