"""Losses by learning rate: no mean is one of survivors, and the best rate is told honestly."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames
from reports.plots.rate_points import RatesTable, rates_table
from reports.plots.rates import describe_rates, plot_rates
from reports.training.names import FINAL_LOSS, INITIAL_LOSS
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_training import INITIAL, LOSSES, training_run

GRID = {
    "placement": ["pre", "post"],
    "training.learning_rate": ["0.0003", "0.001", "0.003"],
    "initializer": ["normal", "xavier"],
}
RANKING = ["training.learning_rate", "placement", "initializer"]
AT_MOST = {"training.learning_rate": "0.003"}
PRE_AT_MOST = AT_MOST | {"placement": "pre", "initializer": "normal"}


@pytest.fixture(scope="module")
def frames() -> Frames:
    return training_run(GRID, noise=0, shared=0)


def made(frames: Frames, ranking: list[str] = RANKING) -> RatesTable:
    table = rates_table(frames, ranking)
    assert table is not None
    return table


def test_points_hold_what_was_planted(frames: Frames) -> None:
    table = made(frames)
    assert table.arrangement.told == {"hue": "placement", "column": "initializer"}
    points = table.points.set_index(["hue", "column", "rate"])
    for (rate, initializer), (pre, _, post, _) in LOSSES.items():
        assert points.loc[("pre", initializer, rate), "mean"] == pytest.approx(pre)
        assert points.loc[("post", initializer, rate), "mean"] == pytest.approx(post)
    assert (points["n"] == 3).all()
    assert points[["low", "high"]].to_numpy() == pytest.approx(points[["mean", "mean"]].to_numpy())
    assert points["stalled"].sum() == 4 * 3
    assert table.points["x"].to_list() == [0.0003, 0.001, 0.003] * 4


def test_the_best_rate_of_a_line_and_whether_it_is_the_last_one_tried(frames: Frames) -> None:
    best = made(frames).points
    best = best[best["best"]].set_index(["hue", "column"])[["rate", "edge"]]
    assert best.to_dict("index") == {
        ("pre", "normal"): {"rate": "0.0003", "edge": "lowest"},
        ("pre", "xavier"): {"rate": "0.0003", "edge": "lowest"},
        ("post", "normal"): {"rate": "0.0003", "edge": "lowest"},
        ("post", "xavier"): {"rate": "0.0003", "edge": "lowest"},
    }


def test_a_best_rate_between_others_has_no_edge() -> None:
    grid = {"training.learning_rate": ["0.003", "0.0003", "0.001"]}
    losses = {"0.0003": 2.8, "0.001": 2.6, "0.003": 2.7}
    run = training_run(grid, loss=lambda levels: losses[levels["training.learning_rate"]])
    table = made(run, ["training.learning_rate"])
    assert table.points["rate"].to_list() == ["0.0003", "0.001", "0.003"]
    assert table.points["best"].to_list() == [False, True, False]
    assert set(table.points["edge"]) == {""}


def test_a_rate_at_which_a_trial_diverged_is_not_better_than_one_at_which_none_did() -> None:
    grid = {"training.learning_rate": ["0.0003", "0.001", "0.003"]}
    losses = {"0.0003": 4.5, "0.001": 2.5, "0.003": 2.4}
    lost = [({"training.learning_rate": "0.001"}, 0)]
    lost += [({"training.learning_rate": "0.003"}, seed) for seed in range(3)]
    run = training_run(
        grid, diverged=lost, loss=lambda levels: losses[levels["training.learning_rate"]]
    )
    points = made(run, ["training.learning_rate"]).points
    assert points["mean"].idxmin() == 1
    assert points["best"].to_list() == [True, False, False]
    assert points["edge"].to_list() == ["lowest", "", ""]


def test_a_diverged_trial_counts_with_its_loss_at_initialization() -> None:
    frames = training_run(GRID, noise=0, shared=0, diverged=[(PRE_AT_MOST, 1)])
    table = made(frames)
    point = table.points.set_index(["hue", "column", "rate"]).loc[("pre", "normal", "0.003")]
    first = frames.metrics[frames.metrics["metric"] == INITIAL_LOSS].set_index(["cell", "seed"])
    cell = frames.trials.loc[frames.trials["state"] == "diverged", "cell"].iloc[0]
    cap = float(first.loc[(cell, 1), "value"])
    assert cap == pytest.approx(INITIAL, abs=0.05)
    assert point["cap"] == point["high"] == pytest.approx(cap)
    assert point["mean"] == pytest.approx((2 * LOSSES["0.003", "normal"][0] + cap) / 3)
    assert (point["n"], point["learnt"], point["diverged"]) == (3, 2, 1)


def test_a_loss_above_that_at_initialization_is_capped_too(frames: Frames) -> None:
    metrics = frames.metrics.copy()
    first = metrics.index[metrics["metric"] == FINAL_LOSS][0]
    metrics.loc[first, "value"] = 50.0
    table = made(replace(frames, metrics=metrics))
    assert table.n_capped == 1
    assert table.points["high"].max() == pytest.approx(INITIAL, abs=0.05)
    assert "1 trial ended above the loss at initialization without" in describe_rates(table)[1]


def test_an_unknown_loss_at_initialization_is_the_run_s_median() -> None:
    frames = training_run(GRID, diverged=[(PRE_AT_MOST, 1)])
    cell = frames.trials.loc[frames.trials["state"] == "diverged", "cell"].iloc[0]
    metrics = frames.metrics
    here = metrics["metric"] == INITIAL_LOSS
    lost = here & (metrics["cell"] == cell) & (metrics["seed"] == 1)
    median = float(metrics.loc[here & ~lost, "value"].median())
    for run in (
        replace(frames, metrics=metrics[~lost]),
        replace(frames, metrics=metrics.assign(value=metrics["value"].mask(lost, np.inf))),
    ):
        points = made(run).points
        assert points["cap"].dropna().to_list() == [pytest.approx(median)]
    assert rates_table(replace(frames, metrics=metrics[~here]), RANKING) is None


def test_a_line_that_lacks_a_trial_has_no_best_rate(frames: Frames) -> None:
    here = (frames.trials["cell"] == frames.cells["cell"].iloc[0]) & (frames.trials["seed"] == 1)
    for state in ("failed", "missing"):
        table = made(set_state(frames, here, state))
        lines = table.points.groupby(["hue", "column"])[["best", "n_lost"]].sum()
        assert lines.loc[("pre", "normal")].to_dict() == {"best": 0, "n_lost": 1}
        assert lines["best"].sum() == 3
        assert describe_rates(table)[1].endswith(
            "1 trial asked for that failed or did not run: the means are of the rest alone, and a "
            "line that lacks one has no best rate."
        )
    skipped = made(set_state(frames, here, "skipped"))
    assert skipped.points["best"].sum() == 4


def test_a_line_is_broken_where_nothing_ran(frames: Frames) -> None:
    middle = frames.cells["training.learning_rate"] == "0.001"
    gone = frames.trials["cell"].isin(frames.cells.loc[middle, "cell"])
    table = made(set_state(frames, gone, "failed"))
    line = plot_rates(table, frames).axes[0].lines[0]
    assert np.isnan(np.asarray(line.get_ydata(), dtype=float)).tolist() == [False, True, False]
    assert "nothing ran at 0.001" in describe_rates(table)[0]


def test_where_there_is_nothing_to_compare_there_is_no_figure(frames: Frames) -> None:
    assert rates_table(default_run(seeds=1), ["norm"]) is None
    assert rates_table(training_run({"placement": ["pre", "post"]}), ["placement"]) is None
    one = training_run({"training.learning_rate": ["0.001"]})
    assert rates_table(one, RANKING[:1]) is None
    assert rates_table(training_run(GRID, seeds=1, diverged=[({}, 0)]), RANKING) is None
    lost = set_state(frames, frames.trials["seed"] >= 0, "failed")
    assert rates_table(lost, RANKING) is None


def test_marks_tell_who_learnt_and_who_diverged() -> None:
    frames = training_run(GRID, diverged=[(AT_MOST, 0), (PRE_AT_MOST, 1), (PRE_AT_MOST, 2)])
    table = made(frames)
    figure = plot_rates(table, frames)
    panels = figure.axes
    assert [axes.get_title() for axes in panels] == ["normal", "xavier"]
    crosses = [line for axes in panels for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == 4
    assert all(float(np.asarray(line.get_ydata())[0]) > 5 for line in crosses)
    rings = [line for axes in panels for line in axes.lines if line.get_markersize() == 12]
    assert len(rings) == 4
    labels = [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]
    assert labels == [
        ["pre", "post"],
        ["all learnt", "some learnt", "none learnt", "diverged", "best rate", "lowest tried"],
    ]


def test_the_axis_is_squeezed_only_for_what_lies_far_above(frames: Frames) -> None:
    even = plot_rates(made(frames), frames).axes[0]
    assert even.get_yscale() == "linear"
    assert even.get_ylim()[1] < 4
    wild = training_run(GRID, diverged=[(AT_MOST, 0)])
    figure = plot_rates(made(wild), wild)
    assert {axes.get_yscale() for axes in figure.axes} == {"function"}
    low, high = figure.axes[0].get_ylim()
    assert low < 2.7
    assert high > INITIAL
    scale = figure.axes[0].transScale
    places = [float(scale.transform((0.001, loss))[1]) for loss in (low, 3.3, high)]
    assert (places[1] - places[0]) / (places[2] - places[0]) > 0.7


def test_levels_beyond_those_told_apart_are_drawn_muted() -> None:
    grid = {
        "norm": [f"norm {i}" for i in range(10)],
        "training.learning_rate": ["0.0003", "0.001"],
    }
    frames = training_run(grid, seeds=1)
    table = made(frames, ["norm"])
    figure = plot_rates(table, frames)
    names, _ = ([text.get_text() for text in legend.get_texts()] for legend in figure.legends)
    assert names == [*(f"norm {i}" for i in range(7)), "3 more levels"]
    lines = [line for line in figure.axes[0].lines if len(np.asarray(line.get_xdata())) == 2]
    assert len(lines) == 10
    ends = figure.axes[0].get_xlim()
    x = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in lines])
    assert ends[0] < x.min() < x.max() < ends[1]


def test_what_is_shown_in_words() -> None:
    grid = {name: GRID[name] for name in ("placement", "training.learning_rate")}
    frames = training_run(grid, noise=0, shared=0, diverged=[(AT_MOST | {"placement": "pre"}, 1)])
    alt, caption = describe_rates(made(frames, RANKING[:2]))
    assert alt == (
        "Line chart of the final loss by learning rate, by placement. pre: 2.74 at 0.0003, 3.15 at "
        "0.001, 3.99 at 0.003 (1 of 3 diverged), best at 0.0003; post: 2.70 at 0.0003, 3.27 at "
        "0.001, 3.28 at 0.003, best at 0.0003."
    )
    assert caption == (
        "training.final_loss (nats) by learning rate, by placement: means over seeds; bars: the "
        "smallest to the largest trial. 11 trials learnt, 6 stalled, 1 diverged. Ringed: the "
        "lowest mean among the rates at which the fewest diverged. × marks rates at which trials "
        "diverged, at their loss at initialization: that is what they count with, as the cap of "
        "arXiv:2309.14322. The axis is squeezed where it is shaded. The best rate of 2 "
        "of 2 lines is the lowest or the highest tried: a better one may lie beyond."
    )


def test_the_names_of_many_rates_are_turned_and_fit() -> None:
    rates = ["0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03"]
    grid = {"placement": ["pre", "post"], "training.learning_rate": rates,
            "activation": ["gelu", "silu", "swiglu", "relu"]}  # fmt: skip
    frames = training_run(grid, seeds=1, loss=lambda _: 2.7)
    figure = plot_rates(made(frames, ["placement", "activation"]), frames)
    labels = figure.axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == rates
    assert {label.get_rotation() for label in labels} == {90.0}
    few = plot_rates(made(frames, ["placement"]), frames).axes[0].get_xticklabels()
    assert {label.get_rotation() for label in few} == {0.0}
