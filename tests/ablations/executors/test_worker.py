"""What workers do to the world around them: their output, signals, their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ablations.executors.watching import alive, wait_for

ROOT = Path(__file__).parents[3]
DRIVER = """\
import contextlib, signal, sys
from ablations.executors.local import Local
from registry.contracts import Execution
from tests.ablations.executors import work

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if started in background
    function, *trials = eval(sys.argv[1])
    outcomes = Local().execute(trials, getattr(work, function), Execution(workers=2))
    with contextlib.closing(outcomes):
        for outcome in outcomes:
            print(outcome.trial, outcome.state, flush=True)
"""


def start(
    tmp_path: Path, function: str, *trials: object, before: str = ""
) -> subprocess.Popen[str]:
    """A driver; the statements `before` are carried out in its workers too, as they start."""
    script = tmp_path / "driver.py"
    script.write_text(before + DRIVER, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, str(script), repr((function, *trials))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def started(paths: list[Path]) -> list[int]:
    """The processes that wrote their ids to `paths`, awaited."""
    wait_for(lambda: all(path.exists() and path.read_text() for path in paths))
    processes = [int(path.read_text()) for path in paths]
    assert all(map(alive, processes))
    return processes


def test_what_workers_print_goes_to_standard_error(tmp_path: Path) -> None:
    driver = start(tmp_path, "misbehave", "print")
    output, errors = driver.communicate(timeout=60)
    assert output == "print done\n"
    assert sorted(errors.splitlines()) == ["from python", "from the descriptor"]


@pytest.mark.parametrize("what", ["hang", "hang-locked"])
def test_workers_end_when_their_driver_is_killed(tmp_path: Path, what: str) -> None:
    if what == "hang-locked" and sys.platform != "linux":
        pytest.skip("only Linux can end a process whose interpreter is locked")
    paths = [tmp_path / "a", tmp_path / "b"]
    driver = start(tmp_path, "leave_pid", *((str(path), what) for path in paths))
    processes = started(paths)
    driver.kill()
    driver.communicate(timeout=60)
    wait_for(lambda: not any(map(alive, processes)))


def test_ctrl_c_reaches_the_driver_alone_and_leaves_no_process(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    driver = start(tmp_path, "leave_pid", *((str(path), "hang") for path in paths))
    processes = started(paths)
    os.killpg(driver.pid, signal.SIGINT)
    output, errors = driver.communicate(timeout=60)
    assert output == ""
    assert errors.count("Traceback") == 1
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert not any(map(alive, processes))


SLOW_START = """\
import os, pathlib, time
if __name__ != "__main__":
    pathlib.Path(__file__).with_name(f"{os.getpid()}.pid").touch()
    time.sleep(0.5)
"""


def test_workers_do_not_hear_ctrl_c_while_they_start(tmp_path: Path) -> None:
    driver = start(tmp_path, "double", 1, 2, before=SLOW_START)
    wait_for(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    for path in tmp_path.glob("*.pid"):
        os.kill(int(path.stem), signal.SIGINT)
    output, errors = driver.communicate(timeout=60)
    assert (sorted(output.splitlines()), errors) == (["1 done", "2 done"], "")
