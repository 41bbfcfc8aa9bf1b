"""Which observations are used, and where seeds that agree are no measure of noise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from reports import state_findings
from reports.effects import comparisons
from reports.estimates import complete_block, estimates, on_a_grid
from reports.intervals import ALPHA
from reports.pairs import pairs
from reports.panel import panel
from tests.reports.simulated import make_frames

masks = arrays(np.bool_, st.tuples(st.integers(1, 6), st.integers(1, 5)))
TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}


@settings(max_examples=100)
@given(masks)
def test_a_block_is_complete_and_as_large_as_any_of_its_seeds(usable: np.ndarray) -> None:
    groups, seeds = complete_block(usable)
    assert usable[np.ix_(groups, seeds)].all()
    assert (len(groups) > 0) == (len(seeds) > 0) == bool(usable.any())
    if usable.any():  # no group is left out that has all these seeds
        assert groups.tolist() == np.flatnonzero(usable[:, seeds].all(axis=1)).tolist()


# Zeros and ones of norm = a and b: one pair changes by 1 in every seed, the other by nothing.
AGREE = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 1], [1, 0, 1]], dtype=float)


def test_a_few_seeds_that_agree_show_nothing() -> None:
    row = comparisons(make_frames(TWO_BY_TWO, {"x": AGREE})).iloc[0]
    assert not row["exact"]  # seeds change the metric in other cells
    assert row["estimate"] == 0.5
    assert np.isnan(row["low"])
    assert row["within_noise"] is pd.NA
    assert row["varies"] is pd.NA
    scattered = AGREE.copy()
    scattered[3, 1] = 1
    row = comparisons(make_frames(TWO_BY_TWO, {"x": scattered})).iloc[0]
    assert row["low"] < row["estimate"] < row["high"]


def test_seeds_that_agree_are_told() -> None:
    findings = state_findings(make_frames(TWO_BY_TWO, {"x": AGREE}))
    (text,) = [f.text for f in findings if f.factor == "norm"]
    assert text == (
        "x: norm = b instead of a differed by +0.500 unit, 150\u00a0% more in 3 seeds (2 pairs, 3 "
        "seeds; seeds agree here: no interval can be given; same direction in 50\u00a0% of the "
        "pairs)."
    )
    assert not [f for f in findings if f.kind in ("most", "effect", "depends")]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_an_effect_that_no_seed_changes_is_sure_where_seeds_change_the_values(scale: str) -> None:
    """As of an option that scales what is drawn."""
    drawn = np.random.default_rng(1).uniform(1, 2, size=(2, 3))
    values = np.vstack([drawn, drawn * 2 if scale == "log" else drawn + 2])
    row = comparisons(make_frames(TWO_BY_TWO, {"x": values}, scale=scale)).iloc[0]
    assert not row["exact"]
    assert list(row[["estimate", "low", "high"]]) == pytest.approx([2, 2, 2])
    assert row["within_noise"] == False  # noqa: E712


@pytest.mark.parametrize(("scale", "base"), [("linear", 100.0), ("log", 1.0)])
def test_differences_that_float32_cannot_tell_are_none(scale: str, base: float) -> None:
    """A stack that ends with a norm has the size 1 whatever stands before it, but for eps."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, size=(1, 4))
    values = base * np.exp(np.concatenate([noise, noise + 5e-8]))
    row = comparisons(make_frames({"norm": ["a", "b"]}, {"x": values}, scale=scale)).iloc[0]
    assert row["unchanged"]
    assert row["estimate"] == (1.0 if scale == "log" else 0.0)
    told = base * np.exp(np.concatenate([noise, noise + 5e-7]))
    row = comparisons(make_frames({"norm": ["a", "b"]}, {"x": told}, scale=scale)).iloc[0]
    assert not row["unchanged"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 1.0], True), ([1, 4, 9, 12], True), ([0.1, 0.3, 0.7], True), ([5.0], True),
        ([1e6, 1e6 + 3, 0], True), ([0.25, 1 / 3, 0.7], True),
        ([0.1234567, 0.7654321987, 0.987654321], False),
    ],
)  # fmt: skip
def test_values_of_a_grid(values: list[float], expected: bool) -> None:
    assert on_a_grid(np.array(values)) == expected
    assert not on_a_grid(np.random.default_rng(0).normal(size=12))
    assert not on_a_grid(np.random.default_rng(0).normal(size=12).astype(np.float32).astype(float))


