"""The section on training, and the page and tables that it is in."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from reports import Frames, write
from reports.page import render
from reports.training.compared import compare
from reports.training.names import LEARNING_RATE
from reports.training.section import READ_RATES, TrainingSection, training_section
from reports.training.tables import training_tables
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_training import TRAINING_GRID, training_run
from tests.reports.test_page import Page

DATE = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)
TABLES = {
    "best_rates", "effects_at_best_rate", "effects_at_common_rates", "interactions_at_best_rate",
    "predictions", "survival",
}  # fmt: skip


def section(frames: Frames) -> TrainingSection | None:
    found = compare(frames)
    return training_section(frames, found)


@pytest.fixture(scope="module")
def frames() -> Frames:
    grid = {**TRAINING_GRID, "norm": ["layernorm", "rmsnorm"]}
    lost = [({"placement": "post", "training.learning_rate": "0.003"}, 0)]
    return training_run(grid, initialization=True, diverged=lost)


@pytest.fixture(scope="module")
def made(frames: Frames) -> TrainingSection:
    found = section(frames)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def folder(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(frames, tmp_path_factory.mktemp("run"), date=DATE).parent


def test_it_has_every_table(made: TrainingSection) -> None:
    for table in (made.survival, made.best_rates, made.effects, made.exploratory, made.common,
                  made.predictions):  # fmt: skip
        assert table is not None
        assert table.rows
    assert made.effects is not None
    assert made.effects.caption.startswith("Each at its own best learning rate. Effects of each")
    assert set(made.effects.groups) == {
        "training.final_loss_at_best_rate", "training.held_out_loss_at_best_rate",
    }  # fmt: skip
    assert "Parameters" in made.effects.columns
    assert made.exploratory is not None
    assert set(made.exploratory.groups) == {
        "training.best_learning_rate", "training.learning_rate_sensitivity",
    }  # fmt: skip
    assert made.notes[0] == READ_RATES


def test_its_findings_begin_with_how_trials_ended_and_end_with_what_was_foretold(
    made: TrainingSection,
) -> None:
    said = [one.text for one in made.findings]
    assert said[0].startswith("training: ")
    assert " trials learnt, " in said[0]
    assert any(text.startswith("Each at its own best learning rate, ") for text in said)
    assert said[-2].startswith("training: of 4 metrics of the initial model ")
    assert "this grid alone" in said[-2]


def test_the_page_has_it_with_its_place_in_the_navigation(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    page = Page(text)
    headings = page.text["h2"]
    assert headings[headings.index("Training") - 1 :][:3] == ["Trade-offs", "Training", "Cells"]
    assert "#training" in [a.get("href") for a in page.named("a")]
    inside = text[text.index('<section id="training"') : text.index('<section id="cells"')]
    assert [h for h in page.text["h3"] if h in inside][:2] == ["How trials ended", "Learning rates"]
    assert len(page.named("caption")) == len(page.named("table"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert "tokens_<wbr>per_<wbr>second" in text  # in the conventions
    assert "metric, never compared" in page.text["td"]
    assert "metric, primary, in no trial" in page.text["td"]  # the accuracy of another task
    assert any("At its own best learning rate: " in cell for cell in page.text["td"])


def test_tables_beside_the_page(frames: Frames, folder: Path) -> None:
    tables = {path.stem: path for path in (folder / "tables").iterdir()}
    assert set(tables) > TABLES
    assert all(len(pd.read_csv(tables[name])) for name in TABLES)
    effects = pd.read_csv(tables["effects"])
    assert "training.tokens_per_second" not in set(effects["metric"])
    metrics = pd.read_csv(tables["metrics"])
    assert "training.tokens_per_second" in set(metrics["metric"])
    survival = pd.read_csv(tables["survival"])
    assert len(survival) == len(frames.cells)


@pytest.mark.parametrize(
    "run",
    [default_run(seeds=2),
     set_state(default_run(seeds=2), default_run(seeds=2).trials["seed"] == 1, "failed")],
)  # fmt: skip
def test_a_run_without_training_has_none_of_it(run: Frames, tmp_path: Path) -> None:
    assert section(run) is None
    text = write(run, tmp_path, date=DATE).read_text()
    assert "training" not in text
    assert "learning rate" not in text
    assert not {path.stem for path in (tmp_path / "tables").iterdir()} & TABLES


@pytest.mark.parametrize(
    ("grid", "notes"),
    [({"placement": ["pre", "post"]}, 1),
     ({"placement": ["pre", "post"], "training.learning_rate": ["0.001"]}, 1), ({}, 0)],
    ids=["no rate", "one rate", "no factor"],
)  # fmt: skip
def test_without_rates_to_choose_from_there_are_survival_and_predictions_alone(
    grid: dict[str, list[str]], notes: int, tmp_path: Path
) -> None:
    frames = training_run(grid)
    made = section(frames)
    assert made is not None
    assert made.survival is not None
    assert [made.best_rates, made.effects, made.exploratory, made.common] == [None] * 4
    assert len(made.notes) == notes
    others = " of other factors" if LEARNING_RATE in grid else ""
    first = f"Losses of levels{others} are compared at one learning rate, 0.001. "
    assert all(note.startswith(first) for note in made.notes)
    write(frames, tmp_path, date=DATE)
    tables = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert tables & TABLES == {"survival", "predictions"}


@pytest.mark.parametrize("state", ["missing", "failed", "diverged", "skipped"])
def test_corners_give_a_section(state: str) -> None:
    rates = {"training.learning_rate": ["0.0003", "0.001"]}
    frames = training_run({"placement": ["pre", "post"], **rates}, seeds=2)
    for rows in (frames.trials["seed"] >= 0, frames.trials["cell"] == frames.cells["cell"].iloc[0]):
        run = set_state(frames, rows, state, message="m")
        made = section(run)
        assert made is not None
        if state == "skipped":  # one setting is at every rate, or none
            assert training_tables(compare(run)).keys() == {"survival", "predictions"}
            assert made.best_rates is None
            continue
        assert training_tables(compare(run)).keys() == TABLES
        assert made.best_rates is not None
        assert len(made.best_rates.rows) == 2


def test_a_run_in_which_nothing_was_trained_yet_gives_a_page() -> None:
    rates = {"training.learning_rate": ["0.0003", "0.001"]}
    frames = training_run({"placement": ["pre", "post"], **rates}, seeds=2)
    text = render(set_state(frames, frames.trials["seed"] >= 0, "missing"), date=DATE)
    assert "training: 8 trials not run." in text
    assert "no best learning rate is told of 2 of 2 settings" in text


def test_single_seeds_and_single_factors_are_told() -> None:
    one = section(training_run(seeds=1))
    assert one is not None
    assert one.effects is not None
    assert one.effects.caption.startswith(
        "Each at the learning rate that is best in its only seed, which is optimistic. Effects of"
    )
    alone = section(training_run({"training.learning_rate": ["0.0003", "0.001", "0.003"]}))
    assert alone is not None
    assert alone.effects is None
    assert alone.best_rates is not None
    assert [row[0] for row in alone.best_rates.rows] == ["every cell"]


def test_hostile_levels_are_text() -> None:
    evil = '"><script>alert(1)</script>'
    grid = {"norm": ["a", evil], "training.learning_rate": ["0.0003", "0.001"]}
    page = Page(render(training_run(grid, seeds=2), date=DATE))
    assert page.named("script") == [{}]  # the page's own
