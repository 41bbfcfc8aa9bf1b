"""Intervals cover at their rate in simulated runs, and noise is rarely taken for an effect.

Every simulation is a metric of one panel: cells of a full grid, what a seed does to all cells of a
level alike (so pairs of one seed are not independent), and noise of each cell of its own, which
pairs share as well, as each reference is in several of them.

Tolerances: a rate of 0.95 over 2,000 independent simulations has a standard error of 0.0049, so
that three of them are 0.015.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from reports import conditional
from reports.adjustment import with_intervals
from reports.effects import adjusted as adjusted_effects
from reports.effects import pair_estimates
from reports.estimates import estimates
from reports.frames import Frames
from reports.interactions import adjusted as adjusted_interactions
from reports.interactions import quadruple_estimates
from reports.intervals import (
    ALPHA,
    bonferroni_levels,
    half_widths,
)
from reports.pairs import Contrast, level_codes, pairs
from reports.panel import REASONS, Panel
from reports.quadruples import quadruples
from tests.reports.simulated import make_frames

RUNS = 2000
TOLERANCE = 3 * np.sqrt(ALPHA * (1 - ALPHA) / RUNS)
FACTORS = {"norm": ["a", "b"], "size": ["1", "2", "3"], "width": list("123456"),
           "depth": ["x", "y"]}  # fmt: skip
PAIR = ("factor", "level", "reference")
QUADRUPLE = (*PAIR, "factor_2", "level_2", "reference_2")

Floats = NDArray[np.float64]


def grid(factors: dict[str, list[str]]) -> Frames:
    cells = int(np.prod([len(levels) for levels in factors.values()]))
    return make_frames(factors, {"x": np.zeros((cells, 2))})


def noise(frames: Frames, n_seeds: int, rng: np.random.Generator, runs: int) -> Floats:
    """(runs, C, S) what seeds do to all cells of a level, and of two levels, and to each cell."""
    codes = level_codes(frames)  # (C, factors)
    n_cells, n_factors = codes.shape
    values = 0.4 * rng.normal(size=(runs, n_cells, n_seeds))
    for i in range(n_factors):
        by_level = rng.normal(size=(runs, codes[:, i].max() + 1, n_seeds))
        values += by_level[:, codes[:, i]]
        for j in range(i):
            both = 0.4 * rng.normal(
                size=(runs, codes[:, i].max() + 1, codes[:, j].max() + 1, n_seeds)
            )
            values += both[:, codes[:, i], codes[:, j]]
    return values


def panel_of(values: Floats, *, primary: bool | Sequence[bool] = True) -> Panel:
    """A panel whose metrics are the simulations (runs, C, S)."""
    runs, _, n_seeds = values.shape
    info = pd.DataFrame({"metric": [f"m{i}" for i in range(runs)], "scale": "linear", "unit": ""})
    return Panel(
        info=info.assign(better="neither", primary=primary),
        seeds=np.arange(n_seeds),
        values=values,
        reason=np.zeros(values.shape, dtype=np.int8),
        exact=np.zeros(runs, dtype=bool),
        diverged=np.zeros(values.shape, dtype=bool),
    )


def unadjusted(data: Panel, contrast: Contrast, names: Sequence[str]) -> pd.DataFrame:
    """The table of one contrast with intervals of 95 %."""
    table = estimates(data, [contrast], names)
    return with_intervals(table, [(np.ones(len(table), dtype=bool), one)])


def one(p: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Every interval as if it was the only one."""
    return bonferroni_levels(p, 1)


def covered(table: pd.DataFrame, truth: float) -> float:
    return float(((table["low"] <= truth) & (truth <= table["high"])).mean())


CHOSEN = {"level": "b", "level_2": "2"}


def chosen(contrasts: list[Contrast]) -> Contrast:
    """The contrast of norm = b, and with it of size = 2."""
    return next(c for c in contrasts if CHOSEN | c.names == c.names or c.names["level"] == "b")


