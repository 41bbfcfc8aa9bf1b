"""Hostile components beside clean ones: each costs its own trials alone, and nothing is left."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ablations
from ablations import engine
from ablations.conformity import Cache, Conformity
from tests.ablations.executors.watching import alive
from tests.ablations.test_engine import values

PLUGIN = Path(__file__).parents[1] / "plugins" / "zoo.py"
ENDED = "its worker process "
OVER = r"stopped as it used \S+ (MiB|GiB) of memory, over its limit of 1 GiB"
ANIMALS = {
    "raises": ("failed", "RuntimeError: no"),
    "raises_in_backward": ("failed", "ValueError: not backward"),
    "raises_base": ("failed", "BaseException: bare"),
    "interrupts": ("failed", "KeyboardInterrupt"),
    "exits": ("failed", "SystemExit: enough"),
    "raises_unreadable": ("failed", r"Unreadable: \(its text cannot be read\)"),
    "raises_unpicklable": ("failed", "Unpicklable: holds a lock"),
    "ends_with_0": ("crashed", f"{ENDED}ended with exit code 0"),
    "ends_with_3": ("crashed", f"{ENDED}ended with exit code 3"),
    "ends_in_backward": ("crashed", f"{ENDED}ended with exit code 5"),
    "segfaults": ("crashed", f"{ENDED}was killed by SIGSEGV"),
    "kills_itself": ("crashed", f"{ENDED}was killed by SIGKILL"),
    "kills_its_group": ("crashed", f"{ENDED}was killed by SIGKILL"),
    "hangs": ("timeout", "stopped after its time limit of 15 s"),
    "hangs_in_c": ("timeout", "stopped after its time limit of 15 s"),
    "closes_files": ("crashed", f"{ENDED}ended with exit code {errno.EBADF}"),
    "wrong_shape": ("failed", r"\w+: .*"),
    "not_finite": ("diverged", "not finite: .*"),
    "allocates": ("crashed", OVER),
    "allocates_in_children": ("crashed", OVER),
    "prints": ("done", ""),
    "forks_and_leaves": ("done", ""),
    "forks_and_returns": ("done", ""),
    "leaves_a_daemon": ("done", ""),
    "leaves_a_daemon_and_ends": ("crashed", f"{ENDED}ended with exit code 6"),
    "leaves_a_thread": ("done", ""),
    "sets_an_alarm": ("done", ""),
    "changes_the_world": ("done", ""),
    "patches": ("failed", "TypeError: 'NoneType' object is not callable"),
    "ends_at_import": ("crashed", f"{ENDED}ended with exit code 4"),
    "raises_at_import": (
        "failed",
        "InvalidSpec: zoo_raising:Norm cannot be loaded: SystemExit: not in a worker",
    ),
}
CLEAN = ("layernorm", "rmsnorm", "none")
FEW = (
    "raises_base", "exits", "raises_unreadable", "ends_with_0", "segfaults", "kills_its_group",
    "hangs_in_c", "allocates_in_children", "not_finite", "leaves_a_daemon",
    "leaves_a_daemon_and_ends", "leaves_a_thread", "patches", "ends_at_import",
)  # fmt: skip
"""One of a sort, so that the default suite stays short."""


LIMITS: dict[str, Any] = {"timeout": 15, "memory": "1 GiB"}


def grid(*levels: str, **changes: Any) -> ablations.Grid:
    document = {
        "name": "zoo",
        "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
        "factors": {"norm": [*CLEAN, *levels]},
        "seeds": 1,
        "measures": ["gradient_flow"],
        **changes,
    }
    return ablations.load_grid(document, plugins=[str(PLUGIN)])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for runs that write no report and take every component as examined."""
    base = tmp_path_factory.mktemp("zoo")
    (base / "pids").mkdir()
    passed = Conformity(passed=True, leaks=False, n_run=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO", str(base / "pids"))
        patch.setattr(engine, "write_report", lambda out: out / "report.html")
        patch.setattr(Cache, "found", lambda self, keys: [(key, passed) for key in keys])
        ablations.run(grid(), base / "clean", executor="inline")
        yield base
    for path in (base / "pids").iterdir():  # of a test that failed; by then an id may be another's
        with contextlib.suppress(OSError):
            if str(base).encode() in Path(f"/proc/{path.name}/environ").read_bytes():
                os.kill(int(path.name), signal.SIGKILL)


@pytest.fixture(scope="module")
def few(base: Path) -> Path:
    """A run of a few animals beside the clean components."""
    ablations.run(grid(*FEW, **LIMITS), base / "few", workers=2)
    return base / "few"


@pytest.fixture(scope="module")
def whole(base: Path) -> Path:
    """A run of the whole zoo, each animal twice."""
    ablations.run(grid(*ANIMALS, seeds=2, **LIMITS), base / "whole", workers=2)
    return base / "whole"


def check(run: Path, level: str, seeds: int) -> None:
    """The states and messages of a level's trials are as they must be."""
    frames = ablations.open_run(run).frames()
    (cell,) = frames.cells[frames.cells["norm"] == level]["cell"]
    trials = frames.trials[frames.trials["cell"] == cell]
    assert len(trials) == seeds
    state, message = ANIMALS[level]
    assert set(trials["state"]) == {state}, set(trials["message"])
    for told in trials["message"]:
        assert re.fullmatch(message, told, re.DOTALL), told


@pytest.mark.parametrize("level", FEW)
def test_each_costs_its_own_trials(few: Path, level: str) -> None:
    check(few, level, seeds=1)


@pytest.mark.slow
@pytest.mark.parametrize("level", ANIMALS)
def test_each_costs_its_own_trials_in_every_seed(whole: Path, level: str) -> None:
    check(whole, level, seeds=2)


def check_neighbours(base: Path, run: Path) -> None:
    alone, beside = values(base / "clean"), values(run)
    assert len(alone) > 3 * 10
    assert {key: beside.get(key) for key in alone} == alone


def test_neighbours_are_bit_identical_with_a_run_without_them(base: Path, few: Path) -> None:
    check_neighbours(base, few)


@pytest.mark.slow
def test_neighbours_of_the_whole_zoo_are_bit_identical(base: Path, whole: Path) -> None:
    check_neighbours(base, whole)


def check_none_left(base: Path, least: int) -> None:
    started = [int(path.name) for path in (base / "pids").iterdir() if path.name.isdigit()]
    assert len(started) >= least
    assert [process for process in started if alive(process)] == []
    assert multiprocessing.active_children() == []


def test_no_process_is_left(base: Path, few: Path) -> None:
    check_none_left(base, least=3)


@pytest.mark.slow
def test_no_process_of_the_whole_zoo_is_left(base: Path, whole: Path) -> None:
    check_none_left(base, least=2 * 6)


def test_trials_of_one_plugin_find_the_world_as_it_was(base: Path, tmp_path: Path) -> None:
    factors = {"norm": ["layernorm", "changes_the_world"], "placement": ["pre", "post"]}
    summary = ablations.run(grid(factors=factors), tmp_path / "run", workers=1)
    assert summary.states == {"done": 4}
    # Within one process, else nothing would have been put back.
    assert (base / "pids" / "saw a clean world").exists()