def test_two_seeds_or_values_of_a_grid_that_agree_give_no_interval() -> None:
    drawn = np.random.default_rng(1).uniform(1, 2, size=(2, 2))
    for values in (np.vstack([drawn, drawn + 2]), [[3, 5, 4], [3, 4, 4], [7, 9, 8], [7, 8, 8]]):
        row = comparisons(make_frames(TWO_BY_TWO, {"x": np.asarray(values, dtype=float)})).iloc[0]
        assert not row["exact"]
        assert np.isnan(row["low"])
        assert row["within_noise"] is pd.NA


def test_only_what_is_declared_is_exact() -> None:
    values = np.repeat([[10.0], [12.0], [13.0], [15.0]], 3, axis=1)
    frames = make_frames(TWO_BY_TWO, {"x": values})
    for declared in (True, False):
        info = frames.metric_info.assign(exact=declared)
        row = comparisons(replace(frames, metric_info=info)).iloc[0]
        assert row["exact"] == declared
        assert np.isnan(row["low"]) != declared
    found = state_findings(replace(frames, metric_info=frames.metric_info.assign(exact=False)))
    assert {f.kind for f in found} == {"undecided"}
    assert all("seeds agree here: no interval can be given" in f.text for f in found)


@pytest.mark.parametrize("n_seeds", [2, 3])
@pytest.mark.parametrize("factors", [{"norm": ["a", "b"]}, TWO_BY_TWO], ids=["2", "4"])
@pytest.mark.parametrize("name", ["flag", "rare flag", "count", "layer", "rounded", "shared"])
def test_metrics_of_few_values_show_little_by_chance(
    name: str, factors: dict[str, list[str]], n_seeds: int
) -> None:
    runs = 300
    rng = np.random.default_rng(2)
    shape = (runs, 2 ** len(factors), n_seeds)
    values = {
        "flag": rng.random(shape) < 0.5,
        "rare flag": rng.random(shape) < 0.1,
        "count": rng.poisson(1, shape),
        "layer": rng.integers(0, 12, shape),
        "rounded": np.round(rng.normal(5, 0.7, shape)),
        "shared": rng.integers(0, 10, (runs, 1, n_seeds)) + (rng.random(shape) < 0.3),
    }[name].astype(float)
    declared = make_frames(factors, {f"m{i}": run for i, run in enumerate(values)})
    for frames in (
        declared,
        replace(declared, metric_info=declared.metric_info.assign(exact=0 > 1)),
    ):
        table = comparisons(frames)
        certain = table["within_noise"].eq(False) & (table["low"] == table["high"])
        assert certain.groupby(table["metric"]).any().mean() <= ALPHA


def test_a_panel_can_know_that_seeds_lie_further_apart_than_they_seem() -> None:
    values = np.random.default_rng(0).normal(5, 1, size=(4, 5))
    frames = make_frames(TWO_BY_TWO, {"x": values, "y": values})
    spread = np.ones((2, 4))
    spread[1, 0] = 3  # of one member of the first pair of norm
    data = replace(panel(frames), spread=spread)
    (contrast, _) = pairs(frames)
    plain, wide = estimates(data, [contrast], ("factor", "level")).to_dict("records")
    assert plain["mean"] == pytest.approx(wide["mean"], rel=1e-12)
    assert plain["largest"] == pytest.approx(wide["largest"], rel=1e-12)
    difference = values[2:] - values[:2]  # (P, S)
    assert plain["error"] == pytest.approx(stats.sem(difference.mean(axis=0)))
    difference[0] = difference[0].mean() + 3 * (difference[0] - difference[0].mean())
    assert wide["error"] == pytest.approx(stats.sem(difference.mean(axis=0)))
    one = data.only("y").spread
    assert one is not None
    assert one.tolist() == [[3, 1, 1, 1]]
