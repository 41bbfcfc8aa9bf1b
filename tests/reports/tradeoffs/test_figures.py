"""Which trade-offs a run has, and what their figures say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.plots.style import Drawing, Plot
from reports.tradeoffs.figures import COLUMNS, tradeoff_figures, tradeoff_rows, tradeoffs
from reports.training.compared import compare
from tests.reports.simulated import default_run, make_frames
from tests.reports.simulated_training import training_run


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def words(plot: Plot, **said: str) -> Drawing:
        return Drawing(light="", dark="", width=1, height=1, **said)

    monkeypatch.setattr("reports.tradeoffs.figures.draw", words)


def figures(frames: Frames) -> list[Drawing]:
    found = compare(frames)
    return tradeoff_figures(frames, found.effects, found.tradeoffs)


def test_losses_are_told_at_best_rates_and_health_at_the_baseline_of_options() -> None:
    frames = training_run(
        initialization=True, diverged=[({"placement": "post", "initializer": "xavier"}, 0)]
    )
    loss, health = tradeoffs(frames, compare(frames))
    assert [one.outcome for one in (*loss, *health)] == [
        "training.final_loss_at_best_rate",
        "gradient_flow.embedding",
    ]
    assert loss[0].held == ("training.warmup_steps = 0",)
    assert health[0].held == ("training.learning_rate = 0.0003", "training.warmup_steps = 0")
    told = loss[0].rows.set_index("name")["status"].to_dict()
    assert told == {
        "the baseline": "behind",
        "initializer = xavier": "behind",
        "placement = post": "front",
        "placement = post, initializer = xavier": "lost",
    }


def test_alt_text_names_the_front_and_the_caption_says_how_sure_it_is() -> None:
    frames = training_run(initialization=True)
    loss, health = figures(frames)
    assert loss.alt.startswith(
        "Scatter of training.final_loss_at_best_rate against parameters.total, a mark a cell. On "
        "the front by parameters.total, the cheapest first: placement = post (2,449,744: 2.7"
    )
    for said in (
        "means over 3 seeds of 4 cells, coloured by placement",
        "the front of means, cells that no other beats at the same cost or less on average",
        "(false discovery rate 5\u00a0% over all pairs of cells)",
        "Only cells with training.warmup_steps = 0; 4 others left out.",
        "Each cell at its own best learning rate.",
    ):
        assert said in loss.caption
    assert "Neither direction of it is declared better" in health.caption
    assert health.alt.endswith("2,449,744).")


def test_lost_cells_are_told() -> None:
    frames = training_run(initialization=True, diverged=[({"placement": "post"}, 0)])
    (loss, _) = figures(frames)
    assert "apart from the rest: 2 cells of which a seed diverged" in loss.caption
    assert "the cheapest first: the baseline (2,450,000: 2.7" in loss.alt


def test_the_first_metric_in_no_size_of_its_own_is_the_health() -> None:
    frames = default_run(seeds=2)
    raw = frames.metric_info["metric"] == "gradient_flow.embedding"
    info = frames.metric_info.assign(
        scales_with=np.where(raw, "gradient_flow.loss", "").astype(object)
    )
    ((one,),) = tradeoffs(
        replace(frames, metric_info=info), compare(replace(frames, metric_info=info))
    )
    assert one.outcome == "gradient_flow.sensitivity_ratio away from 1"
    assert (one.better, one.scale, one.unit) == ("lower", "log", "times")
    assert len(one.rows) == 72
    (told,) = figures(replace(frames, metric_info=info))
    assert "and lower gradient_flow.sensitivity_ratio away from 1 are better." in told.caption
    assert told.caption.endswith("it does not say which cell trains better.")


def test_rows_for_the_tables_are_those_that_are_drawn() -> None:
    frames = default_run(seeds=2)
    rows = tradeoff_rows(compare(frames).tradeoffs)
    assert tuple(rows.columns) == COLUMNS
    assert len(rows) == 72
    assert set(rows["cost_metric"]) == {"parameters.total"}
    empty = tradeoff_rows([])
    pd.testing.assert_index_equal(empty.columns, pd.Index(list(COLUMNS)))


def test_a_run_without_cost_or_outcome_has_none() -> None:
    frames = make_frames({"f": ["a", "b"]}, {"x": np.ones((2, 2))})
    assert tradeoffs(frames, compare(frames)) == []


def test_where_every_cell_is_on_the_front_nothing_is_told_as_beaten() -> None:
    frames = make_frames(
        {"f": ["a", "b"]},
        {
            "parameters.total": np.array([[1.0, 1.0], [2.0, 2.0]]),
            "training.final_loss": np.array([[3.0, 3.1], [2.0, 2.1]]),
        },
    )
    (loss,) = figures(replace(frames, metric_info=frames.metric_info.assign(better="lower")))
    assert loss.caption == (
        "training.final_loss (unit) against parameters.total: means over 2 seeds of 2 cells, "
        "coloured by f. Less cost and lower training.final_loss are better. Filled, joined by a "
        "line: the front of means, cells that no other beats at the same cost or less on average. "
        "Every cell is on it."
    )
    assert loss.alt == (
        "Scatter of training.final_loss against parameters.total, a mark a cell. On the front by "
        "parameters.total, the cheapest first: the baseline (1: 3.05); f = b (2: 2.05)."
    )
