"""Effects at each level of another factor taken alone."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from reports import Frames
from reports.conditional import CONDITIONAL_COLUMNS, conditional_effects
from reports.effects import comparisons
from reports.intervals import ALPHA
from tests.reports.simulated import interacting, make_frames, set_state

GRID = {"norm": ["a", "b"], "size": ["1", "2", "3"], "width": ["x", "y"]}
NORM_BY_SIZE: dict[str, Any] = {
    "factor": "norm", "level": "b", "metric": "x", "factor_2": "size"}  # fmt: skip


def noisy(scale: str = "linear") -> Frames:
    values = np.random.default_rng(3).normal(10, 1, size=(12, 4))
    return make_frames(GRID, {"y": values + 1, "x": values}, scale=scale)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_intervals_against_scipy_at_bonferronis_level(scale: str) -> None:
    frames = noisy(scale)
    table = conditional_effects(frames, **NORM_BY_SIZE)
    assert tuple(table.columns[: len(CONDITIONAL_COLUMNS)]) == CONDITIONAL_COLUMNS
    assert table["level_2"].to_list() == ["1", "2", "3"]
    values = frames.metrics.loc[frames.metrics["metric"] == "x", "value"].to_numpy()
    values = values.reshape(2, 3, 2, 4)
    values = values if scale == "linear" else np.log(values)
    for size, (_, row) in enumerate(table.iterrows()):
        by_seed = (values[1, size] - values[0, size]).mean(axis=0)
        low, high = stats.t.interval(1 - ALPHA / 3, 3, loc=by_seed.mean(), scale=stats.sem(by_seed))
        expected = np.array([by_seed.mean(), low, high])
        expected = expected if scale == "linear" else np.exp(expected)
        assert list(row[["estimate", "low", "high"]]) == pytest.approx(list(expected), rel=1e-12)
        assert row["within_noise"] == (low <= 0 <= high)
        assert (row["n_pairs"], row["n_seeds"], row["n_dropped"]) == (2, 4, 0)


def test_together_they_make_the_main_effect() -> None:
    frames = noisy()
    table = conditional_effects(frames, **NORM_BY_SIZE)
    main = comparisons(frames)
    main = main[(main["level"] == "b") & (main["metric"] == "x")].iloc[0]
    assert table["estimate"].mean() == pytest.approx(main["estimate"])
    assert table["n_pairs"].sum() == main["n_pairs"]


def test_an_effect_of_both_directions_is_shown_at_each_level() -> None:
    table = conditional_effects(
        interacting("log"), factor="norm", level="b", metric="x", factor_2="placement"
    )
    assert table["estimate"].to_list() == pytest.approx([2, 0.5], rel=0.02)
    assert table["within_noise"].eq(False).all()


def test_a_level_without_pairs_and_lost_trials_are_counted() -> None:
    frames = noisy()
    size = frames.cells.set_index("cell")["size"].loc[frames.trials["cell"]].to_numpy()
    gone = set_state(frames, frames.trials["cell"].notna() & (size == "2"), "skipped")
    table = conditional_effects(gone, **NORM_BY_SIZE).set_index("level_2")
    assert table["n_pairs"].to_dict() == {"1": 2, "2": 0, "3": 2}
    assert table["n_skipped"].to_dict() == {"1": 0, "2": 8, "3": 0}
    assert table["within_noise"].isna().to_dict() == {"1": False, "2": True, "3": False}
    # Still adjusted for three: which levels there are was not chosen by what is left.
    whole = conditional_effects(frames, **NORM_BY_SIZE).set_index("level_2")
    assert table.loc["1", "high"] == whole.loc["1", "high"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"level": "a"},
            "expected a level that is set against its factor's baseline, got norm = a",
        ),
        ({"factor_2": "norm"}, "factor_2: expected one of ['size', 'width'], got 'norm'"),
        ({"metric": "z"}, "metric: expected one of ['y', 'x'], got 'z'"),
    ],
)
def test_what_there_is_not(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError) as error:
        conditional_effects(noisy(), **NORM_BY_SIZE | changed)
    assert str(error.value) == message