@pytest.mark.parametrize("n_seeds", [3, 5, 10])
@pytest.mark.parametrize("lost", [0.0, 0.03], ids=["whole", "with losses"])
def test_intervals_of_effects_and_interactions_cover_at_their_rate(
    n_seeds: int, lost: float
) -> None:
    frames = grid(FACTORS)
    codes = level_codes(frames)
    rng = np.random.default_rng(n_seeds)
    at_b, at_2 = codes[:, 0] == 1, codes[:, 1] == 1
    truth = 0.7 * at_b + 0.9 * (at_b & at_2)
    for contrasts, names, told in ((pairs, PAIR, 0.7), (quadruples, QUADRUPLE, 0.9)):
        # What norm does is the same at all sizes, or it differs by what is planted.
        planted = 0.7 * at_b if contrasts is pairs else truth
        data = panel_of(planted[:, None] + noise(frames, n_seeds, rng, RUNS))
        # A trial that has not run costs its group or its seed, whatever its value.
        data.reason[rng.random(data.reason.shape) < lost] = REASONS.index("not run")
        table = unadjusted(data, chosen(contrasts(frames)), names)
        table = table[table["low"].notna()]  # a block of one seed has no interval
        assert len(table) > 0.95 * RUNS
        assert covered(table, told) == pytest.approx(1 - ALPHA, abs=TOLERANCE)


@pytest.mark.parametrize("n_cells", [2, 4], ids=["effect", "interaction"])
def test_an_interval_over_pairs_covers_far_too_little(n_cells: int) -> None:
    """With 3 seeds and 36 pairs about a quarter of the time: the test above can fail."""
    levels = {"width": [str(i) for i in range(36)], "norm": ["a", "b"], "depth": ["x", "y"]}
    frames = grid(FACTORS if n_cells == 2 else levels)
    contrast = chosen(pairs(frames)) if n_cells == 2 else quadruples(frames)[-1]
    assert contrast.cells.shape == (n_cells, 36)
    values = noise(frames, 3, np.random.default_rng(3), RUNS)
    difference = [values[:, row] for row in contrast.cells]
    while len(difference) > 1:
        difference = [a - b for a, b in zip(difference[::2], difference[1::2], strict=True)]
    flat = difference[0].reshape(RUNS, -1)  # every pair in every seed as if on its own
    n = flat.shape[1]
    half = half_widths(
        flat.std(axis=1, ddof=1) / np.sqrt(n), np.full(RUNS, n - 1.0), np.full(RUNS, ALPHA)
    )
    rate = (np.abs(flat.mean(axis=1)) <= half).mean()
    assert rate < 0.35


def test_conditional_intervals_of_all_levels_hold_together() -> None:
    frames = grid(FACTORS)
    data = panel_of(noise(frames, 3, np.random.default_rng(5), RUNS))
    inside = conditional.at_levels(frames, chosen(pairs(frames)), "size")
    table = conditional.adjusted(estimates(data, inside, conditional.NAMES), len(inside))
    inside_all = table["within_noise"].astype(bool).groupby(table["metric"]).all()
    assert len(inside_all) == RUNS
    assert inside_all.mean() >= 1 - ALPHA - TOLERANCE
    alone = with_intervals(
        estimates(data, inside, conditional.NAMES), [(np.ones(3 * RUNS, bool), one)]
    )
    assert alone["within_noise"].astype(bool).groupby(alone["metric"]).all().mean() < 0.93


WHOLE_RUNS = 400
MOST = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / WHOLE_RUNS)
"""Three standard errors above 5 % of so many runs."""

SMALL = {"norm": ["a", "b"], "size": ["1", "2", "3"], "depth": ["x", "y"]}
METRICS = 4


def by_run(table: pd.DataFrame) -> list[pd.DataFrame]:
    """A table of `METRICS` metrics a run as the tables of the runs."""
    run = table["metric"].str[1:].astype(int) // METRICS
    return [rows.reset_index(drop=True) for _, rows in table.groupby(run)]


