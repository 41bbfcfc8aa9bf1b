"""What a run is written as: what was asked for, and nothing else."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from reports import Frames, write
from reports.formats import DEFAULT_FORMATS, tables_of, write_formats
from reports.training.compared import compare
from tests.reports.simulated import make_frames
from tests.reports.simulated_training import training_run

DATE = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)


def small() -> Frames:
    values = np.random.default_rng(0).normal(5, 1, (2, 3))
    return make_frames({"norm": ["a", "b"]}, {"x": values})


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_default_is_what_a_run_writes(tmp_path: Path) -> None:
    write(small(), tmp_path / "a", DATE)
    written = write_formats(small(), tmp_path / "b", DEFAULT_FORMATS, DATE)
    assert "tables/effects.csv" in content(tmp_path / "a")
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert written == [tmp_path / "b" / "report.html", tmp_path / "b" / "tables"]


@pytest.mark.parametrize(
    ("format_", "name"),
    [("html", "report.html"), ("markdown", "report.md"), ("latex", "report.tex")],
)
def test_one_format_is_one_file_and_the_same_again(format_: str, name: str, tmp_path: Path) -> None:
    assert write_formats(small(), tmp_path, [format_], DATE) == [tmp_path / name]
    first = content(tmp_path)
    assert list(first) == [name]
    write_formats(small(), tmp_path, [format_], DATE)
    assert content(tmp_path) == first


def test_tables_alone_make_no_page(tmp_path: Path) -> None:
    assert write_formats(small(), tmp_path, ["csv"]) == [tmp_path / "tables"]
    assert {Path(name).suffix for name in content(tmp_path)} == {".csv"}


def test_an_unknown_format_writes_nothing(tmp_path: Path) -> None:
    expected = r"^formats: expected some of html, markdown, latex, csv, parquet, got \['pdf'\]$"
    with pytest.raises(ValueError, match=expected):
        write_formats(small(), tmp_path, ["html", "pdf"])
    assert content(tmp_path) == {}


def test_a_run_over_learning_rates_has_tables_of_both_comparisons() -> None:
    frames = training_run()
    tables = tables_of(frames, compare(frames))
    captions = [table.caption for table in tables]
    own = [caption for caption in captions if "each at its own best learning rate" in caption]
    common = [caption for caption in captions if "Trainings are averaged over" in caption]
    assert own
    assert common
    assert not set(own) & set(common)
    assert len({table.label for table in tables}) == len(tables)
