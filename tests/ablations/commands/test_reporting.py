"""Reports written again."""

import subprocess
import sys

import pytest

from tests.ablations.command_line import SMALL, ablate


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
    status, out, err = inline("report", tmp_path, "--format", "parquet")
    assert (status, out) == (3, "")
    assert err == "--format parquet needs the package pyarrow: pip install 'ablations[parquet]'\n"


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


def test_report_of_a_folder_without_a_run(inline, tmp_path):
    status, out, err = inline("report", tmp_path)
    assert (status, out) == (3, "")
    assert len(err.splitlines()) == 1
