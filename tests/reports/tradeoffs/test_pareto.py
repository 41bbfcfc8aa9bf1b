"""Which cells are on the front, which are shown to be off it, and which may not be ranked."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.panel import panel
from reports.tradeoffs.pareto import BEATEN, Tradeoff, pareto_front, pareto_table, ranked
from tests.reports.simulated import make_frames, set_state

PRICE = [1.0, 2.0, 2.0, 3.0, 4.0]
LOSS = [5.0, 3.0, 4.0, 3.1, 2.0]
NOISE = np.random.default_rng(0).normal(0, 0.01, size=(5, 4))


def run(
    loss: "list[float]" = LOSS, *, better: str = "lower", noise: float = 1.0, price: object = PRICE
) -> Frames:
    values = np.array(loss)[:, None] + noise * NOISE
    prices = np.repeat(np.array(price, dtype=float)[:, None], 4, axis=1)
    frames = make_frames({"f": ["a", "b", "c", "d", "e"]}, {"price": prices, "loss": values})
    info = frames.metric_info
    return replace(
        frames, metric_info=info.assign(better=[better if m == "loss" else "neither"
                                                for m in info["metric"]])
    )  # fmt: skip


def table(frames: Frames) -> Tradeoff | None:
    data = panel(frames)
    return pareto_table(frames, data, data, cost="price", outcome="loss", held=())


def statuses(frames: Frames) -> list[str]:
    made = table(frames)
    assert made is not None
    return made.rows["status"].to_list()


def by_every_pair(price: np.ndarray, worse: np.ndarray) -> list[bool]:
    """The front from its definition."""
    return [
        not any(
            price[b] <= price[a]
            and worse[b] <= worse[a]
            and (price[b], worse[b]) != (price[a], worse[a])
            for b in range(len(price))
        )
        for a in range(len(price))
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_front_is_what_no_other_cell_beats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    price, worse = rng.integers(0, 6, 15).astype(float), rng.integers(0, 6, 15).astype(float)
    assert pareto_front(price, worse).tolist() == by_every_pair(price, worse)


def test_cells_off_the_front_are_beaten_where_pairs_of_seeds_show_it() -> None:
    assert statuses(run()) == ["front", "front", "beaten", "beaten", "front"]


def test_what_lies_within_noise_is_behind_and_not_beaten() -> None:
    assert statuses(run(noise=100.0)).count("beaten") == 0
    assert statuses(run([5.0, 3.0, 4.0, 3.02, 2.0])) == [
        "front", "front", "beaten", "behind", "front",
    ]  # fmt: skip


def test_a_cell_is_beaten_only_by_one_that_costs_no_more() -> None:
    assert statuses(run([5.0, 4.0, 4.0, 3.0, 2.0], price=[1, 2, 3, 4, 5]))[0] == "front"
    assert statuses(run([2.0, 3.0, 4.0, 5.0, 6.0], price=[1, 2, 3, 4, 5])) == [
        "front", "beaten", "beaten", "beaten", "beaten",
    ]  # fmt: skip


def test_where_more_is_better_the_front_turns_round() -> None:
    assert statuses(run([-v for v in LOSS], better="higher")) == statuses(run())


def test_without_a_better_direction_nothing_is_ranked() -> None:
    made = table(run(better="neither"))
    assert made is not None
    assert set(made.rows["status"]) == {"unranked"}
    assert made.n_tested == 0


def test_one_seed_shows_nothing_to_be_beaten() -> None:
    frames = run()
    one = frames.trials["seed"] == 0
    frames = replace(
        frames, trials=frames.trials[one], metrics=frames.metrics[frames.metrics["seed"] == 0]
    )
    assert statuses(frames) == ["front", "front", "behind", "behind", "front"]


@pytest.mark.parametrize(
    ("state", "marks"), [("failed", ""), ("done", "cancelled_probe"), ("done", "leaks"),
                         ("done", "nonconforming")]
)  # fmt: skip
def test_a_lost_or_marked_cell_is_neither_on_the_front_nor_beats_another(
    state: str, marks: str
) -> None:
    frames = run()
    rows = (frames.trials["cell"] == frames.cells["cell"][1]) & (frames.trials["seed"] == 2)
    changed = set_state(frames, rows, state, marks=marks)
    assert statuses(changed) == ["front", "lost", "front", "front", "front"]
    made = table(changed)
    assert made is not None
    assert np.isnan(made.rows["mean"][1])


def test_a_diverged_value_is_lost_and_one_not_run_is_counted_away() -> None:
    frames = run([5.0, np.inf, 4.0, 3.1, 2.0])
    assert statuses(frames)[1] == "lost"
    frames = run()
    rows = (frames.trials["cell"] == frames.cells["cell"][1]) & (frames.trials["seed"] == 2)
    made = table(set_state(frames, rows, "missing"))
    assert made is not None
    assert (len(made.rows), made.n_absent) == (4, 1)


def test_levels_that_make_no_fair_comparison_are_left_out() -> None:
    values = np.random.default_rng(0).normal(size=(4, 3))
    frames = make_frames(
        {"width": ["1", "2"], "m.rate": ["0.1", "0.2"]},
        {"price": np.repeat([[1.0], [1.0], [2.0], [2.0]], 3, axis=1), "loss": values},
    )
    data = panel(frames)
    made = pareto_table(frames, data, data, cost="price", outcome="loss", held=["m.rate"])
    assert made is not None
    assert made.rows["m.rate"].to_list() == ["0.1", "0.1"]
    assert (made.held, made.n_unequal) == (("m.rate = 0.1",), 2)
    assert made.rows["name"].to_list() == ["the baseline", "width = 2"]


def test_a_cost_that_is_the_same_everywhere_is_no_trade_off() -> None:
    assert table(run(price=[1.0] * 5)) is None
    frames = run()
    assert table(set_state(frames, pd.Series(True, index=frames.trials.index), "failed")) is None


def test_false_discoveries_are_rare() -> None:
    """Cells that are all alike: in about 95 of 100 runs none is told as beaten."""
    wrong = 0
    for seed in range(1000):
        worse = np.random.default_rng(seed).normal(size=(6, 5))
        status, n_tested = ranked(np.arange(6.0), worse, None)
        assert n_tested == 15
        wrong += BEATEN in status
    assert 0 < wrong <= 65  # 50 at most expected; at that rate more than 65 have probability 0.015


def test_seeds_that_are_not_independent_show_less() -> None:
    worse = np.array(LOSS)[:, None] + NOISE
    assert (ranked(np.array(PRICE), worse, None)[0] == BEATEN).sum() == 2
    assert (ranked(np.array(PRICE), worse, np.full(5, 1000.0))[0] == BEATEN).sum() == 0
