"""At which learning rates levels are compared: of the pairs that could be used."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from reports import Frames
from reports.formats import tables_of
from reports.training.compared import Compared, compare
from reports.training.names import FINAL_LOSS, LEARNING_RATE
from reports.training.pair_rates import Rates, in_words
from tests.reports.simulated import set_state
from tests.reports.simulated_training import Levels, training_run
from tests.reports.test_training_told import texts, told

RATES = ["0.0003", "0.001", "0.003"]
GRID = {"placement": ["pre", "post"], LEARNING_RATE: RATES}
TWO = {"norm": ["layernorm", "rmsnorm"], **GRID}


def skipped(frames: Frames, where: Callable[[Levels], bool]) -> Frames:
    """The run without what trials with some levels give, as an ``exclude`` leaves it."""
    gone = frames.cells["cell"][[where(row) for row in frames.cells.to_dict("records")]]
    run = set_state(frames, frames.trials["cell"].isin(gone), "skipped", message="excluded")
    return replace(run, metrics=run.metrics[~run.metrics["cell"].isin(gone)])


def post_at(*rates: str) -> Callable[[Levels], bool]:
    return lambda levels: levels["placement"] == "post" and levels[LEARNING_RATE] in rates


def clearly(levels: Levels) -> float:
    return 2.5 + 0.3 * (levels["placement"] == "post")


@pytest.mark.parametrize(
    ("rates", "n_all", "words"),
    [
        (("0.001",), 3, "at learning rate 0.001 alone"),
        (("0.001",), 1, "at learning rate 0.001 alone"),
        (("0.001", "0.003"), 3, "averaged over learning rates 0.001 and 0.003"),
        (("1", "2", "3"), 3, "averaged over 3 learning rates"),
        (("1", "2", "3", "4"), 6, "averaged over learning rates 1, 2, 3 and 4"),
    ],
)
def test_in_words(rates: Rates, n_all: int, words: str) -> None:
    assert in_words(rates, n_all) == words


def of_post(run: Compared) -> Rates:
    return run.pair_rates.of(FINAL_LOSS, "placement", "post")


def test_a_pair_that_was_not_trained_has_no_rate() -> None:
    whole = training_run(GRID, seeds=5, loss=clearly)
    assert of_post(compare(whole)) == tuple(RATES)
    two = compare(skipped(whole, post_at("0.0003")))
    assert of_post(two) == ("0.001", "0.003")
    assert two.pair_rates.only is None
    one = compare(skipped(whole, post_at("0.0003", "0.001")))
    assert of_post(one) == ("0.003",)
    assert one.pair_rates.only == "0.003"
    none = compare(skipped(whole, post_at(*RATES)))
    assert of_post(none) == ()
    assert none.pair_rates.only is None


def test_findings_say_the_rates_of_the_pairs_that_are_left() -> None:
    run = skipped(training_run(GRID, seeds=5, loss=clearly, noise=0.01), post_at("0.0003", "0.001"))
    found = told(run)
    (shown,) = [f for f in found if f.factor == "placement" and f.metric == FINAL_LOSS]
    assert shown.support.endswith("; at learning rate 0.003 alone")
    assert texts(found)[0].endswith(
        "; losses of levels of other factors are compared at one learning rate, 0.003, which may "
        "suit some better."
    )
    assert not any("nothing is said" in text for text in texts(found))
    captions = [table.caption for table in tables_of(run, compare(run))]
    assert len(captions) == 1
    assert "Trainings are at learning rate 0.003 alone, but for training" in captions[0]


def test_what_is_said_of_survivors_is_at_their_rates() -> None:
    lost = [({"placement": "post", LEARNING_RATE: "0.003"}, seed) for seed in range(5)]
    found = told(training_run(GRID, seeds=5, loss=clearly, noise=0.01, diverged=lost))
    (open_,) = [f for f in found if f.factor == "placement" and f.metric == FINAL_LOSS]
    assert "Among the survivors alone" in open_.claim
    assert open_.support == "survivors averaged over learning rates 0.0003 and 0.001"


def test_a_single_seed_of_a_pair_that_is_left_is_no_survivor() -> None:
    run = skipped(training_run(GRID, seeds=1, loss=clearly), post_at("0.0003", "0.001"))
    (one,) = [f for f in told(run) if f.factor == "placement" and f.metric == FINAL_LOSS]
    assert one.kind == "undecided"
    assert one.support.endswith("; at learning rate 0.003 alone")


def test_a_table_says_by_metric_what_is_at_other_rates() -> None:
    lost = [({"placement": "post", LEARNING_RATE: "0.003"}, seed) for seed in range(3)]
    run = training_run(GRID, diverged=lost)
    captions = [table.caption for table in tables_of(run, compare(run))]
    assert (
        "Trainings are, by factor: placement averaged over learning rates 0.0003 and 0.001 "
        "(training.final_loss and training.held_out_loss); placement averaged over 3 learning "
        "rates (training.learnt)."
    ) in captions[0]


def test_factors_at_several_rates_are_told_apart() -> None:
    whole = training_run(TWO, seeds=5, loss=clearly)
    run = skipped(whole, post_at("0.0003", "0.001"))
    found = compare(run)
    assert found.pair_rates.of_levels() == {"norm": {tuple(RATES)}, "placement": {("0.003",)}}
    (caption, *_) = [table.caption for table in tables_of(run, found)]
    assert (
        "Trainings are, by factor: norm averaged over 3 learning rates; placement at learning rate "
        "0.003 alone."
    ) in caption


def test_what_is_inside_noise_says_it_too() -> None:
    run = training_run({"placement": ["pre", "post"]}, seeds=3, loss=lambda _: 2.5)
    inside = [f for f in told(run) if f.kind == "noise" and f.metric == FINAL_LOSS]
    assert [f.support for f in inside] == ["3 seeds; at learning rate 0.001 alone"]
    several = training_run(GRID, seeds=3, loss=lambda _: 2.5)
    inside = [f for f in told(several) if f.kind == "noise" and f.metric == FINAL_LOSS]
    assert [f.support for f in inside] == [
        "3 seeds; levels of other factors averaged over 3 learning rates"
    ]
    alone = training_run({LEARNING_RATE: RATES}, seeds=3, loss=lambda _: 2.5)
    assert not any("averaged over" in text for text in texts(told(alone)))


def test_interactions_are_at_the_rates_of_their_four_cells() -> None:
    run = skipped(
        training_run(TWO, seeds=5),
        lambda levels: levels["norm"] == "rmsnorm" and post_at("0.0003")(levels),
    )
    rates = compare(run).pair_rates
    names = (FINAL_LOSS, "norm", "rmsnorm", "placement", "post")
    assert rates.of(*names) == ("0.001", "0.003")
    assert rates.of(FINAL_LOSS, "norm", "rmsnorm", LEARNING_RATE, "0.001") == ()
