"""The figures of a training: which there are, in which order, and that none drops a trial."""

from dataclasses import replace
from functools import partial

import pytest

from reports import Frames
from reports.effects import comparisons
from reports.plots.loss_lines import loss_lines
from reports.plots.rate_points import rates_table
from reports.plots.style import Drawing, Plot
from reports.plots.survival_fields import survival_table
from reports.training.figures import training_figures
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_training import TRAINING_GRID, training_run

RANKING = list(TRAINING_GRID)
AT_MOST = {"training.learning_rate": "0.003"}


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures with their words, but without the time that drawing takes."""

    def words(plot: Plot, **said: str) -> Drawing:
        return Drawing(light="", dark="", width=1, height=1, **said)

    monkeypatch.setattr("reports.training.figures.draw", words)


@pytest.fixture(scope="module")
def frames() -> Frames:
    return training_run(
        noise=0,
        diverged=[(AT_MOST, 0)],
        failed=[({"placement": "pre", "training.learning_rate": "0.001"}, 2)],
    )


def starts(frames: Frames) -> list[str]:
    """How the captions of the figures begin."""
    figures = training_figures(frames, comparisons(frames))
    return [" ".join(figure.caption.split()[:3]) for figure in figures]


MAP, RATES, LOSSES = "How each training", "training.final_loss (nats) by", "training.loss (unit) by"


def test_the_map_comes_first_then_rates_then_curves(frames: Frames, undrawn: None) -> None:
    assert starts(frames) == [MAP, RATES, LOSSES]


def test_what_has_nothing_to_show_is_left_out(frames: Frames, undrawn: None) -> None:
    assert starts(default_run(seeds=2)) == []
    assert starts(training_run({"placement": ["pre", "post"]})) == [MAP, LOSSES]
    assert starts(training_run(seeds=1, diverged=[({}, 0)])) == [MAP, LOSSES]
    uncurved = replace(frames, profiles=frames.profiles.iloc[:0])
    assert starts(uncurved) == [MAP, RATES]
    missing = set_state(frames, frames.trials["seed"] >= 0, "missing")
    assert starts(missing) == [MAP]


def test_every_figure_counts_all_trials(frames: Frames, undrawn: None) -> None:
    for figure in training_figures(frames, comparisons(frames)):
        assert "43 trials learnt, 17 stalled, 8 diverged, 4 failed" in figure.caption


def test_every_diverged_and_stalled_trial_is_in_the_table_of_every_figure(frames: Frames) -> None:
    fields = survival_table(frames, RANKING)
    rates = rates_table(frames, RANKING)
    curves = loss_lines(frames, RANKING)
    assert fields is not None
    assert rates is not None
    assert curves is not None
    for state, n in (("learnt", 43), ("stalled", 17), ("diverged", 8)):
        assert fields.fields[state].sum() == n
        assert rates.points[state].sum() == n
        lines = curves.lines[curves.lines["state"] == state]
        assert lines["n"].sum() == n


def test_the_factor_that_matters_most_makes_the_rows(undrawn: None) -> None:
    frames = training_run(
        {"norm": ["a", "b"], "placement": ["pre", "post"], "initializer": ["normal", "xavier"]},
        seeds=4,
        loss=lambda levels: 3.26 if levels["placement"] == "post" else 2.7,
    )
    survival, losses = training_figures(frames, comparisons(frames))
    assert "by placement, norm and initializer (rows)" in survival.caption
    assert "placement (rows)" in losses.caption


def test_figures_are_the_same_bytes_again_in_both_themes() -> None:
    frames = training_run(
        {"training.learning_rate": ["0.001", "0.003"]}, seeds=2, diverged=[(AT_MOST, 0)]
    )
    draw = partial(training_figures, frames, comparisons(frames))
    first, second = draw(), draw()
    assert first == second
    assert len(first) == 3
    assert all(drawing.light != drawing.dark for drawing in first)
