"""CSVs that say what the run says, and tables for the page."""

import csv
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports import Frames, write_tables
from reports.files import write_text
from reports.interactions import INTERACTION_COLUMNS
from reports.panel import panel
from reports.tables import (
    FRAMES,
    WIN_COLUMNS,
    cell_table,
    level_table,
    loss_table,
)
from reports.training.compared import compare
from tests.reports.simulated import default_run, make_frames, set_state

TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}


@pytest.fixture(scope="module")
def frames() -> Frames:
    return default_run(seeds=2)


def test_every_frame_is_written_and_reads_back(frames: Frames, tmp_path: Path) -> None:
    paths = write_tables(frames, tmp_path / "tables")
    assert sorted(path.stem for path in paths) == sorted(
        [*FRAMES, "cautions", "effects", "interactions", "tradeoffs", "variance", "win_rates"]
    )
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == sorted(
        path.name for path in paths
    )  # nothing temporary is left
    for name in ("metrics", "profiles", "cells", "factors"):
        back = pd.read_csv(tmp_path / "tables" / f"{name}.csv", dtype={"cell": str})
        expected = getattr(frames, name)
        assert list(back.columns) == list(expected.columns)
        for column in expected:
            kind = str if column in ("norm", "bias") else None
            left = back[column].astype(kind).str.lower() if kind else back[column]
            assert left.to_list() == expected[column].to_list(), column


def test_what_was_made_of_the_frames_is_written(tmp_path: Path) -> None:
    values = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [9.0, 8.0]])
    frames = make_frames(TWO_BY_TWO, {"x": values, "y": -values})
    better = frames.metric_info.assign(better=["higher", "neither"])
    frames = replace(frames, metric_info=better)
    write_tables(frames, tmp_path)
    together = pd.read_csv(tmp_path / "interactions.csv")
    assert tuple(together.columns) == INTERACTION_COLUMNS
    assert together["estimate"].to_list() == [5.5, -5.5]
    shares = pd.read_csv(tmp_path / "variance.csv")
    total = 33.1875  # cells' means 1.5, 1.5, 3 and 8.5
    noise = 4 * 0.125**2  # of either factor by seeds, with one degree of freedom
    expected = [(4 * 2.125**2 - noise) / total] * 2
    assert shares.loc[shares["factor"] == "norm", "share"].to_list() == pytest.approx(expected)
    wins = pd.read_csv(tmp_path / "win_rates.csv")
    assert tuple(wins.columns) == WIN_COLUMNS
    assert wins[["level", "metric", "win_rate", "n_ranked"]].to_numpy().tolist() == [
        ["b", "x", 1.0, 4],
        ["2", "x", 0.75, 4],
    ]


def test_tables_that_are_computed_already_are_used(tmp_path: Path) -> None:
    frames = make_frames(TWO_BY_TWO, {"x": np.arange(8.0).reshape(4, 2)})
    found = compare(frames)
    other = replace(
        found,
        effects=found.effects.assign(estimate=7.0),
        interactions=found.interactions.assign(estimate=8.0),
        data=panel(make_frames(TWO_BY_TWO, {"x": np.ones((4, 2))})),
    )
    write_tables(frames, tmp_path, other)
    for name, column, value in (
        ("effects", "estimate", 7), ("interactions", "estimate", 8), ("variance", "share", np.nan),
    ):  # fmt: skip
        found = pd.read_csv(tmp_path / f"{name}.csv")[column]
        assert found.isna().all() if np.isnan(value) else found.eq(value).all()


@pytest.mark.parametrize("name", ["effects", "interactions", "variance", "win_rates"])
def test_a_run_without_factors_has_tables_without_rows(name: str, tmp_path: Path) -> None:
    write_tables(make_frames({}, {"x": [[1.0, 2.0]]}), tmp_path)
    lines = (tmp_path / f"{name}.csv").read_text().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("factor,")


def test_unknown_noise_is_nothing_and_known_is_true_or_false(tmp_path: Path) -> None:
    frames = make_frames(TWO_BY_TWO, {"x": [[1.0], [2.0], [3.0], [4.0]]})
    write_tables(frames, tmp_path)
    rows = list(csv.DictReader((tmp_path / "effects.csv").read_text().splitlines()))
    assert [(row["within_noise"], row["low"]) for row in rows] == [("", "NaN"), ("", "NaN")]
    info = frames.metric_info.assign(exact=True)
    write_tables(replace(frames, metric_info=info), tmp_path)
    rows = list(csv.DictReader((tmp_path / "effects.csv").read_text().splitlines()))
    assert {row["within_noise"] for row in rows} == {"false"}


