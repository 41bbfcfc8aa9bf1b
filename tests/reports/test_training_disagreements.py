"""The wrong conclusion: a level that wins at a common rate, and not at its own best one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from reports import Frames
from reports.finding import Finding
from reports.training.common_rates import effects_at_common_rates
from reports.training.compared import compare
from reports.training.disagreements import disagreements
from reports.training.rate_differences import rate_differences
from tests.reports.simulated_training import Levels, training_run

GRID = {"placement": ["pre", "post"], "training.learning_rate": ["0.0003", "0.001", "0.003"]}


def planted(losses: Mapping[str, tuple[float, float, float]]) -> dict[str, Any]:
    def loss(levels: Levels) -> float:
        place = GRID["training.learning_rate"].index(levels["training.learning_rate"])
        return losses[levels["placement"]][place]

    return {"loss": loss, "noise": 0.005, "shared": 0.02}


def found(
    frames: Frames, beside: Mapping[tuple[str, str, str], str] | None = None
) -> list[Finding]:
    compared = compare(frames)
    assert compared.at_best is not None
    common = effects_at_common_rates(frames, compared.data)
    units = {"training.final_loss": "nats", "training.held_out_loss": "nats"}
    apart = rate_differences(compared.data, compared.at_best)
    own = compared.at_best.effects
    return list(disagreements(compared.effects, own, common, apart, units, beside or {}))


def test_a_level_that_merely_likes_another_rate_shows_no_effect_at_its_best() -> None:
    """Equal at their best rates; each rate alone would tell a story of its own."""
    losses = {"pre": (2.4, 2.6, 2.9), "post": (2.9, 2.4, 2.9)}
    (one,) = found(training_run(GRID, seeds=5, **planted(losses)))
    assert one.kind == "rates"
    assert (one.metric, one.factor, one.level) == (
        "training.final_loss_at_best_rate", "placement", "post",
    )  # fmt: skip
    assert one.text.replace("\u00a0", " ") == (
        "training.final_loss: placement = post instead of pre shows no effect (−0.00264 to "
        "+0.00322 nats) with each at its own best learning rate; with one rate for both, where it "
        "is shown at 2 of 3 rates, it changes it by +0.503 nats (+0.490 to +0.517) at 0.0003, "
        "changes it by −0.201 nats (−0.204 to −0.198) at 0.001 and changes it by +0.100 nats "
        "(+0.0920 to +0.108) on average over all rates; likewise on training.held_out_loss "
        "(95 % intervals, those at one rate exploratory; differs from each beyond noise, false "
        "discovery rate 5 %; 5 seeds)."
    )


def test_a_direction_that_turns_around_is_said_to() -> None:
    losses = {"pre": (2.9, 2.6, 2.5), "post": (2.3, 2.7, 2.9)}
    (one,) = found(training_run(GRID, seeds=5, **planted(losses)))
    assert (
        "at its own best learning rate; with one rate for both, where it is shown at "
        "3 of 3 rates, it changes it by" in one.claim
    )
    assert "at 0.003" in one.claim
    assert "at 0.0003" not in one.claim  # there it agrees
    assert ": the direction turns around; likewise on training.held_out_loss" in one.claim


@pytest.mark.parametrize("seeds", [1, 5])
def test_where_all_agree_nothing_is_said(seeds: int) -> None:
    losses = {"pre": (2.6, 2.4, 2.9), "post": (2.9, 2.7, 3.2)}
    assert found(training_run(GRID, seeds=seeds, **planted(losses))) == []


def test_what_cannot_be_judged_disagrees_with_nothing() -> None:
    losses = {"pre": (2.4, 2.6, 2.9), "post": (2.9, 2.4, 2.9)}
    assert found(training_run(GRID, seeds=1, **planted(losses))) == []
    lost = [({"placement": "post", "training.learning_rate": "0.0003"}, 0)]
    (one,) = found(training_run(GRID, seeds=5, diverged=lost, **planted(losses)))
    assert "0.0003" not in one.claim
    assert "on average" not in one.claim  # survivors alone are in it


def test_a_component_at_fault_is_told_beside_it() -> None:
    losses = {"pre": (2.4, 2.6, 2.9), "post": (2.9, 2.4, 2.9)}
    frames = training_run(GRID, seeds=5, **planted(losses))
    key = ("placement", "post", "training.final_loss")
    (one,) = found(frames, {key: "a component reads the future: no evidence"})
    assert one.claim.endswith("held_out_loss; a component reads the future: no evidence")


def test_the_placebo_is_left_to_its_own_finding() -> None:
    grid = {"placebo": ["first", "second"], "training.learning_rate": ["0.0003", "0.001"]}

    def loss(levels: Levels) -> float:
        return 2.5 + 0.3 * (levels.get("placebo") == "second") * (
            levels["training.learning_rate"] == "0.001"
        )

    assert found(training_run(grid, seeds=5, loss=loss, noise=0.005)) == []


def test_that_one_is_shown_and_the_other_is_not_is_no_disagreement_by_itself() -> None:
    """What is shown at 0.0003 is well inside the interval at each one's own best rate."""
    losses = {"pre": (2.4, 2.6, 2.9), "post": (2.43, 2.63, 2.93)}

    def noise(levels: Levels, seed: int) -> float:
        best = levels["training.learning_rate"] == "0.0003" and levels["placement"] == "post"
        return 0.0 if not best else (-0.08, 0.09, 0.02, -0.05, 0.04)[seed]

    frames = with_noise(training_run(GRID, seeds=5, **planted(losses)), noise)
    compared = compare(frames)
    assert compared.at_best is not None
    best = compared.at_best.effects.set_index("metric").loc["training.final_loss_at_best_rate"]
    assert best["within_noise"]
    common = compared.common[compared.common["metric"] == "training.final_loss"]
    shown = common.set_index("level_2")["within_noise"]
    assert shown.to_dict() == {"0.0003": True, "0.001": False, "0.003": False}
    estimate = common.set_index("level_2").loc["0.001", "estimate"]
    assert best["low"] < estimate < best["high"]
    assert found(frames) == []


def with_noise(frames: Frames, noise: Callable[[Levels, int], float]) -> Frames:
    """The same run with more noise on its losses."""
    levels = frames.cells.set_index("cell")
    more = [
        noise(levels.loc[cell], seed) if "loss" in metric and "initial" not in metric else 0.0
        for cell, seed, metric in zip(
            frames.metrics["cell"], frames.metrics["seed"], frames.metrics["metric"], strict=True
        )
    ]
    return replace(frames, metrics=frames.metrics.assign(value=frames.metrics["value"] + more))
