"""Interactions: planted ones are found, everything unused is counted."""

import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols

from reports import Frames
from reports.effects import EFFECT_COLUMNS
from reports.interactions import (
    INTERACTION_COLUMNS,
    interaction_comparisons,
    interactions,
)
from tests.reports.simulated import interacting, make_frames, set_state

TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}  # cells: a1, a2, b1, b2
GRID = {**TWO_BY_TWO, "width": ["x", "y", "z"]}


def first(frames: Frames) -> pd.Series:
    return interaction_comparisons(frames).iloc[0]


def noisy(scale: str = "linear", seeds: int = 4) -> Frames:
    values = np.random.default_rng(3).normal(10, 1, size=(12, seeds))
    return make_frames(GRID, {"x": values}, scale=scale)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_interval_against_scipy_and_its_family(scale: str) -> None:
    frames = noisy(scale)
    table = interactions(frames)
    assert tuple(table.columns) == INTERACTION_COLUMNS
    assert set(INTERACTION_COLUMNS) == {*EFFECT_COLUMNS, "factor_2", "level_2"}
    values = frames.metrics["value"].to_numpy().reshape(2, 2, 3, 4)
    values = values if scale == "linear" else np.log(values)
    # Five interactions, none beyond noise: all at alpha / 5.
    assert len(table) == 5
    for level_2, other in (
        ("2", (values[1, 1] - values[0, 1]) - (values[1, 0] - values[0, 0])),  # (width, S)
        ("y", (values[1, :, 1] - values[0, :, 1]) - (values[1, :, 0] - values[0, :, 0])),
    ):
        row = table[(table["level"] == "b") & (table["level_2"] == level_2)].iloc[0]
        by_seed = other.mean(axis=0)
        low, high = stats.t.interval(0.99, 3, loc=by_seed.mean(), scale=stats.sem(by_seed))
        expected = np.array([by_seed.mean(), low, high])
        expected = expected if scale == "linear" else np.exp(expected)
        assert list(row[["estimate", "low", "high"]]) == pytest.approx(list(expected), rel=1e-12)
        assert (row["n_pairs"], row["n_seeds"], row["n_dropped"]) == (len(other), 4, 0)
        same = np.sign(other.mean(axis=1)) == np.sign(by_seed.mean())
        assert row["same_sign"] == same.mean()
    assert not table["within_noise"].eq(False).any()


def test_estimates_are_those_of_a_linear_model_with_interactions() -> None:
    frames = noisy()
    cells = frames.cells.assign(y=frames.metrics["value"].to_numpy().reshape(12, 4).mean(axis=1))
    model = ols("y ~ C(norm) * C(size) + C(norm) * C(width) + C(size) * C(width)", data=cells).fit()
    table = interactions(frames)
    found = {
        f"C({row.factor})[T.{row.level}]:C({row.factor_2})[T.{row.level_2}]": row.estimate
        for row in table.itertuples()
    }
    theirs = {name: value for name, value in model.params.items() if ":" in name}
    assert found == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_what_is_planted_is_found_and_nothing_else(scale: str) -> None:
    table = interactions(interacting(scale)).set_index(["factor", "factor_2"])
    assert table["within_noise"].to_dict() == {
        ("norm", "placement"): False,
        ("norm", "size"): True,
        ("placement", "size"): True,
    }
    planted = table.loc[("norm", "placement"), ["estimate", "low", "high"]].to_list()
    truth = 0.25 if scale == "log" else -2 * np.log(2)
    assert planted[1] < truth < planted[2]
    assert planted[0] == pytest.approx(truth, rel=0.02)


def test_all_interactions_of_a_run_are_one_family() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0, 1, size=(4, 3))
    others = {f"m{i}": rng.normal(0, 1, size=(4, 3)) for i in range(20)}
    alone = make_frames(TWO_BY_TWO, {"x": values})
    both = make_frames(TWO_BY_TWO, {"x": values, **others})
    info = both.metric_info.assign(primary=both.metric_info["metric"] == "x")
    assert first(replace(both, metric_info=info))["high"] > first(alone)["high"]
    assert first(replace(both, metric_info=info))["primary"]


