"""Best learning rates and sensitivity by hand: left-out seeds, what diverged, what is not there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest

from reports import Frames
from reports.panel import panel
from reports.training.best_rates import BestRates, best_rates
from tests.reports.simulated import only_cells
from tests.reports.simulated_training import INITIAL, training_run

RATES = ["0.0003", "0.001", "0.003"]
ONE_SETTING = {"training.learning_rate": RATES}
TWO_SETTINGS = {"placement": ["pre", "post"], "training.learning_rate": RATES}


def chosen(frames: Frames) -> BestRates:
    found = best_rates(frames, panel(frames))
    assert found is not None
    return found


def with_losses(losses: Mapping[str, Sequence[float]], initial: float = INITIAL) -> Frames:
    """One setting with a final loss for each rate and seed; NaN diverged."""
    n_seeds = len(next(iter(losses.values())))
    lost = [
        ({"training.learning_rate": rate}, seed)
        for rate, values in losses.items()
        for seed, value in enumerate(values)
        if np.isnan(value)
    ]
    frames = training_run(ONE_SETTING, seeds=n_seeds, diverged=lost)
    rate_of = frames.cells.set_index("cell")["training.learning_rate"]
    values = frames.metrics["value"].to_numpy().copy()
    for row, (cell, seed, metric) in enumerate(
        zip(frames.metrics["cell"], frames.metrics["seed"], frames.metrics["metric"], strict=True)
    ):
        if metric == "training.final_loss":
            values[row] = losses[rate_of[cell]][seed]
        if metric == "training.initial_loss":
            values[row] = initial
    return replace(frames, metrics=frames.metrics.assign(value=values))


def test_a_seed_has_no_part_in_the_choice_of_its_own_rate() -> None:
    losses = {"0.0003": [3.0, 3.0, 3.0], "0.001": [2.0, 3.4, 3.4], "0.003": [3.3, 2.5, 3.3]}
    found = chosen(with_losses(losses))
    # Means of the others: 3.0 3.4 2.9; 3.0 2.7 3.3; 3.0 2.7 2.9
    assert found.chosen.tolist() == [[2, 1, 1]]
    assert found.best.tolist() == [1]  # means of all: 3.0, 2.93, 3.03
    assert found.edge == [""]
    assert not found.optimistic


def test_seeds_that_differ_in_their_rate_are_known_to_depend_on_each_other() -> None:
    losses = {"0.0003": [3.0, 3.0, 3.0], "0.001": [2.0, 3.4, 3.4], "0.003": [3.3, 2.5, 3.3]}
    found = chosen(with_losses(losses))
    assert found.differ.tolist() == [True]
    of_losses, of_rates = found.spread
    assert of_losses.tolist() == [np.sqrt(1 + 3 / 2)]
    assert of_rates.tolist() == [2]
    alike = chosen(with_losses({"0.0003": [3.0] * 4, "0.001": [2.0] * 4, "0.003": [3.3] * 4}))
    assert alike.differ.tolist() == [False]
    assert [spread.tolist() for spread in alike.spread] == [[1], [3]]


def test_against_plain_loops_over_many_settings() -> None:
    frames = training_run(noise=0.3, seeds=4)
    found = chosen(frames)
    rows = frames.metrics[frames.metrics["metric"] == "training.final_loss"]
    loss = {(row.cell, row.seed): float(row.value) for row in rows.itertuples()}
    for g, cells in enumerate(found.cells):
        names = frames.cells["cell"].iloc[cells].to_list()
        for seed in range(4):
            means = [mean(loss[name, other] for other in range(4) if other != seed)
                     for name in names]  # fmt: skip
            assert found.chosen[g, seed] == np.argmin(means)
    assert len(np.unique(found.chosen)) == 3


def test_a_rate_at_which_a_seed_diverged_is_worse_than_any_at_which_none_did() -> None:
    losses = {"0.0003": [3.2, 3.2, 3.2], "0.001": [2.0, np.nan, 2.0], "0.003": [np.nan] * 3}
    found = chosen(with_losses(losses))
    # Without seed 1 the second rate is best; for it alone no other seed saw it diverge.
    assert found.chosen.tolist() == [[0, 1, 0]]
    assert found.best.tolist() == [0]
    assert found.edge == ["lowest"]


def test_of_rates_that_diverge_the_one_that_does_so_least_is_chosen() -> None:
    losses = {"0.0003": [np.nan, np.nan, 2.0], "0.001": [np.nan, 3.0, 3.0], "0.003": [np.nan] * 3}
    assert chosen(with_losses(losses)).best.tolist() == [1]


def test_sensitivity_by_hand() -> None:
    losses = {"0.0003": [3.0, 3.0], "0.001": [2.5, 2.0], "0.003": [np.nan, 9.0]}
    found = chosen(with_losses(losses, initial=5.0))
    # A trial that diverged, and one that ended above where it began, count as the beginning.
    assert found.sensitivity[0] == pytest.approx([(0.5 + 0 + 2.5) / 3, (1 + 0 + 3) / 3])


def test_a_setting_that_diverges_everywhere_has_no_sensitivity_rather_than_none() -> None:
    found = chosen(with_losses({rate: [np.nan, 3.0] for rate in RATES}))
    assert np.isnan(found.sensitivity[0, 0])
    assert found.sensitivity[0, 1] == 0


@pytest.mark.parametrize(("best", "edge"), [(0, "lowest"), (1, ""), (2, "highest")])
def test_a_best_rate_at_the_edge_of_the_grid_is_flagged(best: int, edge: str) -> None:
    losses = {rate: [3.0 - (place == best)] * 2 for place, rate in enumerate(RATES)}
    assert chosen(with_losses(losses)).edge == [edge]


def test_a_single_seed_chooses_for_itself_and_that_is_optimistic() -> None:
    found = chosen(with_losses({"0.0003": [3.0], "0.001": [2.0], "0.003": [4.0]}))
    assert found.chosen.tolist() == [[1]]
    assert found.optimistic
    assert [spread.tolist() for spread in found.spread] == [[1], [1]]


def test_a_seed_that_lacks_a_rate_has_no_part_in_the_choice() -> None:
    frames = training_run(
        ONE_SETTING, failed=[({"training.learning_rate": "0.003"}, 1)],
        loss=lambda levels: 3.0 - float(levels["training.learning_rate"]),
    )  # fmt: skip
    found = chosen(frames)
    assert np.isnan(found.sensitivity[0, 1])
    assert np.isfinite(found.sensitivity[0, [0, 2]]).all()
    assert (found.chosen >= 0).all()
    alone = chosen(
        training_run(ONE_SETTING, failed=[({"training.learning_rate": "0.003"}, s) for s in (1, 2)])
    )
    assert alone.chosen[0, 0] == -1  # no other seed has a result at every rate
    assert (alone.chosen[0, 1:] >= 0).all()


def test_a_setting_that_the_grid_does_not_train_at_every_rate_has_no_best_one() -> None:
    frames = training_run({**TWO_SETTINGS, "placement": ["pre", "post", "sandwich"]})
    for run in (without(frames, 5, "skipped"), without(frames, 5, "absent")):  # post, highest rate
        found = chosen(run)
        assert found.whole.tolist() == [True, False, True]
        assert (found.chosen[[0, 2]] >= 0).all()
        assert (found.chosen[1] == -1).all()
        assert found.best[1] == -1
        assert found.edge[1] == ""
        assert np.isnan(found.sensitivity[1]).all()


@pytest.mark.parametrize("how", ["skipped", "absent"])
def test_a_single_setting_at_every_rate_is_none_to_compare(how: str) -> None:
    run = without(training_run(TWO_SETTINGS), 5, how)
    assert best_rates(run, panel(run)) is None


def without(frames: Frames, row: int, how: str) -> Frames:
    """The run without a cell, as a component or the design leaves it out."""
    cell = frames.cells["cell"]
    kept = only_cells(frames, cell.drop(index=row))
    if how == "absent":
        return kept
    state = frames.trials["state"].where(frames.trials["cell"] != cell.iloc[row], "skipped")
    return replace(kept, cells=frames.cells, trials=frames.trials.assign(state=state))


def test_where_all_diverge_at_all_rates_none_is_best() -> None:
    found = chosen(
        training_run(TWO_SETTINGS, diverged=[({"placement": "post"}, s) for s in range(3)])
    )
    assert found.best.tolist()[1] == -1
    assert found.edge[1] == ""
    assert found.best[0] >= 0


@pytest.mark.parametrize("rates", [["0.001"], ["slow", "fast"], ["0", "0.001"]])
def test_without_two_rates_that_are_numbers_there_is_no_best_one(rates: list[str]) -> None:
    frames = training_run(
        {"placement": ["pre", "post"], "training.learning_rate": rates}, loss=lambda _: 2.5
    )
    assert best_rates(frames, panel(frames)) is None


def test_without_the_factor_or_the_measure_there_is_no_best_one() -> None:
    frames = training_run({"placement": ["pre", "post"]})
    assert best_rates(frames, panel(frames)) is None
    frames = training_run(TWO_SETTINGS)
    nothing = replace(
        frames,
        trials=frames.trials.iloc[:0],
        metrics=frames.metrics.iloc[:0],
        profiles=frames.profiles.iloc[:0],
    )
    assert best_rates(nothing, panel(nothing)) is None


def test_rates_are_ordered_by_size_not_as_the_grid_has_them() -> None:
    frames = training_run({"training.learning_rate": ["0.001", "0.003", "0.0003"]})
    assert chosen(frames).rates == ("0.0003", "0.001", "0.003")
