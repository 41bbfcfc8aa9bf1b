"""Interactions as a table: those beyond noise, the largest first, the rest counted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.interaction_section import MAX_A_METRIC, NONE_TOGETHER, interactions_section
from reports.interactions import interaction_comparisons
from tests.reports.simulated import interacting, make_frames, one_at_a_time, set_state


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return interaction_comparisons(interacting("log"))


def test_an_interaction_beyond_noise_is_told(found: pd.DataFrame) -> None:
    section = interactions_section(found)
    assert section is not None
    assert section.said == (
        "1 of 3 interactions of two levels on primary metrics beyond noise; on the other metrics "
        "0 of 0. All are in tables/interactions.csv."
    )
    assert section.table is not None
    (row,) = section.table.rows
    assert row[0] == "norm = b with placement = post"
    assert row[1].startswith("0.25") or row[1].startswith("0.24")
    assert row[3:] == ["beyond noise", "100\u00a0%", "2", "5", "0"]
    assert section.table.groups == ["x"]


def test_without_any_beyond_noise_there_is_a_sentence_alone() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    frames = make_frames({"a": ["0", "1"], "b": ["0", "1"]}, {"x": values})
    section = interactions_section(interaction_comparisons(frames))
    assert section is not None
    assert section.said.startswith("0 of 1 interaction of two levels on primary metrics beyond")
    assert section.table is None


def test_one_factor_at_a_time_tells_nothing_of_two() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    frames = one_at_a_time(make_frames({"a": ["0", "1"], "b": ["0", "1"]}, {"x": values}))
    section = interactions_section(interaction_comparisons(frames))
    assert section is not None
    assert (section.said, section.table) == (NONE_TOGETHER, None)


def test_one_factor_has_no_interaction() -> None:
    frames = make_frames({"a": ["0", "1"]}, {"x": np.ones((2, 2))})
    assert interactions_section(interaction_comparisons(frames)) is None


def test_other_metrics_are_counted_alone(found: pd.DataFrame) -> None:
    both = pd.concat([found, found.assign(metric="y", primary=False)], ignore_index=True)
    section = interactions_section(both)
    assert section is not None
    assert section.table is not None
    assert len(section.table.rows) == 1
    assert "on the other metrics 1 of 3." in section.said


def test_what_cannot_be_judged_is_counted() -> None:
    frames = interacting("linear")
    lost = set_state(frames, frames.trials["cell"] == frames.cells["cell"].iloc[0], "failed")
    section = interactions_section(interaction_comparisons(lost))
    assert section is not None
    assert section.table is None
    assert "3 could not be judged" in section.said


def many() -> Frames:
    levels = [str(i) for i in range(8)]
    rng = np.random.default_rng(0)
    cells = rng.normal(0, 5, size=(64, 1)) + rng.normal(0, 0.01, size=(64, 4))
    return make_frames({"a": levels, "b": levels}, {"x": cells, "small": cells / 1000 + 100})


def test_so_many_a_metric_the_largest_first() -> None:
    table = interaction_comparisons(many())
    section = interactions_section(table)
    assert section is not None
    assert section.table is not None
    assert section.table.groups == ["x"] * MAX_A_METRIC + ["small"] * MAX_A_METRIC
    assert section.table.note == "At most 20 a metric; the rest is in tables/interactions.csv."
    sizes = [abs(float(row[1].replace("−", "-"))) for row in section.table.rows[:MAX_A_METRIC]]
    assert sizes == sorted(sizes, reverse=True)


def test_a_flagged_interaction_says_so(found: pd.DataFrame) -> None:
    section = interactions_section(found, {("norm", "b", "placement", "post", "x"): "no evidence"})
    assert section is not None
    assert section.table is not None
    assert section.table.rows[0][3] == "beyond noise; no evidence"


def test_an_exact_interaction_needs_no_interval() -> None:
    frames = make_frames(
        {"a": ["0", "1"], "b": ["0", "1"]},
        {"x": np.array([[0.0], [1], [1], [5]]) + np.zeros((4, 2))},
    )
    frames = replace(frames, metric_info=frames.metric_info.assign(exact=True))
    section = interactions_section(interaction_comparisons(frames))
    assert section is not None
    assert section.table is not None
    assert section.table.rows[0][1:4] == ["+3", "—", "exact"]
