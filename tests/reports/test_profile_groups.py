"""Which profiles are drawn alone, which together, and in which order."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.curves import curves
from reports.effects import comparisons
from reports.plots.style import Drawing, Plot
from reports.profile_figures import profile_figures
from reports.profile_groups import MAX_ALONE, MAX_GROUPS, MAX_TOGETHER, profile_groups
from tests.reports.simulated import default_run, make_frames
from tests.reports.simulated_measures import ROLES, measured_run
from tests.reports.simulated_training import training_run

SMALL = {"placement": ["pre", "post"], "initializer": ["normal", "xavier"]}


@pytest.fixture(scope="module")
def frames() -> Frames:
    return measured_run(SMALL, seeds=4)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures with their words, but without the time that drawing takes."""

    def words(plot: Plot, **said: str) -> Drawing:
        return Drawing(light="", dark="", width=1, height=1, **said)

    monkeypatch.setattr("reports.profile_figures.draw", words)


def declared(names: list[str], values: object = None) -> Frames:
    """A run of one measure `m` with these profiles, each of three blocks."""
    frames = make_frames({"f": ["a", "b"]}, {"m.x_ratio": np.ones((2, 2))})
    info = frames.metric_info
    rows = [info.assign(metric=name, form="profile", scale="log", primary=False) for name in names]
    value = [1.0, 2.0, 3.0] if values is None else values
    shape = pd.DataFrame({"axis": "depth", "position": range(3), "step": 0, "value": value})
    profiles = frames.trials[["cell", "seed"]].merge(pd.DataFrame({"profile": names}), how="cross")
    return replace(
        frames,
        metric_info=pd.concat([info, *rows], ignore_index=True),
        profiles=profiles.merge(shape, how="cross"),
    )


def test_groups_of_every_measure(frames: Frames) -> None:
    groups = profile_groups(frames, curves(frames))
    assert groups.alone == (
        "gradient_flow.sensitivity",
        "signal_propagation.stream_rms",
        "attention_map.entropy",
    )
    assert [group.names for group in groups.together] == [
        ("stream_gradient", "stream_rms"),
        ("attention_update", "feed_forward_update", "token_similarity"),
        ("largest_logit", "row_max"),
    ]
    assert [group.profiles[1] for group in groups.by_role] == [
        "gradient_flow.q_gradient_norm",
        "gradient_flow.q_gradient_rms",
    ]
    drawn_roles = tuple(role for role in ROLES if role != "gate")  # no gated cell here
    assert [group.names for group in groups.by_role] == [("block", *drawn_roles)] * 2
    assert groups.constant + groups.left_out == ()


def test_a_profile_tells_the_primary_metric_whose_name_it_begins() -> None:
    frames = declared(["m.other", "m.y", "m.xx", "m.x"])
    assert profile_groups(frames, curves(frames)).alone == ("m.x",)
    frames = declared(["m.other", "m.y"])
    assert profile_groups(frames, curves(frames)).alone == ("m.other",)


def test_sensitivity_comes_first() -> None:
    frames = declared(["m.x", "m.sensitivity"])
    frames = replace(frames, metric_info=frames.metric_info.assign(primary=True))
    groups = profile_groups(frames, curves(frames))
    assert groups.alone == ("m.sensitivity", "m.x")


def test_no_more_figures_than_a_reader_can_bear_and_every_profile_once() -> None:
    names = [f"m.p{i:03}" for i in range(MAX_TOGETHER * (MAX_GROUPS + 1) + 5)]
    frames = declared(names)
    groups = profile_groups(frames, curves(frames))
    assert len(groups.alone) <= MAX_ALONE
    assert len(groups.together) == MAX_GROUPS
    assert len(groups.left_out) == MAX_TOGETHER + 4
    drawn = [name for group in groups.together for name in group.profiles]
    assert sorted([*groups.alone, *drawn, *groups.left_out]) == names


def test_two_roles_are_no_group_of_their_own() -> None:
    frames = declared(["m.x", "m.q_gradient_norm", "m.k_gradient_norm"])
    groups = profile_groups(frames, curves(frames))
    assert groups.by_role == ()
    assert groups.together[0].names == ("q_gradient_norm", "k_gradient_norm")


def stepped(names: list[str], steps: Sequence[int], values: object = None) -> Frames:
    """`declared` with each profile taken at training steps."""
    frames = declared(names, values)
    taken = [frames.profiles.assign(step=step) for step in steps]
    return replace(frames, profiles=pd.concat(taken, ignore_index=True))


def test_a_profile_at_several_training_steps_is_a_figure_with_a_panel_a_step() -> None:
    frames = stepped(["m.y", "m.sensitivity"], [0, 50, 1500])
    groups = profile_groups(frames, curves(frames))
    assert groups.alone == groups.together == groups.left_out == ()
    assert [group.profiles[0] for group in groups.at_steps] == [
        "m.sensitivity at step 0",
        "m.y at step 0",
    ]
    assert groups.at_steps[0].names == ("step 0", "step 50", "step 1,500")