def any_shown(tables: list[pd.DataFrame]) -> float:
    """The share of runs in which anything lies outside noise."""
    return float(np.mean([table["within_noise"].eq(False).any() for table in tables]))


@pytest.mark.slow
@pytest.mark.parametrize("n_seeds", [3, 5])
def test_pure_noise_shows_something_in_one_run_of_twenty_at_most(n_seeds: int) -> None:
    frames = grid(SMALL)
    n_metrics = METRICS * WHOLE_RUNS
    values = noise(frames, n_seeds, np.random.default_rng(n_seeds), n_metrics)
    data = panel_of(values, primary=[i % METRICS < 2 for i in range(n_metrics)])
    effects = [adjusted_effects(rows) for rows in by_run(pair_estimates(frames, data))]
    primary = [rows[rows["primary"]] for rows in effects]
    exploratory = [rows[~rows["primary"]] for rows in effects]
    together = [adjusted_interactions(rows) for rows in by_run(quadruple_estimates(frames, data))]
    varies = np.mean([rows["varies"].fillna(False).any() for rows in primary])
    # Where nothing is there, any discovery is a false one.
    for tables in (primary, exploratory, together):
        assert 0.01 < any_shown(tables) <= MOST
    assert varies <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_zeros_and_ones_show_nothing_by_seeds_that_agree(share: float) -> None:
    frames = grid({"norm": ["a", "b"], "size": ["1", "2"]})
    shape = (METRICS * WHOLE_RUNS, 4, 3)
    values = (np.random.default_rng(1).random(shape) < share).astype(float)
    runs = by_run(pair_estimates(frames, panel_of(values)))
    assert any_shown([adjusted_effects(rows) for rows in runs]) <= MOST
    # Student's t takes it for certain where all three agree on a change, which they often do.
    certain = [((rows["error"] == 0) & (rows["mean"] != 0)).any() for rows in runs]
    assert np.mean(certain) > MOST


@pytest.mark.slow
def test_without_adjustment_noise_would_show_something_in_many_runs() -> None:
    frames = grid(SMALL)
    values = noise(frames, 3, np.random.default_rng(3), METRICS * WHOLE_RUNS)
    table = pair_estimates(frames, panel_of(values))
    alone = [
        with_intervals(rows, [(np.ones(len(rows), dtype=bool), one)]) for rows in by_run(table)
    ]
    assert any_shown(alone) > 3 * MOST


@pytest.mark.slow
def test_of_what_is_shown_few_intervals_are_wrong() -> None:
    """Beside planted effects and interactions, under Benjamini–Hochberg."""
    frames = grid(SMALL)
    codes = level_codes(frames)
    b, two = codes[:, 0] == 1, codes[:, 1] == 1
    planted = 4.0 * b + 6.0 * (b & two)  # norm = b changes 6 on average, size = 2 changes 3
    values = noise(frames, 5, np.random.default_rng(9), METRICS * WHOLE_RUNS)
    data = panel_of(planted[:, None] + values, primary=False)
    effects = [adjusted_effects(rows) for rows in by_run(pair_estimates(frames, data))]
    together = [adjusted_interactions(rows) for rows in by_run(quadruple_estimates(frames, data))]
    for tables, truth in (
        (effects, {("b",): 6.0, ("2",): 3.0}),
        (together, {("b", "2"): 6.0}),
    ):
        columns = ["level", "level_2"][: len(next(iter(truth)))]
        found, wrong = [], []
        for rows in tables:
            shown = rows[rows["within_noise"].eq(False)]
            keys = shown[columns].itertuples(index=False, name=None)
            told = np.array([truth.get(key, 0.0) for key in keys])
            found.append((told != 0).sum() / (METRICS * len(truth)))
            missed = (shown["low"] > told) | (shown["high"] < told)
            wrong.append(missed.sum() / max(len(shown), 1))
        assert np.mean(found) > 0.8
        assert np.mean(wrong) <= MOST
