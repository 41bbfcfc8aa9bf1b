"""Scripts as people write them, each run as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablations.executors.errors import MissingMainGuard

ROOT = Path(__file__).parents[3]
RUN = """\
from ablations.executors.local import Local
from registry.contracts import Execution
from tests.ablations.executors import work

def main(function):
    for outcome in Local().execute(range(3), function, Execution(workers=2)):
        print(outcome.trial, outcome.state, outcome.result, outcome.message, flush=True)
"""


def python(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_script_without_a_guard_is_told_so_once(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(f"{RUN}\nmain(work.double)\n", encoding="utf-8")
    ended = python(str(script))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("Traceback") == 1
    *_, last = ended.stderr.splitlines()
    assert last == f"ablations.executors.errors.MissingMainGuard: {MissingMainGuard()}"
    assert ended.stderr.count("__main__") == ended.stderr.count("`if __name__ == ") == 1


def test_another_process_that_is_being_started_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    start = "import multiprocessing as m\nif __name__ == '__main__':\n    "
    start += "p = m.get_context('spawn').Process(target=print); p.start(); p.join()\nelse:\n    "
    script.write_text(f"{RUN}\n{start}main(work.double)\n", encoding="utf-8")
    ended = python(str(script))
    *_, last = ended.stderr.splitlines()
    assert last == f"ablations.executors.errors.MissingMainGuard: {MissingMainGuard()}"


GUARDED = f"{RUN}\nif __name__ == '__main__':\n    main(work.double)\n"
DONE = ["0 done 0 ", "1 done 2 ", "2 done 4 "]


def test_a_script_with_a_guard_runs(tmp_path: Path) -> None:
    script = tmp_path / "guarded.py"
    script.write_text(GUARDED, encoding="utf-8")
    ended = python(str(script))
    assert (sorted(ended.stdout.splitlines()), ended.stderr) == (DONE, "")


@pytest.mark.parametrize("how", ["command", "standard input"])
def test_a_main_module_without_a_file_runs(how: str) -> None:
    ended = python("-c", GUARDED) if how == "command" else python("-", text=GUARDED)
    assert (sorted(ended.stdout.splitlines()), ended.stderr) == (DONE, "")


def test_work_defined_where_workers_cannot_import_it_fails_with_the_reason() -> None:
    ended = python("-c", f"{RUN}\ndef here(trial): return trial\nmain(here)\n")
    assert ended.stdout.count("AttributeError: Can't get attribute 'here' on <module ") == 3


def test_a_main_module_that_vanished_is_not_missed(tmp_path: Path) -> None:
    script = tmp_path / "vanishing.py"
    script.write_text(f"import os\nos.remove(__file__)\n{GUARDED}", encoding="utf-8")
    ended = python(str(script))
    assert (sorted(ended.stdout.splitlines()), ended.stderr) == (DONE, "")


def test_a_main_module_that_workers_cannot_import_stops_the_run(tmp_path: Path) -> None:
    script = tmp_path / "main_only.py"
    refuse = "if __name__ != '__main__':\n    raise OSError('not twice')\n"
    script.write_text(refuse + GUARDED, encoding="utf-8")
    ended = python(str(script))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "OSError: not twice" in ended.stderr
    *_, last = ended.stderr.splitlines()
    assert last == (
        "ablations.executors.errors.ExecutorError: 3 worker processes in a row were lost before "
        "they began a trial; the last ended with exit code 1. What they wrote to standard error "
        "says why; the trials left have not been run"
    )
