"""Paired effects: known ones are found, everything unused is counted."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports import Frames, paired_effects
from reports.effects import EFFECT_COLUMNS, comparisons
from reports.records import records
from tests.reports.simulated import (
    EMBEDDING,
    SENSITIVITY,
    default_run,
    interacting,
    make_frames,
    set_state,
)

TWO_BY_FOUR = {"norm": ["a", "b"], "size": ["1", "2", "3", "4"]}
TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}  # cells: a1, a2, b1, b2


def effect(frames: Frames, level: str, metric: str = "x") -> pd.Series:
    table = comparisons(frames)
    return table[(table["level"] == level) & (table["metric"] == metric)].iloc[0]


def noisy(scale: str = "linear", seeds: int = 4, seed: int = 3) -> Frames:
    values = np.random.default_rng(seed).normal(10, 1, size=(4, seeds))
    return make_frames(TWO_BY_TWO, {"x": values}, scale=scale)


def values_of(frames: Frames) -> np.ndarray:
    return np.asarray(frames.metrics.pivot(index="cell", columns="seed", values="value").to_numpy())


def test_planted_effects_of_the_default_grid_lie_in_their_intervals() -> None:
    table = paired_effects(default_run())
    assert tuple(table.columns) == EFFECT_COLUMNS
    for metric, planted in (("embedding", EMBEDDING), ("sensitivity_ratio", SENSITIVITY)):
        rows = table[table["metric"] == f"gradient_flow.{metric}"]
        assert len(rows) == 7
        for row in records(rows):
            truth = np.exp(planted.get(row.level, 0.0))
            assert row.low < truth < row.high, row
            assert row.within_noise == (row.level not in planted), row
            assert (row.n_pairs, row.n_seeds, row.n_dropped) == (
                36 if row.factor in ("norm", "bias", "placement") else 24,
                5,
                0,
            )


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_interval_against_scipy_and_bonferronis_first_step(scale: str) -> None:
    frames = noisy(scale)
    values = values_of(frames) if scale == "linear" else np.log(values_of(frames))
    for level, pairs in (("b", values[2:] - values[:2]), ("2", values[1::2] - values[::2])):
        by_seed = pairs.mean(axis=0)
        row = effect(frames, level)
        # Two effects, neither beyond noise: both at the first step's level, alpha / 2.
        low, high = stats.t.interval(0.975, 3, loc=by_seed.mean(), scale=stats.sem(by_seed))
        expected = np.array([by_seed.mean(), low, high])
        expected = expected if scale == "linear" else np.exp(expected)
        assert list(row[["estimate", "low", "high"]]) == pytest.approx(list(expected), rel=1e-12)
        assert row["within_noise"] == True  # noqa: E712 - pandas' own boolean
        share = (np.sign(pairs.mean(axis=1)) == np.sign(by_seed.mean())).mean()
        assert row["same_sign"] == share


def test_noise_and_interval_say_the_same() -> None:
    rng = np.random.default_rng(5)
    shift = np.array([0, 0.3, 1, 0.1, 0.4, 1.1])[:, None]
    metrics = {f"m{i}": shift * i + rng.normal(0, 0.3, size=(6, 4)) for i in range(8)}
    frames = make_frames({"norm": ["a", "b"], "size": ["1", "2", "3"]}, metrics)
    info = frames.metric_info.assign(primary=[i % 2 == 0 for i in range(8)])
    table = paired_effects(replace(frames, metric_info=info))
    assert set(table["within_noise"]) == {True, False}
    assert ((table["low"] <= 0) & (table["high"] >= 0)).tolist() == table["within_noise"].to_list()


def test_primary_and_exploratory_metrics_are_separate_families() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0, 1, size=(4, 3))
    alone = make_frames(TWO_BY_TWO, {"x": values})
    others = {f"m{i}": rng.normal(0, 1, size=(4, 3)) for i in range(20)}
    both = make_frames(TWO_BY_TWO, {"x": values, **others})
    info = both.metric_info.assign(primary=both.metric_info["metric"] == "x")
    assert effect(replace(both, metric_info=info), "b")["high"] == effect(alone, "b")["high"]
    assert effect(both, "b")["high"] > effect(alone, "b")["high"]


@pytest.mark.slow
def test_pure_noise_rarely_shows_an_effect() -> None:
    rng = np.random.default_rng(11)
    frames = make_frames(TWO_BY_TWO, {"x": np.zeros((4, 3))})
    found = 0
    for _ in range(120):
        shared = rng.normal(0, 1, size=(2, 1, 3)).repeat(2, axis=1).reshape(4, 3)
        values = shared + rng.normal(0, 0.3, size=(4, 3))
        trial = replace(frames, metrics=frames.metrics.assign(value=values.ravel()))
        found += bool((~paired_effects(trial)["within_noise"].astype(bool)).any())
    assert 1 <= found <= 13  # 5 % of 120 and three standard errors; none at all would be wrong too


def test_exact_metric_needs_no_interval() -> None:
    values = np.repeat([[10.0], [12.0], [13.0], [15.0]], 3, axis=1)
    noise = np.random.default_rng(0).normal(size=(4, 3))
    frames = make_frames(TWO_BY_TWO, {"x": values, "y": noise})
    row = effect(frames, "b")
    assert list(row[["estimate", "low", "high", "within_noise"]]) == [3, 3, 3, False]
    alone = make_frames(TWO_BY_TWO, {"y": noise})
    assert effect(frames, "b", "y")["high"] == effect(alone, "b", "y")["high"]  # not among the m


def test_exact_metric_that_does_not_move_is_no_effect() -> None:
    values = np.repeat([[10.0], [12.0], [10.0], [12.0]], 2, axis=1)
    for scale, none in (("linear", 0.0), ("log", 1.0)):
        row = effect(make_frames(TWO_BY_TWO, {"x": values}, scale=scale), "b")
        assert list(row[["estimate", "low", "high", "within_noise"]]) == [none, none, none, True]


def test_one_cell_that_a_seed_changes_makes_a_metric_inexact() -> None:
    values = np.repeat([[10.0], [12.0], [13.0], [15.0]], 3, axis=1)
    values[0, 0] += 1e-9
    row = effect(make_frames(TWO_BY_TWO, {"x": values}), "b")
    assert not row["exact"]
    assert row["low"] < row["estimate"] < row["high"]


def test_one_seed_gives_no_interval() -> None:
    row = effect(make_frames(TWO_BY_TWO, {"x": [[1.0], [2.0], [4.0], [5.0]]}), "b")
    assert row["estimate"] == 3
    assert np.isnan(row["low"])
    assert np.isnan(row["high"])
    assert row["within_noise"] is pd.NA


def test_what_varies_over_pairs_has_its_range() -> None:
    table = comparisons(interacting("log")).set_index("factor")
    assert table["varies"].to_dict() == {"norm": True, "placement": True, "size": False}
    assert table.loc["norm", ["pair_low", "pair_high"]].to_list() == pytest.approx(
        [0.5, 2], rel=0.02
    )
    assert table.loc["size", ["pair_low", "pair_high"]].to_list() == pytest.approx(
        [1.5, 1.5], rel=0.02
    )
    assert table["within_noise"].to_dict() == {"norm": True, "placement": True, "size": False}


def test_exact_metric_varies_when_its_pairs_differ() -> None:
    values = np.repeat([[10.0], [12.0], [13.0], [16.0]], 3, axis=1)
    row = effect(make_frames(TWO_BY_TWO, {"x": values}), "b")
    assert list(row[["varies", "pair_low", "pair_high"]]) == [True, 3, 4]
    values = np.repeat([[0.1], [0.3], [0.7], [2.1]], 3, axis=1)  # equal ratios but for rounding
    assert not effect(make_frames(TWO_BY_TWO, {"x": values}, scale="log"), "b")["varies"]


def test_exact_effects_that_cancel_leave_none_on_average() -> None:
    values = np.repeat([[0.3], [0.7], [0.3 * 3], [0.7 / 3]], 3, axis=1)
    row = effect(make_frames(TWO_BY_TWO, {"x": values}, scale="log"), "b")
    assert list(row[["estimate", "within_noise", "varies"]]) == [1, True, True]
    assert not row["unchanged"]


def test_one_pair_or_one_seed_cannot_vary() -> None:
    noise = np.random.default_rng(0).normal(size=(2, 4))
    assert effect(make_frames({"norm": ["a", "b"]}, {"x": noise}), "b")["varies"] is pd.NA
    one = make_frames(TWO_BY_TWO, {"x": [[1.0], [2.0], [4.0], [6.0]]})
    assert effect(one, "b")["varies"] is pd.NA


def test_unchanged_is_equal_in_every_pair_and_seed() -> None:
    noise = np.random.default_rng(0).normal(size=(2, 2))
    same = make_frames(TWO_BY_TWO, {"x": np.tile(noise, (2, 1))})
    assert effect(same, "b")["unchanged"]
    # Means over pairs and over seeds are none, yet nothing is unchanged.
    cancels = np.vstack([np.zeros((2, 2)), [[1, -1], [-1, 1]]])
    assert not effect(make_frames(TWO_BY_TWO, {"x": cancels}), "b")["unchanged"]


def test_one_seed_of_a_metric_declared_exact() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": [[1.0], [2.0], [4.0], [5.0]]})
    info = frames.metric_info.assign(exact=True)
    assert effect(replace(frames, metric_info=info), "b")["low"] == 3


@pytest.mark.parametrize(
    ("state", "marks", "column"),
    [
        ("failed", "", "n_failed"),
        ("crashed", "", "n_failed"),
        ("timeout", "", "n_failed"),
        ("diverged", "", "n_diverged"),
        ("skipped", "", "n_skipped"),
        ("missing", "", "n_not_run"),
        ("done", "leaks,cancelled_probe", "n_marked"),
    ],
)
def test_a_lost_trial_costs_its_pair_and_is_counted(state: str, marks: str, column: str) -> None:
    values = np.random.default_rng(3).normal(10, 1, size=(8, 4))
    frames = make_frames(TWO_BY_FOUR, {"x": values})
    trials = frames.trials
    rows = (trials["seed"] == 1) & (trials["cell"] == trials["cell"].iloc[-1])
    lost = set_state(frames, rows, state, marks=marks)
    row = effect(lost, "b")
    assert (row["n_pairs"], row["n_seeds"], row["n_dropped"], row[column]) == (3, 4, 4, 1)
    assert row["estimate"] == pytest.approx((values[4:7] - values[:3]).mean())


def test_a_mark_that_is_no_cancelled_probe_changes_nothing() -> None:
    frames = noisy()
    marked = set_state(frames, frames.trials["seed"] >= 0, "done", marks="leaks")
    pd.testing.assert_frame_equal(paired_effects(marked), paired_effects(frames))


def test_a_seed_that_is_lost_everywhere_costs_the_seed() -> None:
    frames = noisy()
    row = effect(set_state(frames, frames.trials["seed"] == 2, "missing"), "b")
    assert (row["n_pairs"], row["n_seeds"], row["n_dropped"]) == (2, 3, 2)


def test_level_skipped_everywhere_keeps_its_row() -> None:
    frames = noisy()
    level = frames.cells.set_index("cell")["norm"].loc[frames.trials["cell"]].to_numpy() == "b"
    skipped = set_state(frames, pd.Series(level), "skipped", message="not here")
    row = effect(skipped, "b")
    assert (row["n_pairs"], row["n_seeds"], row["n_dropped"]) == (0, 0, 8)
    assert np.isnan(row["estimate"])
    assert row["within_noise"] is pd.NA
    assert effect(skipped, "2")["n_pairs"] == 1


@pytest.mark.parametrize(
    ("scale", "value", "n_dropped"),
    [("linear", 0.0, 0), ("linear", np.nan, 4), ("linear", np.inf, 4), ("linear", 1e300, 4),
     ("log", 0.0, 4), ("log", -1.0, 4), ("log", np.nan, 4), ("log", np.inf, 4), ("log", 1e300, 4),
     ("log", 1e-9, 0)],
)  # fmt: skip
def test_values_that_cannot_be_compared_are_dropped_and_counted(
    scale: str, value: float, n_dropped: int
) -> None:
    values = np.random.default_rng(2).uniform(1, 2, size=(8, 4))
    values[7, 0] = value
    row = effect(make_frames(TWO_BY_FOUR, {"x": values}, scale=scale), "b")
    assert row["n_dropped"] == n_dropped
    assert row["n_no_value"] == (1 if n_dropped else 0)
    assert np.isfinite(row["estimate"])


def test_cells_left_out_of_the_grid_are_no_pairs() -> None:
    frames = noisy()
    gone = frames.cells["cell"].iloc[-1]
    kept = {
        name: getattr(frames, name)[getattr(frames, name)["cell"] != gone]
        for name in ("cells", "trials", "metrics")
    }
    row = effect(replace(frames, **kept), "b")
    assert (row["n_pairs"], row["n_dropped"]) == (1, 0)


def test_order_of_rows_does_not_decide() -> None:
    frames = default_run(seeds=2)
    shuffled = replace(
        frames,
        metrics=frames.metrics.sample(frac=1, random_state=1),
        trials=frames.trials.sample(frac=1, random_state=2),
        cells=frames.cells.sample(frac=1, random_state=3),
    )
    left, right = paired_effects(frames), paired_effects(shuffled)
    pd.testing.assert_frame_equal(left, right, rtol=1e-12)


@pytest.mark.slow
def test_ten_thousand_cells_take_seconds() -> None:
    factors = {f"f{i}": [f"level {j}" for j in range(10)] for i in range(4)}
    rng = np.random.default_rng(0)
    metrics = {f"m{i}": rng.lognormal(size=(10_000, 5)) for i in range(10)}
    frames = make_frames(factors, metrics, scale="log")
    start = time.perf_counter()
    table = paired_effects(frames)
    assert time.perf_counter() - start < 10
    assert (table["n_pairs"] == 1000).all()
