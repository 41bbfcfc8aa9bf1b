"""No interval of a difference of shares goes where shares do not."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from reports.panel import panel
from reports.plots.effects import effects_table
from reports.possible import largest_difference
from tests.reports.simulated import make_frames

GRID = {"norm": ["a", "b"], "size": ["1", "2"]}
LEARNT = np.array([[1.0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0]])


def run(unit: str, values: np.ndarray = LEARNT, scale: str = "linear") -> Frames:
    frames = make_frames(GRID, {"learnt": values}, scale=scale)
    return replace(frames, metric_info=frames.metric_info.assign(unit=unit))


@pytest.mark.parametrize("unit", ["share", "share of trials"])
def test_intervals_of_effects_and_interactions_end_where_shares_do(unit: str) -> None:
    free, clipped = (comparisons(run(one)).set_index("factor") for one in ("flag", unit))
    assert free.loc["norm", "low"] < -1
    assert clipped["low"].to_list() == pytest.approx(free["low"].clip(lower=-1).to_list())
    assert clipped["high"].to_list() == pytest.approx(free["high"].clip(upper=1).to_list())
    assert clipped["estimate"].to_list() == free["estimate"].to_list()
    assert clipped["within_noise"].to_list() == free["within_noise"].to_list()
    assert effects_table(comparisons(run(unit)), "learnt")["x_low"].min() == -1
    free, clipped = (interaction_comparisons(run(one)).iloc[0] for one in ("flag", unit))
    assert free["high"] > 2
    assert clipped["high"] == 2
    assert clipped["low"] == max(free["low"], -2)


def test_what_is_no_share_has_no_end() -> None:
    ends = [
        largest_difference(panel(frames), 2).item()
        for frames in (
            run("share"),
            run("shares"),
            run("nats"),
            run("share", LEARNT + 0.5),
            run("share", LEARNT - 0.5),
            run("share", LEARNT / 2 + 0.5, scale="log"),
        )
    ]
    assert ends == [1, np.inf, np.inf, np.inf, np.inf, np.inf]


def test_no_column_of_the_work_is_left() -> None:
    assert "largest_difference" not in comparisons(run("share"))
