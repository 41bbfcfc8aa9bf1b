"""One list of findings: what is averaged over learning rates, and what is at each one's best."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames, state_findings
from reports.cautions import cautions, joint_cautions
from reports.finding import Finding
from reports.formats import tables_of
from reports.training.compared import compare
from reports.training.section import training_section
from reports.training.told import all_findings, findings_at_best_rate
from tests.reports.simulated import default_run, one_at_a_time
from tests.reports.simulated_training import TRAINING_GRID, Levels, training_run

GRID = {"placement": ["pre", "post"], "training.learning_rate": ["0.0003", "0.001", "0.003"]}


def told(frames: Frames) -> list[Finding]:
    found = compare(frames)
    beside, joint = cautions(frames, found.effects), joint_cautions(frames, found.interactions)
    return all_findings(frames, found, beside, joint)


def texts(findings: list[Finding]) -> list[str]:
    return [one.text.replace("\u00a0", " ") for one in findings]


def later_best(levels: Levels) -> float:
    """Post-LN is worse at its best rate, the lowest, and worse still at the others."""
    rate = levels["training.learning_rate"]
    if levels["placement"] == "pre":
        return {"0.0003": 2.7, "0.001": 2.5, "0.003": 2.6}[rate]
    return {"0.0003": 2.8, "0.001": 3.0, "0.003": 3.1}[rate]


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return told(training_run(GRID, seeds=5, loss=later_best, noise=0.01))


def test_each_finding_says_which_rate_it_is_at(findings: list[Finding]) -> None:
    (own,) = [f for f in findings if f.metric == "training.final_loss_at_best_rate"]
    assert texts([own]) == [
        "Each at its own best learning rate, training.final_loss_at_best_rate: placement = post "
        "instead of pre changes it by +0.304 nats, 12.2 % more (adjusted 95 % interval +0.267 to "
        "+0.341; 1 pair, 5 seeds; best rate at the edge of the grid in 1 of 1 setting with "
        "placement = post, 0 of 1 with pre)."
    ]
    (mean,) = [
        f for f in findings
        if f.metric == "training.final_loss" and f.factor == "placement" and f.factor_2 is None
    ]  # fmt: skip
    assert mean.support.endswith("; averaged over 3 learning rates")
    of_rate = [f for f in findings if f.factor == "training.learning_rate"]
    assert of_rate
    assert not any("averaged over" in f.support for f in of_rate)


def test_at_a_single_rate_every_finding_says_so() -> None:
    def loss(levels: Levels) -> float:
        return 2.5 if levels["placement"] == "pre" else 2.9

    found = told(training_run({"placement": ["pre", "post"]}, seeds=5, loss=loss, noise=0.01))
    assert texts(found)[0] == (
        "training: 10 trials learnt; losses of levels are compared at one learning rate, 0.001, "
        "which may suit some better."
    )
    shown = [f for f in found if f.kind == "most"]
    assert [f.metric for f in shown] == ["training.final_loss", "training.held_out_loss"]
    assert all(f.support.endswith("; at learning rate 0.001 alone") for f in shown)


def test_one_at_a_time_is_at_the_rate_of_the_baseline_alone() -> None:
    grid = {**GRID, "training.warmup_steps": ["0", "50"]}
    run = one_at_a_time(training_run(grid, seeds=5, loss=later_best, noise=0.01))
    found = compare(run)
    assert found.at_best is None
    alone = {("0.0003",)}
    assert found.pair_rates.of_levels() == {"placement": alone, "training.warmup_steps": alone}
    shown = [f for f in told(run) if f.factor == "placement"]
    assert {f.metric for f in shown} == {"training.final_loss", "training.held_out_loss"}
    assert all(f.support.endswith("; at learning rate 0.0003 alone") for f in shown)
    assert not any("nothing is said" in text for text in texts(told(run)))
    captions = [table.caption for table in tables_of(run, found)]
    words = "Trainings are at learning rate 0.0003 alone, but for training.learning_rate itself."
    assert any(words in caption for caption in captions)
    made = training_section(run, found)
    assert made is not None
    (note,) = made.notes
    assert note.startswith(
        "Losses of levels of other factors are compared at one learning rate, 0.0003. "
    )


def test_no_effect_at_the_best_rates_says_whose_are_at_the_edge() -> None:
    def loss(levels: Levels) -> float:  # post would want a higher rate than there is
        rate = GRID["training.learning_rate"].index(levels["training.learning_rate"])
        return (2.6, 2.55, 2.5)[rate] if levels["placement"] == "post" else (2.6, 2.5, 2.6)[rate]

    found = told(training_run(GRID, seeds=5, loss=loss, noise=0.01))
    words = (
        "best rate at the edge of the grid in 1 of 1 setting with placement = post, 0 of 1 with pre"
    )
    (inside,) = [
        f for f in found if f.kind == "noise" and f.metric == "training.final_loss_at_best_rate"
    ]
    assert inside.support == f"5 seeds; {words}"
    turned = [f for f in found if f.kind == "rates"]
    assert turned
    assert all(f.support.endswith(f"; {words}") for f in turned)


def test_both_are_one_list_the_largest_first(findings: list[Finding]) -> None:
    kinds = list(dict.fromkeys(f.kind for f in findings))
    order = ["training", "rates", "most", "depends", "effect", "interaction", "undecided", "noise",
             "exploratory"]  # fmt: skip
    assert kinds == [kind for kind in order if kind in kinds]
    most = [f.metric for f in findings if f.kind == "most"]
    assert most.index("training.final_loss") < most.index("training.final_loss_at_best_rate")

    def loss(levels: Levels) -> float:  # more apart at their best than on average
        best = levels["placement"] == "pre" and levels["training.learning_rate"] == "0.001"
        return 2.5 if best else 2.9

    most = [f.metric for f in told(training_run(GRID, seeds=5, loss=loss)) if f.kind == "most"]
    assert most.index("training.final_loss_at_best_rate") < most.index("training.final_loss")


def test_what_is_exploratory_at_the_best_rate_says_so(findings: list[Finding]) -> None:
    (mean, own) = [f for f in texts(findings) if "xploratory: " in f]
    assert mean.startswith("Exploratory: ")
    assert own.startswith("Each at its own best learning rate, exploratory: ")


def test_a_disagreement_stands_before_all_others() -> None:
    def loss(levels: Levels) -> float:
        best = "0.0003" if levels["placement"] == "pre" else "0.001"
        return 2.4 + 0.5 * (levels["training.learning_rate"] != best)

    ended, first = told(training_run(GRID, seeds=5, loss=loss, noise=0.005))[:2]
    assert ended.kind == "training"
    assert first.kind == "rates"
    assert first.text.startswith(
        "training.final_loss: placement = post instead of pre shows no effect ("
    )


def test_one_seed_is_told_to_be_optimistic() -> None:
    found = texts(told(training_run(GRID, seeds=1)))
    own, mean = (
        [text for text in found if f"training.{name}: placement" in text]
        for name in ("final_loss_at_best_rate", "final_loss")
    )
    assert own == [
        "Each at the learning rate that is best in its only seed, which is optimistic, "
        "training.final_loss_at_best_rate: placement = post instead of pre differed by −0.00659 "
        "nats, 0.240 % less in the only seed (1 pair, 1 seed; one seed: no interval can be given; "
        "best rate at the edge of the grid in 1 of 1 setting with placement = post, 1 of 1 with "
        "pre)."
    ]
    assert mean == [
        "training.final_loss: placement = post instead of pre differed by +0.0699 nats, 2.31 % "
        "more in the only seed (3 pairs, 1 seed; one seed: no interval can be given; same "
        "direction in 66.7 % of the pairs; averaged over 3 learning rates)."
    ]


def test_divergence_at_the_best_rate_leaves_no_conclusion() -> None:
    frames = training_run(GRID, diverged=[({"placement": "post"}, 0)])
    found = [f for f in texts(told(frames)) if "final_loss_at_best_rate" in f]
    assert len(found) == 1
    assert found[0].startswith(
        "Each at its own best learning rate, training.final_loss_at_best_rate: no conclusion is "
        "drawn about placement = post instead of pre, as 1 of 3 paired observations is not used: "
        "1 diverged. Among the survivors alone: "
    )
    assert "which is not a finding; ranked with diverged trials last, it wins " in found[0]


def test_parameters_are_told_beside_effects_at_the_best_rate() -> None:
    frames = training_run(GRID, seeds=5, loss=later_best, noise=0.01, initialization=True)
    more = (frames.metrics["metric"] == "parameters.total") & (frames.metrics["value"] < 2_450_000)
    values = frames.metrics["value"].where(~more, 2_600_000)
    found = told(replace(frames, metrics=frames.metrics.assign(value=values)))
    (own,) = [f for f in found if f.metric == "training.final_loss_at_best_rate"]
    assert ", with 6.12\u00a0% more parameters" in own.claim
    assert len([f for f in found if f.metric == "parameters.total" and f.factor]) == 1


def test_components_at_fault_are_told_beside_them() -> None:
    frames = training_run(GRID, seeds=5, loss=later_best, noise=0.01)
    post = frames.trials["cell"].isin(frames.cells.loc[frames.cells["placement"] == "post", "cell"])
    marked = replace(frames, trials=frames.trials.assign(marks=np.where(post, "leaks", "")))
    (own,) = [f for f in told(marked) if f.metric == "training.final_loss_at_best_rate"]
    assert own.claim.endswith("; a component reads the future: no evidence")
    assert own.kind == "effect"  # it leads nothing


@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_the_placebo_has_a_finding_in_either_and_its_place(shift: float) -> None:
    grid = {"placebo": ["first", "second"], **GRID}

    def loss(levels: Levels) -> float:
        return later_best(levels) - shift * (levels.get("placebo") == "second")

    found = texts(told(training_run(grid, seeds=5, loss=loss, noise=0.01)))
    mean, own = (i for i, text in enumerate(found) if "placebo: of " in text)
    assert found[mean].startswith("placebo: of ")
    assert found[own].startswith("Each at its own best learning rate, placebo: of ")
    if shift:
        assert (mean, own) == (0, 1)  # warnings
    else:
        assert (mean, own) == (len(found) - 2, len(found) - 1)


def test_a_run_without_rates_is_told_as_ever() -> None:
    frames = default_run(seeds=2)
    assert texts(told(frames)) == texts(state_findings(frames))
    frames = training_run({"placement": ["pre", "post"]})
    frames = replace(frames, settings=frames.settings.iloc[:0])  # nobody knows its rate
    ended, *rest = texts(told(frames))
    assert ended == "training: 3 trials learnt, 3 stalled; stalled: all in the cell placement=post."
    assert rest == texts(state_findings(frames))


def test_every_finding_at_the_best_rate_is_in_the_list() -> None:
    frames = training_run(TRAINING_GRID)
    found = compare(frames)
    assert found.at_best is not None
    own = texts(findings_at_best_rate(found.effects, found.at_best))
    assert own
    assert set(own) < set(texts(told(frames)))
