"""Which factor leads: distances between levels are taken before they are scaled."""

import numpy as np
import pytest

from reports import state_findings
from reports.effects import comparisons
from reports.pairs import level_codes
from reports.ranking import importance, level_spans, rank_factors, reach
from tests.reports.simulated import make_frames
from tests.reports.simulated_training import training_run

FACTORS = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]}


def lead(a: tuple[float, float, float], b: float, mean: float, scale: str = "linear") -> str:
    """The first finding of a run in which ``a`` and ``b`` add, around a mean of the references."""
    codes = level_codes(make_frames(FACTORS, {"x": np.zeros((6, 1))}))
    values = np.array(a)[codes[:, 0]] + b * codes[:, 1] + mean
    noise = 1e-3 * np.random.default_rng(0).normal(size=(6, 4))
    values = values[:, None] + noise
    frames = make_frames(FACTORS, {"x": np.exp(values) if scale == "log" else values}, scale=scale)
    return state_findings(frames)[0].text


@pytest.mark.parametrize("mean", [-1.5, -1.4, -0.5, 0.0, 1.0, 100.0, -100.0])
@pytest.mark.parametrize(
    ("a", "b", "leader"),
    [((0, 1, -1), 3, "b"), ((0, 1, -1), 1.7, "a"), ((0, 2, 1), 3, "b"), ((0, 4, 1), 3, "a"),
     ((0, 1, -1), -3, "b"), ((0, 0.01, -0.01), 0.03, "b")],
)  # fmt: skip
def test_two_sides_and_one_are_compared_by_distance(
    a: tuple[float, float, float], b: float, leader: str, mean: float
) -> None:
    assert lead(a, b, mean).startswith(f"x: {leader} matters most")
    assert lead(a, b, mean / 100, "log").startswith(f"x: {leader} matters most")


def test_spans_are_differences_of_the_metric() -> None:
    values = np.array([0, 3, 1, 4, -1, 2])[:, None] + np.zeros((6, 3))
    spans = level_spans(comparisons(make_frames(FACTORS, {"x": values - 1.4})))
    assert spans.loc["a"].to_list() == pytest.approx([2, 2, 2])
    assert spans.loc["b"].to_list() == pytest.approx([3, 3, 3])


def test_a_slight_dependence_is_not_told() -> None:
    by_size = np.array([1.0, 1.005])
    values = np.array([[0.0, 0.0], by_size])[:, :, None] + 1e-5 * np.random.default_rng(0).normal(
        size=(2, 2, 5)
    )
    frames = make_frames({"norm": ["a", "b"], "size": ["1", "2"]}, {"x": values.reshape(4, 5) + 9})
    row = comparisons(frames).iloc[0]
    assert row["varies"]
    assert "depends" not in next(f.text for f in state_findings(frames) if f.factor == "norm")


def test_what_varies_by_noise_alone_reaches_nowhere() -> None:
    """Means of pairs spread by noise: they make no effect more important."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(18, 3))
    frames = make_frames({"norm": ["a", "b"], "size": list("123456789")}, {"x": 50 + values})
    table = comparisons(frames).assign(varies=True)
    assert (table["pair_high"] - table["pair_low"]).max() > 0.5
    assert reach(table).max() == 0
    assert importance(table.assign(within_noise=True)).max() == 0


def test_options_of_other_measures_come_last_whatever_is_shown_of_them() -> None:
    frames = training_run(initialization=True)
    effects = comparisons(frames)
    assert rank_factors(frames, effects, "gradient_flow")[-2:] == [
        "training.learning_rate",
        "training.warmup_steps",
    ]
    assert rank_factors(frames, effects, "training")[:1] == ["placement"]
