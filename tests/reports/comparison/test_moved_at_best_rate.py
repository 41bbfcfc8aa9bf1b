"""Effects of two runs with each setting at its own best learning rate."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports.comparison.moved import APART, PAIRED, moved_effects, not_at_best
from reports.frames import Frames
from reports.training.compared import compare
from reports.training.names import BEST_RATE, LEARNING_RATE, SENSITIVITY
from tests.reports.comparison.test_moved import other_cells
from tests.reports.simulated import each_table
from tests.reports.simulated_training import Levels, training_run

GRID = {"placement": ["pre", "post"], LEARNING_RATE: ["0.0003", "0.001", "0.003"]}
OWN, AVERAGED = "training.final_loss_at_best_rate", "training.final_loss"
METRICS = [AVERAGED, "training.held_out_loss"]


def loss_with(best: float, others: float) -> Callable[[Levels], float]:
    """Post placement is that much worse at 0.001, the best rate of either, and at the others."""

    def loss(levels: Levels) -> float:
        at_best = levels[LEARNING_RATE] == "0.001"
        worse = best if at_best else others
        return (2.0 if at_best else 2.4) + worse * (levels["placement"] == "post")

    return loss


def moves(first: Frames, second: Frames) -> pd.DataFrame:
    table = moved_effects(compare(first), compare(second), METRICS)
    return table[table["factor"] == "placement"].set_index("metric")


def test_a_move_at_the_best_rate_is_seen_where_the_average_has_none() -> None:
    first = training_run(GRID, seeds=5, loss=loss_with(0.1, 0.1), noise=0.005)
    second = training_run(GRID, seeds=5, loss=loss_with(0.2, 0.05), noise=0.005)
    table = moves(first, second)
    assert not table.loc[OWN, "within_noise"]
    assert table.loc[OWN, "estimate"] == pytest.approx(0.1, abs=0.03)
    assert (table.loc[OWN, "how"], table.loc[OWN, "n_seeds"]) == (PAIRED, 5)
    assert table.loc[AVERAGED, "within_noise"]
    assert table.loc[OWN, "primary"]
    assert set(table.index) >= {BEST_RATE, SENSITIVITY}


def test_each_runs_own_effects_are_those_of_its_report() -> None:
    runs = [compare(training_run(GRID, seeds=4, noise=noise)) for noise in (0.02, 0.03)]
    table = moved_effects(*runs, METRICS).set_index(["metric", "factor", "level"])
    for number, run in enumerate(runs, start=1):
        assert run.at_best is not None
        for effects, metric in ((run.effects, AVERAGED), (run.at_best.effects, OWN)):
            (row,) = effects[
                (effects["metric"] == metric) & (effects["factor"] == "placement")
            ].to_dict("records")
            told = table.loc[(metric, "placement", "post")]
            for name in ("estimate", "low", "high"):
                assert told[f"{name}_{number}"] == row[name]


def test_a_run_beside_itself_has_not_moved() -> None:
    run = training_run(GRID, seeds=4)
    table = moves(run, run)
    assert (table.loc[[OWN, AVERAGED], "estimate"] == 0).all()
    assert table.loc[[OWN, AVERAGED], "within_noise"].all()


def test_other_rates_are_no_fair_comparison() -> None:
    first = training_run(GRID)
    second = training_run({**GRID, LEARNING_RATE: ["0.0003", "0.001"]})
    assert OWN not in moves(first, second).index
    runs = [compare(run).at_best for run in (first, second)]
    assert not_at_best(*runs) == "the runs try different learning rates"
    assert not_at_best(None, None) == "neither run tries several learning rates for each setting"


@pytest.mark.slow
@pytest.mark.parametrize("how", [PAIRED, APART])
def test_moves_that_are_none_are_found_as_seldom_as_promised(how: str) -> None:
    """Rates that suit alike, so that seeds choose among them by noise alone."""
    run = training_run(GRID, seeds=4, loss=lambda _: 2.4)
    other = run if how == PAIRED else other_cells(run)
    n, found = 60, 0
    for k in range(n):
        rng = np.random.default_rng([k, how == APART])
        table = moved_effects(compare(_noise(run, rng)), compare(_noise(other, rng)), METRICS)
        assert table.set_index(["metric", "factor"]).loc[(OWN, "placement"), "how"] == how
        found += bool((table["primary"] & table["within_noise"].eq(False)).any())
    assert found <= stats.binom.ppf(0.999, n, 0.05)


def _noise(run: Frames, rng: np.random.Generator) -> Frames:
    """The run with losses that are one number and noise."""
    noise = 2.4 + rng.normal(0, 0.02, size=len(run.metrics))
    values = run.metrics["value"].where(~run.metrics["metric"].isin(METRICS), noise)
    return replace(run, metrics=run.metrics.assign(value=values))


def test_the_order_in_which_rates_are_written_is_nothing() -> None:
    run = training_run(GRID, seeds=4)
    order = run.cells[LEARNING_RATE].map(GRID[LEARNING_RATE].index)
    turned = replace(
        run, cells=run.cells.iloc[(-order).argsort(kind="stable")].reset_index(drop=True)
    )
    table = moves(run, turned)
    assert table.loc[OWN, "how"] == PAIRED
    assert (table["estimate"].dropna() == (table["scale"] == "log")).all()


def test_at_a_single_seed_it_is_said_that_the_choice_flatters() -> None:
    runs = [training_run(GRID, seeds=n) for n in (1, 3)]
    flatters = "its rate is chosen in its only seed, which flatters"
    assert moves(runs[0], runs[0]).loc[OWN, "caution"] == flatters
    assert moves(runs[0], runs[1]).loc[OWN, "caution"] == f"first run: {flatters}"
    assert moves(runs[1], runs[1]).loc[OWN, "caution"] == ""


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        (["0.0003", "0.001", "0.003"], "averaged over 3 learning rates"),
        (["0.001", "0.003", "0.01"], "averaged over learning rates 0.001 and 0.003"),
        (["0.001", "0.01"], "at learning rate 0.001 alone"),
    ],
)
def test_rates_are_those_of_the_pairs_that_both_runs_have(rates: list[str], words: str) -> None:
    first = training_run(GRID, loss=lambda _: 2.5)
    second = training_run({**GRID, LEARNING_RATE: rates}, loss=lambda _: 2.5)
    named = dict(zip(map(tuple, first.cells[[*GRID]].to_numpy()), first.cells["cell"], strict=True))
    new = {
        cell: named.get((placement, rate), f"{cell[:-2]}e{cell[-1]}")
        for cell, placement, rate in second.cells[["cell", *GRID]].itertuples(index=False)
    }
    second = each_table(second, lambda t: t.assign(cell=t["cell"].map(new)))
    table = moves(first, second)
    assert table.loc[AVERAGED, "how"] == PAIRED
    assert table.loc[AVERAGED, "rates"] == words
    apart = moves(first, other_cells(second))
    assert apart.loc[AVERAGED, "how"] == APART
    assert OWN not in table.index or table.loc[OWN, "rates"] == ""
    if rates == GRID[LEARNING_RATE]:
        assert apart.loc[AVERAGED, "rates"] == words
    else:
        assert apart.loc[AVERAGED, "rates"].startswith("first run averaged over ")


def test_as_many_rates_that_are_others_are_not_told_as_the_same() -> None:
    first = training_run(GRID, loss=lambda _: 2.5)
    second = training_run({**GRID, LEARNING_RATE: ["0.001", "0.003", "0.01"]}, loss=lambda _: 2.5)
    assert moves(first, other_cells(second)).loc[AVERAGED, "rates"] == (
        "first run averaged over learning rates 0.0003, 0.001 and 0.003, second run averaged over "
        "learning rates 0.001, 0.003 and 0.01"
    )