def test_write_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "file.csv"
    write_text(path, "old")
    assert stat.S_IMODE(path.stat().st_mode) & 0o444  # readable like any other file

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in path.parent.iterdir()] == ["file.csv"]


def test_cell_table_is_set_against_the_baseline_cell() -> None:
    values = np.array([[1.0, 3.0], [4.0, 4.0], [5.0, 5.0], [8.0, 10.0]])
    table = cell_table(make_frames(TWO_BY_TWO, {"x": values}))
    assert table["mean"].to_list() == [2, 4, 5, 9]
    assert table["delta"].to_list() == [0, 2, 3, 7]
    assert table["baseline"].to_list() == [True, False, False, False]
    log = cell_table(make_frames(TWO_BY_TWO, {"x": values}, scale="log"))
    assert log["mean"].iloc[0] == pytest.approx(np.sqrt(3))
    assert log["delta"].iloc[1] == pytest.approx(4 / np.sqrt(3))


def test_cell_table_says_what_was_lost() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": np.ones((4, 2))})
    trials = frames.trials
    lost = set_state(
        frames, (trials["seed"] == 0) & (trials["cell"] == trials["cell"].iloc[0]), "failed"
    )
    row = cell_table(lost).iloc[0]
    assert (row["state"], row["n_seeds"], row["n_asked"]) == ("failed", 1, 2)


@pytest.mark.parametrize(
    ("state", "marks"), [("missing", ""), ("skipped", ""), ("done", "cancelled_probe")]
)
def test_cells_are_compared_over_the_seeds_both_have(state: str, marks: str) -> None:
    values = np.array([[1.0, 2, 3, 4, 100]] * 2)
    frames = make_frames({"norm": ["a", "b"]}, {"x": values})
    rows = (frames.trials["cell"] == frames.cells["cell"].iloc[1]) & (frames.trials["seed"] == 4)
    table = cell_table(set_state(frames, rows, state, marks=marks))
    assert table["delta"].to_list() == [0, 0]
    assert table["mean"].to_list() == [22, 2.5]
    # No seed in common.
    others = ~rows & (frames.trials["cell"] == frames.cells["cell"].iloc[1])
    first = frames.trials["seed"] == 4
    apart = set_state(
        set_state(frames, others, state, marks=marks), first & ~rows, state, marks=marks
    )
    assert np.isnan(cell_table(apart)["delta"].iloc[1])


def test_nothing_is_compared_with_survivors() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": np.arange(8.0).reshape(4, 2)})
    base = (frames.trials["cell"] == frames.cells["cell"].iloc[0]) & (frames.trials["seed"] == 0)
    assert cell_table(set_state(frames, base, "diverged"))["delta"].isna().all()


def test_level_table_averages_cells(frames: Frames) -> None:
    table = level_table(frames, ["parameters.total"]).set_index(["factor", "level"])
    totals = frames.metrics[frames.metrics["metric"] == "parameters.total"].merge(frames.cells)
    expected = totals.groupby("attention")["value"].mean()
    found = table.loc["attention"]["parameters.total"].to_dict()
    assert found == pytest.approx(expected.to_dict())
    assert table["n_cells"].to_list() == [36, 36, 24, 24, 24, 24, 24, 24, 36, 36, 36, 36]
    assert table["baseline"].sum() == 5


def test_losses_are_grouped_by_message(frames: Frames) -> None:
    assert loss_table(frames).empty
    first = frames.cells["cell"].iloc[0]
    gradient = frames.trials["measure"] == "gradient_flow"
    lost = set_state(frames, gradient & (frames.trials["seed"] == 0), "failed", message="boom")
    lost = set_state(lost, gradient & (lost.trials["cell"] == first), "diverged", message="NaN")
    lost = set_state(lost, ~gradient & (lost.trials["seed"] == 1), "missing")
    table = loss_table(lost)
    assert table[["state", "message", "n", "n_cells"]].to_numpy().tolist() == [
        ["failed", "boom", 71, 71],
        ["diverged", "NaN", 2, 1],
    ]
