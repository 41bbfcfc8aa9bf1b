"""The map of which settings learn: every trial is in it, whatever became of it."""

from typing import Any

import pytest
from matplotlib.patches import Rectangle

from reports import Frames
from reports.plots.survival import MAX_TOLD, describe_survival, plot_survival
from reports.plots.survival_fields import MAX_ROWS, SurvivalTable, survival_table
from reports.training.outcomes import STATES
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_training import TRAINING_GRID, training_run

RANKING = ["placement", "training.learning_rate", "initializer", "training.warmup_steps"]
POST_AT_MOST = {"placement": "post", "training.learning_rate": "0.003"}


@pytest.fixture(scope="module")
def frames() -> Frames:
    return training_run(noise=0, shared=0, diverged=[(POST_AT_MOST, 0)])


def made(frames: Frames, ranking: list[str]) -> SurvivalTable:
    table = survival_table(frames, ranking)
    assert table is not None
    return table


def field(table: SurvivalTable, setting: tuple[str, ...], rate: str) -> dict[Any, int]:
    """The trials of a field by state, those there are."""
    rows = table.fields
    here = (rows["row"] == table.settings.index(setting)) & (
        rows["column"] == table.rates.index(rate)
    )
    counts = rows.loc[here, list(STATES)].iloc[0]
    return {state: int(n) for state, n in counts.items() if n}


def test_fields_hold_what_was_planted(frames: Frames) -> None:
    table = made(frames, RANKING)
    assert table.row_factors == ("placement", "initializer", "training.warmup_steps")
    assert table.rates == ("0.0003", "0.001", "0.003")
    assert len(table.settings) == 8
    assert field(table, ("pre", "normal", "0"), "0.003") == {"learnt": 3}
    assert field(table, ("post", "normal", "0"), "0.001") == {"stalled": 3}
    assert field(table, ("post", "normal", "50"), "0.001") == {"learnt": 3}
    assert field(table, ("post", "xavier", "50"), "0.003") == {"stalled": 2, "diverged": 1}


def test_no_trial_is_dropped(frames: Frames) -> None:
    trials, cells = frames.trials, frames.cells["cell"]
    run = frames
    for i, state in enumerate(["failed", "crashed", "timeout", "missing", "skipped"]):
        run = set_state(run, (trials["cell"] == cells.iloc[i]) & (trials["seed"] == 1), state)
    table = made(run, RANKING)
    assert table.counts.to_dict() == {
        "learnt": 46, "stalled": 17, "diverged": 4, "failed": 3, "not run": 1, "skipped": 1,
    }  # fmt: skip
    assert field(table, ("pre", "normal", "0"), "0.0003") == {"learnt": 2, "failed": 1}
    figure = plot_survival(table)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(STATES)


def test_rows_and_columns_are_in_order_whatever_the_grid_s() -> None:
    grid = dict(reversed(TRAINING_GRID.items()))
    grid["training.learning_rate"] = ["0.003", "0.0003", "0.001"]
    table = made(training_run(grid, seeds=1), RANKING)
    assert table.rates == ("0.0003", "0.001", "0.003")
    assert table.settings[:3] == (
        ("pre", "normal", "0"), ("pre", "normal", "50"), ("pre", "xavier", "0"),
    )  # fmt: skip


def test_a_mixed_field_is_split_by_its_shares(frames: Frames) -> None:
    table = made(frames, RANKING)
    figure = plot_survival(table)
    (axes,) = figure.axes
    fields = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(fields) == 24 + 4
    row = table.settings.index(("post", "xavier", "50"))
    widths = [
        patch.get_width() for patch in fields if patch.get_x() > 2 and int(patch.get_y()) == row
    ]
    assert widths[0] / widths[1] == pytest.approx(2)
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("3/3") == 20
    assert texts.count("2/3") == 4
    assert "learning rate" in texts


def test_marks_tell_states_apart_without_colour(frames: Frames) -> None:
    (axes,) = plot_survival(made(frames, RANKING)).axes
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    looks = {(str(line.get_marker()), str(line.get_markerfacecolor())) for line in marks}
    assert len(looks) == 3
    assert {marker for marker, _ in looks} == {"o", "x"}


def test_above_forty_rows_the_factors_that_matter_least_are_taken_together() -> None:
    grid = {
        "norm": [f"norm {i}" for i in range(12)],
        "bias": ["true", "false"],
        "placement": ["pre", "post"],
        "training.learning_rate": ["0.0003", "0.001"],
    }
    frames = training_run(grid, seeds=1)
    table = made(frames, ["placement", "norm", "training.learning_rate", "bias"])
    assert len(table.settings) == 24 <= MAX_ROWS
    assert (table.row_factors, table.over) == (("placement", "norm"), ("bias",))
    assert table.counts.sum() == 96
    alt, caption = describe_survival(table)
    assert caption == (
        "How each training ended, by placement and norm (rows) and training.learning_rate "
        "(columns): 72 trials learnt, 24 stalled. k/n: k of a field's n trials; a field whose "
        "trials do not all end alike is split by their shares (0 of 48 fields). A field goes over "
        "all levels of bias, which matter less."
    )
    assert alt.endswith(f"{24 - MAX_TOLD} more settings follow.")


def test_what_is_shown_in_words(frames: Frames) -> None:
    alt, caption = describe_survival(made(frames, RANKING[:2]))
    assert alt == (
        "Map of how trainings ended: 51 trials learnt, 17 stalled, 4 diverged. Learnt of all, at "
        "0.0003, 0.001 and 0.003: pre: 12/12, 12/12, 12/12; post: 12/12, 3/12, 0/12."
    )
    assert caption == (
        "How each training ended, by placement (rows) and training.learning_rate (columns): 51 "
        "trials learnt, 17 stalled, 4 diverged. k/n: k of a field's n trials; a field whose trials "
        "do not all end alike is split by their shares (2 of 6 fields)."
    )


def test_without_a_factor_there_is_one_field() -> None:
    table = made(training_run({"placement": ["post"]}, seeds=2), ["placement"])
    assert (table.settings, table.rates) == (((),), ("",))
    alt, _ = describe_survival(table)
    assert alt == "Map of how trainings ended: 2 trials stalled. Learnt of all: all settings: 0/2."
    assert [text.get_text() for text in plot_survival(table).axes[0].texts] == ["2/2", ""]


def test_names_that_are_too_long_are_told_apart() -> None:
    norms = [f"norm(number={i}, eps=1e-05, elementwise_affine=true, how=carefully)" for i in (1, 2)]
    grid = {"norm": norms, "training.learning_rate": ["0.0001", "0.0003", "0.001", "0.003", "0.01"]}
    table = made(training_run(grid, seeds=1, loss=lambda _: 2.7), ["norm"])
    texts = [text.get_text() for text in plot_survival(table).axes[0].texts]
    shown = [text for text in texts if text.startswith("norm(")]
    assert len(set(shown)) == 2
    assert max(map(len, shown)) < len(norms[0])


def test_a_run_that_trained_nothing_has_no_map() -> None:
    assert survival_table(default_run(seeds=1), ["norm"]) is None


def test_fields_are_whole_within_the_figure(frames: Frames) -> None:
    figure = plot_survival(made(frames, RANKING))
    place = figure.axes[0].get_position()
    assert 0 < place.x0 < place.x1 < 1
    assert 0 < place.y0 < place.y1 < 1
