"""Reports written again."""

import subprocess
import sys

import pytest

from ablations.store import Store
from tests.ablations.command_line import SMALL, ablate
from tests.ablations.stores import PLAN


@pytest.mark.slow
def test_report_writes_the_page_again(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    assert inline("run", "grid.yaml", "--executor", "inline")[0] == 0
    page = tmp_path / "runs/small/report.html"
    page.unlink()
    status, out, err = inline("report", "runs/small")
    assert (status, out, err) == (0, "runs/small/report.html\n", "")
    assert page.is_file()


@pytest.mark.slow
def test_report_writes_what_is_asked_for_and_says_what(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    assert inline("run", "grid.yaml", "--executor", "inline")[0] == 0
    status, out, err = inline("report", "runs/small", "--format", "csv,latex,markdown")
    told = "".join(f"runs/small/{name}\n" for name in ("report.md", "report.tex", "tables"))
    assert (status, out, err) == (0, told, "")
    assert r"\toprule" in (tmp_path / "runs/small/report.tex").read_text(encoding="utf-8")
    assert (tmp_path / "runs/small/report.md").read_text(encoding="utf-8").startswith("# small\n")


def test_report_in_a_format_that_there_is_not(inline, tmp_path):
    status, out, err = inline("report", tmp_path, "--format", "pdf")
    assert (status, out) == (2, "")
    assert err == "--format: there is no 'pdf'; known: csv, html, latex, markdown, parquet\n"


def test_report_in_a_format_whose_library_is_missing(inline, tmp_path, monkeypatch):
    monkeypatch.setattr("ablations.asked_formats.find_spec", lambda name: None)
    with Store.create_or_open(tmp_path / "run") as store:
        store.begin(PLAN)
    told = (
        "--format parquet needs the package pyarrow: python -m pip install 'ablations[parquet]', "
        "or leave it out; nothing is written\n"
    )
    assert inline("report", "run", "--format", "html,parquet") == (3, "", told)
    assert not (tmp_path / "run" / "report.html").exists()
    assert inline("report", "run", "--format", "html") == (0, "run/report.html\n", "")


@pytest.mark.slow
def test_report_needs_no_torch(tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    ablate("run", "grid.yaml", "--executor", "inline", cwd=tmp_path, check=0)
    code = (
        "import sys; from ablations.cli import run_command_line\n"
        "assert run_command_line(['report', 'runs/small']) == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("command", "others"), [("report", []), ("report", ["--format", "csv"]), ("serve", [])]
)
def test_a_folder_without_a_run_is_a_wrong_request(inline, tmp_path, command, others):
    told = f"{tmp_path} holds no run: there is no results.sqlite\n"
    assert inline(command, tmp_path, *others) == (2, "", told)
    Store.create_or_open(tmp_path).close()
    told = f"{tmp_path}: nothing has been run in this directory yet\n"
    assert inline(command, tmp_path, *others) == (2, "", told)


def test_to_compare_with_a_folder_without_a_run_is_a_wrong_request(inline, tmp_path):
    with Store.create_or_open(tmp_path / "run") as store:
        store.begin(PLAN)
    told = f"{tmp_path} holds no run: there is no results.sqlite\n"
    assert inline("compare", tmp_path / "run", tmp_path) == (2, "", told)
    assert inline("compare", tmp_path, tmp_path / "run") == (2, "", told)


def test_a_damaged_run_is_no_wrong_request(inline, tmp_path):
    (tmp_path / "results.sqlite").write_bytes(b"nothing of the kind " * 500)
    told = f"{tmp_path}/results.sqlite is not an SQLite database\n"
    assert inline("report", tmp_path) == (3, "", told)


def test_a_page_that_cannot_be_written_is_named(inline, tmp_path):
    for name in ("one", "two"):
        with Store.create_or_open(tmp_path / name) as store:
            store.begin(PLAN)
    (tmp_path / "one" / "report.html").mkdir()
    told = "one/report.html cannot be written: Is a directory\n"
    assert inline("report", "one", "--format", "html") == (3, "", told)
    told = "two cannot be written: Is a directory\n"
    assert inline("compare", "one", "two", "--out", "two") == (3, "", told)


def test_a_file_of_the_system_is_named_without_the_number_of_its_error(inline):
    told = "nowhere/grid.yaml: No such file or directory\n"
    assert inline("new", "grid", "nowhere/grid.yaml") == (3, "", told)
