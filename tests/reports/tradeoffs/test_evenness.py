"""Ratios told by how far they are from 1."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames
from reports.panel import panel
from reports.tradeoffs.evenness import away_from_one, distances, is_even_at_one
from reports.tradeoffs.pareto import pareto_table
from tests.reports.simulated import make_frames

RATIOS = np.array([[0.5, 0.5], [1.9, 2.1], [1.2, 1.2], [3.0, 3.0]])


def run(**told: str) -> Frames:
    prices = np.repeat([[1.0], [2.0], [3.0], [4.0]], 2, axis=1)
    frames = make_frames({"f": ["a", "b", "c", "d"]}, {"price": prices, "ratio": RATIOS})
    declared = {"unit": "ratio", "scale": "log", "better": "neither", **told}
    changed = frames.metric_info.copy()
    for name, value in declared.items():
        changed.loc[changed["metric"] == "ratio", name] = value
    return replace(frames, metric_info=changed)


def test_half_is_as_far_from_one_as_twice() -> None:
    found = distances(panel(run()), "ratio")
    assert found.info["metric"].to_list() == [away_from_one("ratio")] == ["ratio away from 1"]
    np.testing.assert_allclose(
        np.exp(found.values[0]), [[2, 2], [1.9, 2.1], [1.2, 1.2], [3, 3]], rtol=1e-12
    )


def test_the_front_is_of_what_is_nearest() -> None:
    frames = run()
    data = panel(frames)
    made = pareto_table(
        frames, data, distances(data, "ratio"), cost="price", outcome="ratio away from 1", held=()
    )
    assert made is not None
    assert made.rows["status"].to_list() == ["front", "front", "front", "beaten"]
    np.testing.assert_allclose(made.rows["mean"], [2, np.sqrt(1.9 * 2.1), 1.2, 3], rtol=1e-12)


def test_a_ratio_without_a_better_direction_is_even_at_one() -> None:
    assert is_even_at_one(panel(run()), "ratio")


@pytest.mark.parametrize("told", [{"unit": "nats"}, {"scale": "linear"}, {"better": "lower"}])
def test_no_other_metric_is(told: dict[str, str]) -> None:
    assert not is_even_at_one(panel(run(**told)), "ratio")