def test_exact_metric_needs_no_interval() -> None:
    values = np.repeat([[10.0], [12.0], [13.0], [20.0]], 3, axis=1)
    row = first(make_frames(TWO_BY_TWO, {"x": values}))
    assert list(row[["estimate", "low", "high", "within_noise"]]) == [5, 5, 5, False]
    assert row["exact"]


def test_rounding_is_no_interaction() -> None:
    values = np.repeat([[0.1], [0.3], [0.7], [2.1]], 3, axis=1)  # 3 times and 3 times
    row = first(make_frames(TWO_BY_TWO, {"x": values}, scale="log"))
    assert list(row[["estimate", "within_noise", "unchanged"]]) == [1, True, True]
    values = np.repeat([[0.1], [0.2], [0.2], [0.3]], 3, axis=1)  # 0.3 - 0.2 is not 0.1
    row = first(make_frames(TWO_BY_TWO, {"x": values}))
    assert list(row[["estimate", "within_noise", "unchanged"]]) == [0, True, True]


def test_one_seed_gives_no_interval() -> None:
    row = first(make_frames(TWO_BY_TWO, {"x": [[1.0], [2.0], [4.0], [8.0]]}))
    assert row["estimate"] == 3
    assert np.isnan(row["low"])
    assert row["within_noise"] is pd.NA


@pytest.mark.parametrize(
    ("state", "marks", "column"),
    [
        ("failed", "", "n_failed"),
        ("diverged", "", "n_diverged"),
        ("skipped", "", "n_skipped"),
        ("missing", "", "n_not_run"),
        ("done", "cancelled_probe", "n_marked"),
    ],
)
def test_a_lost_trial_costs_its_seed_or_its_quadruple_and_is_counted(
    state: str, marks: str, column: str
) -> None:
    for seeds, used in ((4, (3, 3, 3)), (3, (2, 3, 3))):  # whatever keeps more
        frames = noisy(seeds=seeds)
        values = frames.metrics["value"].to_numpy().reshape(2, 2, 3, seeds)
        trials = frames.trials
        lost = (trials["seed"] == 1) & (trials["cell"] == frames.cells["cell"].iloc[0])  # a, 1, x
        row = first(set_state(frames, lost, state, marks=marks))
        assert (row["n_pairs"], row["n_seeds"], row["n_dropped"], row[column]) == (*used, 1)
        kept = (values[1, 1] - values[0, 1]) - (values[1, 0] - values[0, 0])  # (width, S)
        kept = kept[:, [0, 2, 3]] if seeds == 4 else kept[1:]
        assert row["estimate"] == pytest.approx(kept.mean())


def test_order_of_rows_does_not_decide() -> None:
    frames = noisy()
    shuffled = replace(
        frames,
        metrics=frames.metrics.sample(frac=1, random_state=1),
        trials=frames.trials.sample(frac=1, random_state=2),
        cells=frames.cells.sample(frac=1, random_state=3),
    )
    pd.testing.assert_frame_equal(interactions(frames), interactions(shuffled), rtol=1e-10)


@pytest.mark.slow
def test_ten_thousand_cells_take_seconds_and_little_memory() -> None:
    factors = {f"f{i}": [f"level {j}" for j in range(10)] for i in range(4)}
    rng = np.random.default_rng(0)
    metrics = {f"m{i}": rng.lognormal(size=(10_000, 5)) for i in range(10)}
    metrics["m0"][rng.random((10_000, 5)) < 0.01] = np.nan  # a block of its own
    frames = make_frames(factors, metrics, scale="log")
    start = time.perf_counter()
    table = interactions(frames)
    assert time.perf_counter() - start < 20
    assert len(table) == 6 * 81 * 10
    assert (table.loc[table["metric"] != "m0", "n_pairs"] == 100).all()
    tracemalloc.start()
    interactions(frames)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * 2**20
