"""What is told of the best rates: edges, disagreement between seeds, rates that teach nothing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.training.compared import compare
from reports.training.rate_tables import best_rate_findings, best_rate_table, best_rates_section
from tests.reports.simulated_training import Levels, training_run

RATES = ["0.0003", "0.001", "0.003"]
GRID = {"placement": ["pre", "post"], "training.learning_rate": RATES}


def told(frames: Frames) -> tuple[pd.DataFrame, list[str]]:
    found = compare(frames)
    assert found.at_best is not None
    table = best_rate_table(found.at_best, found.data)
    findings = best_rate_findings(table, optimistic=found.at_best.rates.optimistic)
    return table, [one.text for one in findings]


def by_rate(*losses: float) -> Callable[[Levels], float]:
    def loss(levels: Levels) -> float:
        return losses[RATES.index(levels["training.learning_rate"])]

    return loss


def test_a_table_of_planted_best_rates() -> None:
    table, _ = told(training_run(GRID, loss=by_rate(2.5, 2.0, 3.0), noise=0.001, shared=0.001))
    rows = table.drop(columns=["cell", "final_loss", "sensitivity"]).to_numpy().tolist()
    assert rows == [
        [f"placement={place}", "0.001", "", "0.001,0.001,0.001", 3, 3, 3, 3, ""]
        for place in ("pre", "post")
    ]
    assert table["final_loss"].to_list() == pytest.approx([2.0, 2.0], abs=0.01)
    assert table["sensitivity"].to_list() == pytest.approx([0.5, 0.5], abs=0.01)


def test_as_a_table_of_the_page() -> None:
    at = {"placement": "post", "training.learning_rate": "0.0003"}
    frames = training_run(GRID, diverged=[(at, 1)])
    table, _ = told(frames)
    shown = best_rates_section(table, optimistic=False)
    assert list(shown.columns) == [
        "Setting", "Best rate", "Edge", "Chosen for the seeds", "Loss at the chosen rates",
        "Learnt at the chosen rates", "Sensitivity",
    ]  # fmt: skip
    assert [list(row) for row in shown.rows] == [
        ["placement=pre", "0.0003", "lowest tried", "0.0003", "2.72", "3 of 3", "0.298"],
        ["placement=post", "0.001", "—", "0.001 (2 of 3), 0.0003 (1 of 3)", "diverged (1 of 3)",
         "0 of 3", "0.521"],
    ]  # fmt: skip
    assert list(shown.classes) == ["", "faint"]
    assert shown.caption == (
        "Best rate: the learning rate with the lowest training.final_loss over all seeds, of each "
        "setting of all other factors. For each seed a rate is chosen by the other seeds alone; "
        "the loss, and how many seeds learnt, are those at the chosen rates, where a seed may do "
        "worse than at the best one. Loss and sensitivity are means over 3 seeds."
    )


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ((2.0, 2.5, 3.0), "2 at the lowest"),
        ((3.0, 2.5, 2.0), "2 at the highest"),
    ],
)
def test_a_best_rate_at_the_edge_is_said(losses: tuple[float, ...], said: str) -> None:
    _, findings = told(training_run(GRID, loss=by_rate(*losses)))
    assert findings == [
        f"training: in 2 of 2 settings the best learning rate is at the edge of the grid ({said}), "
        "so a better one may lie beyond it."
    ]


def test_seeds_that_differ_are_said_to() -> None:
    _, findings = told(training_run(GRID, loss=by_rate(3.0, 2.5, 3.0)))
    assert findings == []
    _, findings = told(training_run(GRID, loss=by_rate(3.0, 2.5, 2.5), noise=0.1, seeds=5))
    assert findings[-1].endswith(
        "of 2 settings the rate that is chosen for a seed by the others is not the same for all "
        "seeds, so intervals at it are wider."
    )


def test_one_seed_is_optimistic() -> None:
    table, findings = told(training_run(GRID, seeds=1, loss=by_rate(3.0, 2.5, 3.0)))
    assert findings == [
        "training: there is one seed, so the best learning rate is chosen on the seed that it is "
        "looked at: losses at it are optimistic, and more so the more rates were tried."
    ]
    assert best_rates_section(table, optimistic=True).caption == (
        "Best rate: the learning rate with the lowest training.final_loss over all seeds, of each "
        "setting of all other factors. As there is one seed, it is also the chosen rate, on the "
        "seed that it is looked at, which is optimistic. Loss and sensitivity are means over 1 "
        "seed."
    )


def test_a_setting_that_learns_nowhere_has_no_merit_in_its_low_sensitivity() -> None:
    def loss(levels: Levels) -> float:
        return 3.27 if levels["placement"] == "post" else 2.5

    table, findings = told(training_run(GRID, loss=loss, noise=0.001))
    assert table["n_rates_learnt"].to_list() == [3, 0]
    assert table["sensitivity"].iloc[1] < 0.01
    assert findings[0] == (
        "training: in 1 of 2 settings no trial learns at any learning rate: the best one says "
        "nothing there, and a low sensitivity is no merit."
    )


def test_settings_without_a_best_rate_are_counted_with_the_reason() -> None:
    lost = [({"placement": "post", "training.learning_rate": "0.001"}, seed) for seed in range(3)]
    table, findings = told(training_run(GRID, failed=lost, loss=by_rate(3.0, 2.5, 3.0)))
    assert findings == [
        "training: no best learning rate is told of 1 of 2 settings, as no seed has a result at "
        "every rate."
    ]
    assert table["state"].to_list() == ["", "failed"]
    assert np.isnan(table["final_loss"].iloc[1])
    more = {**GRID, "placement": ["pre", "post", "sandwich"]}
    frames = training_run(more, loss=by_rate(3.0, 2.5, 3.0))
    cell = frames.cells["cell"].iloc[5]
    trials = frames.trials.assign(
        state=frames.trials["state"].where(frames.trials["cell"] != cell, "skipped")
    )
    skipped = replace(frames, trials=trials, metrics=frames.metrics[frames.metrics["cell"] != cell])
    table, findings = told(skipped)
    assert findings == [
        "training: no best learning rate is told of 1 of 3 settings, as the grid does not train "
        "them at every rate."
    ]
    assert list(best_rates_section(table, optimistic=False).rows[1]) == [
        "placement=post", "—", "—", "none", "skipped (3 of 3)", "—", "—",
    ]  # fmt: skip
