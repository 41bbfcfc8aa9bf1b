"""Losses by step: every trial that ran is drawn, and no mean is one of survivors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reports import Frames
from reports.plots.loss_curves import MAX_BANDS, describe_losses, plot_losses
from reports.plots.loss_lines import MAX_POINTS, LossLines, loss_lines
from reports.training.names import FREQUENCY_LOSS, LOSS_CURVE
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_training import EVERY, N_STEPS, training_run

GRID = {
    "placement": ["pre", "post"],
    "initializer": ["normal", "xavier"],
    "training.learning_rate": ["0.0003", "0.003"],
}
RANKING = ["placement", "training.learning_rate", "initializer"]
AT_MOST = {"training.learning_rate": "0.003"}
PRE_AT_MOST = AT_MOST | {"placement": "pre", "initializer": "normal"}
END = N_STEPS - EVERY
LAST_FINITE = N_STEPS // 3 - EVERY


@pytest.fixture(scope="module")
def frames() -> Frames:
    return training_run(GRID, noise=0.001, shared=0)


@pytest.fixture(scope="module")
def wild() -> Frames:
    return training_run(GRID, noise=0.001, shared=0, diverged=[(PRE_AT_MOST, 1)])


def made(frames: Frames, ranking: list[str] = RANKING) -> LossLines:
    table = loss_lines(frames, ranking)
    assert table is not None
    return table


def curve(frames: Frames, cell: int, seed: int | None = None) -> pd.DataFrame:
    """The recorded losses of a cell, or of one of its trials, by step (rows) and seed."""
    rows = frames.profiles[
        (frames.profiles["profile"] == LOSS_CURVE)
        & (frames.profiles["cell"] == frames.cells["cell"].iloc[cell])
    ]
    rows = rows if seed is None else rows[rows["seed"] == seed]
    return rows.pivot(index="step", columns="seed", values="value")


def drawn_lines(axes: Axes) -> list[Line2D]:
    """Those that are no mark of an end."""
    return [line for line in axes.lines if len(np.asarray(line.get_xdata())) > 1]


def test_a_line_is_the_mean_over_the_seeds_and_its_band_their_range(frames: Frames) -> None:
    table = made(frames)
    assert table.arrangement.told == {
        "row": "placement", "column": "training.learning_rate", "hue": "initializer",
    }  # fmt: skip
    assert (table.rows, table.columns) == (("pre", "post"), ("0.0003", "0.003"))
    assert len(table.lines) == len(frames.cells)
    for line in table.lines.to_dict("records"):
        points = table.points[table.points["line"] == line["line"]]
        recorded = curve(frames, line["cell"])
        assert points["x"].to_list() == recorded.index.to_list()
        assert points["mean"].to_numpy() == pytest.approx(recorded.mean(axis=1).to_numpy())
        assert points["low"].to_numpy() == pytest.approx(recorded.min(axis=1).to_numpy())
        assert points["high"].to_numpy() == pytest.approx(recorded.max(axis=1).to_numpy())
        assert (line["n"], line["seed"], line["end"]) == (3, -1, END)
        assert line["last"] == pytest.approx(recorded.iloc[-1].mean())
    assert table.lines.set_index(["row", "hue", "column"])["state"].to_dict() == {
        ("pre", "normal", "0.0003"): "learnt",
        ("pre", "normal", "0.003"): "learnt",
        ("pre", "xavier", "0.0003"): "learnt",
        ("pre", "xavier", "0.003"): "learnt",
        ("post", "normal", "0.0003"): "learnt",
        ("post", "normal", "0.003"): "stalled",
        ("post", "xavier", "0.0003"): "learnt",
        ("post", "xavier", "0.003"): "stalled",
    }


def test_after_a_trial_diverged_its_cell_has_no_mean(wild: Frames) -> None:
    table = made(wild)
    apart = table.lines[table.lines["seed"] >= 0].set_index("seed")
    assert apart["state"].to_dict() == {0: "learnt", 1: "diverged", 2: "learnt"}
    assert apart["end"].to_dict() == {0: END, 1: LAST_FINITE, 2: END}
    assert (table.n_apart, len(table.lines)) == (1, 7 + 3)
    for seed, line in apart["line"].items():
        points = table.points[table.points["line"] == line]
        recorded = curve(wild, int(apart.loc[seed, "cell"]), int(str(seed)))
        assert points["mean"].to_list() == pytest.approx(recorded.iloc[:, 0].to_list())


@pytest.mark.parametrize("state", ["failed", "missing"])
def test_where_a_trial_is_missing_there_is_no_mean_either(frames: Frames, state: str) -> None:
    here = (frames.trials["cell"] == frames.cells["cell"].iloc[0]) & (frames.trials["seed"] == 1)
    table = made(set_state(frames, here, state))
    assert table.lines.loc[table.lines["seed"] >= 0, "seed"].to_list() == [0, 2]
    assert describe_losses(table)[1].endswith(" 1 trial that failed or did not run: no line.")
    skipped = made(set_state(frames, here, "skipped"))
    assert (skipped.lines["seed"] == -1).all()
    assert skipped.lines["n"].to_list() == [2, *[3] * 7]


def test_trials_that_end_apart_are_drawn_apart() -> None:
    frames = training_run({"placement": ["pre", "post"]}, noise=0)
    metrics = frames.metrics.copy()
    first = (metrics["cell"] == frames.cells["cell"].iloc[0]) & (metrics["seed"] == 0)
    metrics.loc[first & (metrics["metric"] == "training.learnt"), "value"] = 0.0
    metrics.loc[first & (metrics["metric"] == "training.stalled"), "value"] = 1.0
    table = made(replace(frames, metrics=metrics), ["placement"])
    assert table.lines["state"].to_list() == ["stalled", "learnt", "learnt", "stalled"]
    assert table.lines["n"].to_list() == [1, 1, 1, 3]


def test_diverged_and_stalled_lines_are_told_by_their_looks(wild: Frames) -> None:
    figure = plot_losses(made(wild), wild)
    crosses = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "x"]
    assert [np.asarray(cross.get_xdata()).tolist() for cross in crosses] == [[LAST_FINITE]]
    dashed = [axes for axes in figure.axes for line in drawn_lines(axes) if line.is_dashed()]
    assert len(dashed) == 2 + 1
    labels = [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]
    assert labels == [["normal", "xavier"], ["learnt", "stalled", "diverged"]]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_values_that_are_not_finite_end_a_curve(wild: Frames) -> None:
    profiles = wild.profiles.copy()
    lost = wild.trials.loc[wild.trials["state"] == "diverged", "cell"].iloc[0]
    here = profiles["profile"].eq(LOSS_CURVE) & (profiles["cell"] == lost) & (profiles["seed"] == 1)
    profiles.loc[profiles[here & (profiles["step"] == 20)].index, "value"] = np.inf
    lines = made(replace(wild, profiles=profiles)).lines
    assert lines.loc[lines["state"] == "diverged", "end"].to_list() == [15]


def test_a_trial_that_diverged_at_once_has_a_mark_and_no_line(wild: Frames) -> None:
    lost = wild.trials.loc[wild.trials["state"] == "diverged", "cell"].iloc[0]
    gone = (wild.profiles["cell"] == lost) & (wild.profiles["seed"] == 1)
    run = replace(wild, profiles=wild.profiles[~gone])
    table = made(run)
    assert table.lines.loc[table.lines["state"] == "diverged", "end"].isna().all()
    figure = plot_losses(table, run)
    crosses = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "x"]
    (top,) = {axes.get_ylim()[1] for axes in figure.axes}
    assert [cross.get_xydata()[0].tolist() for cross in crosses] == [[0, top]]  # type: ignore[index]
    alt, caption = describe_losses(table)
    assert "1 trial diverged before any, × at step 0." in caption
    assert "normal, pre, 0.003, seed 1: diverged before any finite loss" in alt


def test_a_trial_that_left_no_curve_is_counted(frames: Frames) -> None:
    gone = (frames.profiles["cell"] == frames.cells["cell"].iloc[0]) & (
        frames.profiles["seed"] == 1
    )
    table = made(replace(frames, profiles=frames.profiles[~gone]))
    assert table.n_undrawn == 1
    assert table.lines["n"].to_list() == [1, 1, *[3] * 7]
    assert describe_losses(table)[1].endswith(" 1 trial left no curve.")


def test_what_shoots_up_is_cut_off_and_said(wild: Frames) -> None:
    profiles = wild.profiles.copy()
    lost = wild.trials.loc[wild.trials["state"] == "diverged", "cell"].iloc[0]
    here = profiles["profile"].eq(LOSS_CURVE) & (profiles["cell"] == lost) & (profiles["seed"] == 1)
    profiles.loc[profiles[here & (profiles["step"] == LAST_FINITE)].index, "value"] = 1e6
    run = replace(wild, profiles=profiles)
    table = made(run)
    figure = plot_losses(table, run)
    top = figure.axes[0].get_ylim()[1]
    assert top < 8
    crosses = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "x"]
    assert [cross.get_xydata()[0].tolist() for cross in crosses] == [  # type: ignore[index]
        [LAST_FINITE, top]
    ]
    assert " 1 line cut off above 6." in describe_losses(table)[1]


def test_many_steps_become_few_points() -> None:
    frames = training_run({"placement": ["pre"]}, seeds=1)
    steps = np.arange(1000)
    rows = frames.profiles.iloc[:1].loc[[0] * len(steps)]
    loss = rows.assign(profile=LOSS_CURVE, step=steps, value=5 - steps / 400)
    table = made(replace(frames, profiles=loss.reset_index(drop=True)), ["placement"])
    assert table.n_averaged == 17
    assert len(table.points) == 59 <= MAX_POINTS
    assert table.points["x"].iloc[0] == 8
    assert table.points["mean"].to_numpy() == pytest.approx(5 - table.points["x"] / 400)
    assert " Each point is the mean over 17 recorded steps." in describe_losses(table)[1]


@pytest.mark.parametrize(
    ("factors", "told"),
    [
        ({"norm": 2}, {"hue": "norm"}),
        ({"norm": 2, "bias": 2}, {"column": "norm", "hue": "bias"}),
        ({"norm": 2, "bias": 2, "placement": 2}, {"row": "norm", "column": "bias",
                                                  "hue": "placement"}),
        ({"norm": 9, "bias": 2}, {"column": "bias", "hue": "norm"}),
    ],
)  # fmt: skip
def test_without_learning_rates_other_factors_take_the_columns(
    factors: dict[str, int], told: dict[str, str]
) -> None:
    grid = {name: [f"{name} {i}" for i in range(n)] for name, n in factors.items()}
    frames = training_run(grid, seeds=1)
    table = made(frames, list(grid))
    assert table.arrangement.told == told
    assert len(table.lines) == len(frames.cells)


def test_with_one_other_factor_its_levels_share_the_panels_of_the_rates() -> None:
    grid = {name: GRID[name] for name in ("placement", "training.learning_rate")}
    frames = training_run(grid, seeds=1)
    table = made(frames, RANKING[:2])
    assert table.arrangement.told == {"column": "training.learning_rate", "hue": "placement"}
    figure = plot_losses(table, frames)
    assert [axes.get_title() for axes in figure.axes] == ["0.0003", "0.003"]


def test_many_lines_are_thin_and_what_they_differ_in_is_said() -> None:
    grid = GRID | {"norm": [f"norm {i}" for i in range(6)]}
    frames = training_run(grid, seeds=2, noise=0)
    table = made(frames, [*RANKING, "norm"])
    assert table.lines.groupby(["row", "column"]).size().to_list() == [12] * 4
    assert MAX_BANDS < 12
    figure = plot_losses(table, frames)
    assert {line.get_linewidth() for axes in figure.axes for line in drawn_lines(axes)} == {0.9}
    assert not any(axes.collections for axes in figure.axes)
    _, caption = describe_losses(table)
    assert "A line is the mean over a cell's seeds. Dashed" in caption
    assert " Lines of one colour differ in norm." in caption


def test_what_knowing_frequencies_costs_is_a_line_where_it_is_known(frames: Frames) -> None:
    known = frames.metrics[frames.metrics["metric"] == "training.mean_loss"]
    info = frames.metric_info[frames.metric_info["metric"] == "training.mean_loss"]
    run = replace(
        frames,
        metrics=pd.concat([frames.metrics, known.assign(metric=FREQUENCY_LOSS, value=3.261)]),
        metric_info=pd.concat([frames.metric_info, info.assign(metric=FREQUENCY_LOSS)]),
    )
    table = made(run)
    assert list(table.frequencies.values()) == pytest.approx([3.261] * 4)
    figure = plot_losses(table, run)
    levels = [line for axes in figure.axes for line in axes.lines
              if np.asarray(line.get_ydata()).tolist() == [pytest.approx(3.261)] * 2]  # fmt: skip
    assert len(levels) == 4
    assert "Thin line: what knowing frequencies alone costs." in describe_losses(table)[1]
    assert made(frames).frequencies == {}


def test_what_is_shown_in_words() -> None:
    grid = {name: GRID[name] for name in ("placement", "training.learning_rate")}
    lost = [(AT_MOST | {"placement": "pre"}, 1)]
    table = made(training_run(grid, noise=0, shared=0, diverged=lost), RANKING[:2])
    alt, caption = describe_losses(table)
    ends = table.lines.set_index(["hue", "column", "seed"])["last"].map("{:.2f}".format)
    what = "training.loss (unit) by step, by training.learning_rate (columns) and placement"
    assert alt == (
        f"Line charts of {what} (colours). 8 trials learnt, 3 stalled, 1 diverged. pre, 0.0003: "
        f"learnt, {ends['pre', '0.0003', -1]} at step 145; pre, 0.003, seed 0: learnt, "
        f"{ends['pre', '0.003', 0]} at step 145; pre, 0.003, seed 1: diverged, "
        f"{ends['pre', '0.003', 1]} at step 45; pre, 0.003, seed 2: learnt, "
        f"{ends['pre', '0.003', 2]} at step 145; post, 0.0003: learnt, "
        f"{ends['post', '0.0003', -1]} at step 145; post, 0.003: stalled, "
        f"{ends['post', '0.003', -1]} at step 145."
    )
    assert caption == (
        f"{what} (colours): 8 trials learnt, 3 stalled, 1 diverged. A line is the mean over a "
        "cell's seeds, its band goes from their smallest to their largest. Where these do not all "
        "end alike, in 1 cell, each trial is a line, so that none is a mean of survivors. Dashed: "
        "stalled. ×: the last finite loss of a diverged trial. The axis is squeezed where it is "
        "shaded."
    )


def test_without_a_finite_loss_there_is_no_figure(frames: Frames) -> None:
    assert loss_lines(default_run(seeds=1), ["norm"]) is None
    assert loss_lines(replace(frames, profiles=frames.profiles.iloc[:0]), RANKING) is None
    lost = set_state(frames, frames.trials["seed"] >= 0, "failed")
    assert loss_lines(lost, RANKING) is None


def test_a_run_whose_trials_all_diverged_is_drawn() -> None:
    frames = training_run(GRID, seeds=1, diverged=[({}, 0)])
    table = made(frames)
    assert (table.lines["state"] == "diverged").all()
    figure = plot_losses(table, frames)
    crosses = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == 8
    assert {axes.get_yscale() for axes in figure.axes} == {"linear"}


def test_of_too_many_lines_those_are_taken_together_that_ended_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reports.plots.loss_lines.MAX_LINES", 8)
    grid = GRID | {"training.warmup_steps": ["0", "50"]}
    four = [(AT_MOST | {"placement": "pre", "initializer": "normal"}, seed) for seed in (0, 1)]
    frames = training_run(grid, noise=0.001, shared=0, diverged=four)
    ranking = [*RANKING, "training.warmup_steps"]
    table = made(frames, ranking)
    assert table.together
    found = table.lines.set_index(["row", "hue", "column", "state"])
    assert found["n"].to_dict() == {
        ("pre", "normal", "0.0003", "learnt"): 6,
        ("pre", "normal", "0.003", "diverged"): 1,
        ("pre", "normal", "0.003", "learnt"): 2,
        ("pre", "xavier", "0.0003", "learnt"): 6,
        ("pre", "xavier", "0.003", "learnt"): 6,
        ("post", "normal", "0.0003", "learnt"): 6,
        ("post", "normal", "0.003", "stalled"): 6,
        ("post", "xavier", "0.0003", "learnt"): 6,
        ("post", "xavier", "0.003", "stalled"): 6,
    }
    diverged = table.lines[table.lines["state"] == "diverged"]
    assert (len(diverged), table.n_left_out) == (3, 1)
    assert (diverged["cell"] >= 0).all()
    assert (diverged["seed"] >= 0).all()
    line = table.lines[table.lines["row"] == "post"].iloc[0]
    rows = [i for i, cell in frames.cells.iterrows()
            if (cell["placement"], cell["initializer"], cell["training.learning_rate"])
            == (line["row"], line["hue"], line["column"])]  # fmt: skip
    values = pd.concat([curve(frames, int(str(i))) for i in rows], axis=1)
    points = table.points[table.points["line"] == line["line"]]
    assert points["mean"].to_numpy() == pytest.approx(values.mean(axis=1).to_numpy())
    for share, column in ((0.1, "low"), (0.9, "high")):
        assert points[column].to_numpy() == pytest.approx(values.quantile(share, axis=1).to_numpy())
    alt, caption = describe_losses(table)
    assert "normal, pre, 0.0003, 6 trials: learnt, " in alt
    assert (
        ". There are too many to draw one by one. A line is the mean over the trials of a panel "
        "and colour that ended alike, 2 to 6 trials, its band goes from their 10th to their 90th "
        "percentile. A diverged trial is a line of its own. Dashed: stalled. ×: the last finite "
        "loss of a diverged trial."
    ) in caption
    assert caption.endswith(" 1 more diverged trial: no line.")
    plot_losses(table, frames)


def test_of_too_many_that_all_diverged_a_few_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.plots.loss_lines.MAX_LINES", 4)
    everywhere = [({}, seed) for seed in range(5)]
    frames = training_run({"placement": ["pre"]}, seeds=5, diverged=everywhere)
    table = made(frames, [])
    assert (table.together, len(table.lines), table.n_left_out) == (True, 3, 2)
    assert describe_losses(table)[1] == (
        "training.loss (unit) by step: 5 trials diverged. There are too many to draw one by one. A "
        "diverged trial is a line of its own. ×: the last finite loss of a diverged trial. 2 more "
        "diverged trials: no line."
    )