def test_of_very_many_steps_some_are_drawn_and_the_others_named() -> None:
    frames = stepped(["m.y"], range(0, 1000, 50))
    groups = profile_groups(frames, curves(frames))
    (group,) = groups.at_steps
    assert len(group.profiles) == MAX_TOGETHER
    assert (group.names[0], group.names[-1]) == ("step 0", "step 950")
    assert len(groups.left_out) == 20 - MAX_TOGETHER
    assert sorted([*group.profiles, *groups.left_out]) == sorted(curves(frames))


def test_more_profiles_at_steps_than_fit_are_named() -> None:
    frames = stepped([f"m.p{i}" for i in range(MAX_GROUPS + 1)], [0, 50])
    groups = profile_groups(frames, curves(frames))
    assert len(groups.at_steps) == MAX_GROUPS
    assert groups.left_out == ("m.p8 at step 0", "m.p8 at step 50")


def test_a_step_at_which_nothing_changes_stays_beside_the_others() -> None:
    frames = stepped(["m.y"], [0, 50])
    flat = frames.profiles["step"] == 0
    mixed = replace(
        frames, profiles=frames.profiles.assign(value=frames.profiles["value"].mask(flat, 2.0))
    )
    groups = profile_groups(mixed, curves(mixed))
    assert groups.constant == ()
    assert groups.at_steps[0].names == ("step 0", "step 50")
    even = stepped(["m.y"], [0, 50], values=[2.0, 2.0, 2.0])
    groups = profile_groups(even, curves(even))
    assert groups.at_steps == ()
    assert groups.constant == ("m.y at step 0", "m.y at step 50")


def test_steps_are_drawn_on_one_axis(undrawn: None) -> None:
    frames = stepped(["m.y"], [0, 50])
    frames = replace(
        frames,
        profiles=frames.profiles.assign(
            value=frames.profiles["value"] * (1 + frames.profiles["step"])
        ),
    )
    (drawing,) = profile_figures(frames, comparisons(frames)).shown
    assert drawing.alt == (
        "2 line charts of profiles of m.y at training steps by block, by f. step 0: a from 1 to "
        "3.00, b from 1 to 3.00; step 50: a from 51 to 153, b from 51 to 153."
    )
    assert drawing.caption == (
        "Profiles of m.y at training steps, by f: geometric mean over all other factors and seeds; "
        "bands: 10th to 90th percentile of those cells and seeds; n: trials. All panels have the "
        "same axis, so values compare."
    )


def test_the_loss_of_a_training_is_drawn_with_its_outcomes_alone() -> None:
    frames = training_run(seeds=1)
    groups = profile_groups(frames, curves(frames))
    drawn = [*groups.alone, *(name for group in groups.together for name in group.profiles)]
    assert sorted(drawn) == [
        "training.gradient_norm",
        "training.held_out_loss",
        "training.largest_attention_logit",
    ]
    assert "training.loss" not in groups.left_out + groups.constant


def test_what_is_the_same_all_along_is_named_and_not_drawn(undrawn: None) -> None:
    frames = declared(["m.flat"], values=[2.0, 2.0, 2.0])
    figures = profile_figures(frames, comparisons(frames))
    assert figures.shown + figures.by_role == []
    assert figures.note == (
        "The same all along in every trial, not drawn: m.flat. Every value is in "
        "tables/profiles.csv."
    )


def test_every_profile_is_drawn_or_named_sensitivity_first(undrawn: None) -> None:
    frames = default_run(seeds=3)
    figures = profile_figures(frames, comparisons(frames))
    assert [drawing.caption.split(":")[0] for drawing in figures.shown] == [
        "gradient_flow.sensitivity (rms · gradient norm)",
        "Profiles of gradient_flow, by placement",
    ]
    assert "post, gelu: from" in figures.shown[0].alt
    for name in ("stream_gradient", "stream_rms", "block_gradient_norm", "block_gradient_rms"):
        assert f"{name}: pre from" in figures.shown[1].alt
    assert "parameters.per_block" in figures.note


def test_raw_profiles_are_flagged_and_do_not_choose_the_factor(
    frames: Frames, undrawn: None
) -> None:
    figures = profile_figures(frames, comparisons(frames))
    flow = next(d for d in figures.shown if d.caption.startswith("Profiles of gradient_flow"))
    assert flow.warning.startswith(
        "gradient_flow.stream_gradient: sizes differ, so it is not evidence of flow under "
        "initializer = xavier (1"
    )
    assert "gradient_flow.stream_gradient is raw: where sizes (" in flow.caption
    assert ", by placement:" in flow.caption
    assert all(d.warning == "" for d in figures.shown if d is not flow)
