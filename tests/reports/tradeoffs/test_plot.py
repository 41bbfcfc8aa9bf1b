"""What the figure of trade-offs draws."""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from reports import Frames
from reports.plots.style import LIGHT, level_styles
from reports.plots.tradeoffs import plot_tradeoffs, shown_factor
from reports.training.compared import compare
from tests.reports.simulated import make_frames
from tests.reports.simulated_training import training_run


def drawn(frames: Frames, hue: str) -> Figure:
    loss, _ = compare(frames).tradeoffs
    return plot_tradeoffs(loss, frames, hue)


def test_levels_look_as_everywhere_and_the_front_is_joined() -> None:
    frames = training_run(initialization=True)
    (axes,) = drawn(frames, "placement").axes
    look = level_styles(frames)["placement", "post"]
    (post,) = [
        line for line in axes.lines
        if line.get_marker() == look.marker and line.get_markerfacecolor() != "none"
    ]  # fmt: skip
    assert post.get_markerfacecolor() == LIGHT.colors[look.color]
    (front,) = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    assert np.asarray(front.get_xdata()).tolist() == [2_449_744.0]
    assert axes.get_ylabel() == "training.final_loss_at_best_rate\n(nats)"
    assert axes.get_xlabel() == "parameters.total\n(parameters)"


def test_lost_cells_lie_beyond_every_mean() -> None:
    frames = training_run(initialization=True, diverged=[({"placement": "post"}, 0)])
    figure = drawn(frames, "placement")
    (axes,) = figure.axes
    (edge,) = [line for line in axes.lines if line.get_linestyle() == ":"]
    means = [
        y for line in axes.lines if line.get_marker() in "os" for y in np.asarray(line.get_ydata())
    ]
    assert max(means) < np.asarray(edge.get_ydata())[0] < axes.get_ylim()[1]
    (lost,) = [line for line in axes.lines if line.get_marker() == "x"]
    assert len(np.asarray(lost.get_xdata())) == 2
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "lost or marked" in said
    assert "baseline" in said


def test_the_factor_of_the_colours_varies_and_has_looks_for_all_its_levels() -> None:
    loss, _ = compare(training_run(initialization=True)).tradeoffs
    ranking = ["training.warmup_steps", "initializer", "placement"]
    assert shown_factor(loss, ranking) == "initializer"
    assert shown_factor(loss, ["training.warmup_steps"]) == ""


def test_levels_whose_names_are_long_and_alike_are_told_apart() -> None:
    levels = [f"attention(heads={n}, {'option=value, ' * 14}end)" for n in range(3)]
    frames = make_frames(
        {"attention": levels},
        {
            "parameters.total": np.repeat(np.arange(1.0, 4)[:, None], 2, axis=1),
            "training.final_loss": np.random.default_rng(0).normal(size=(3, 2)),
        },
    )
    info = frames.metric_info.assign(better="lower")
    ((one,),) = compare(replace(frames, metric_info=info)).tradeoffs
    figure = plot_tradeoffs([one], frames, "attention")
    said = [text.get_text() for text in figure.legends[0].get_texts()][:3]
    assert len(set(said)) == 3
    assert all(len(name) <= 24 and f"heads={n}" in name for n, name in enumerate(said))
