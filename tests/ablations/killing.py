"""Runs in processes of their own, to be killed: started, killed at a moment, and what is left.

A driver is forked from a server that has torch loaded, so that a kill costs no second import.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import random
import signal
import sqlite3
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ablations import cli, engine
from ablations.store import Store

SECONDS = 120
"""How long anything is awaited."""

CLOCKED = "training.tokens_per_second"

GRID = """\
name: tiny
model: {depth: 2, d_model: 8, n_heads: 2, context: 8, vocab_size: 256}
factors: {norm: [layernorm, rmsnorm], placement: [pre, post]}
seeds: 2
measures:
- parameters
- gradient_flow
- attention_map
- training: {steps: 96, batch: 2, held_out_batches: 1, probes: [0, 64]}
"""
N_TRIALS = 8

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.ablations.killing", "ablations.measures.training"])


def _drive(arguments: list[str], told: str) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if started in background
    os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    os.environ["ABLATIONS_CHECKPOINT_SECONDS"] = "0"
    engine.write_report = lambda out: out / "report.html"  # takes longer than the run
    raise SystemExit(cli.run_command_line(arguments))


class Driver:
    """`ablations run` in a process and a session of its own; `told` is its standard error."""

    def __init__(
        self,
        grid: Path,
        out: Path,
        *,
        workers: int = 2,
        told: Path | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.told = told or out.with_name(f"{out.name}.err")
        arguments = ["run", str(grid), "--out", str(out), "--workers", str(workers), *options]
        self._process = _context.Process(target=_drive, args=(arguments, str(self.told)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def status(self) -> int | None:
        """The exit status, None while it runs."""
        return self._process.exitcode

    def wait(self) -> int:
        """Await the end; returns the exit status."""
        self._process.join(SECONDS)
        status = self.status()
        assert status is not None, f"not ended after {SECONDS} s"
        return status

    def workers(self) -> list[int]:
        """Its worker processes, sorted."""
        return sorted(pid for pid in session(self.pid) if b"spawn_main" in _command_line(pid))

    def kill(self, whom: str, dice: random.Random) -> bool:
        """Kill the driver, one of its workers or the whole group; whether there was such a one."""
        if self.status() is not None:
            return False
        if whom != "worker":
            send = os.killpg if whom == "group" else os.kill
            with contextlib.suppress(ProcessLookupError):  # it ended just now, by itself
                send(self.pid, signal.SIGKILL)
            return self.wait() == -signal.SIGKILL
        deadline = time.monotonic() + SECONDS
        while not (workers := self.workers()):
            assert time.monotonic() < deadline
            if self.status() is not None:
                return False
            time.sleep(0.01)
        try:
            os.kill(dice.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def session(leader: int) -> Iterator[int]:
    """The processes of a session that run."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, of = (entry / "stat").read_text().rpartition(") ")[2].split()[:4]
            except OSError:
                continue
            if int(of) == leader and state not in "ZX":
                yield int(entry.name)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def none_left(leader: int) -> bool:
    """Whether all processes of a session end by themselves, within seconds."""
    deadline = time.monotonic() + 30
    while any(True for _ in session(leader)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@dataclasses.dataclass
class Killed:
    """What was done to a run, in order, until it ended by itself."""

    kills: list[str]
    starts: int


def run_and_kill(grid: Path, out: Path, dice: random.Random, *, whom: list[str]) -> Killed:
    """Start a run and kill it at random moments, again and again until it ends whole.

    `whom` is taken from its end, a victim for each start; when it is empty the run is left alone.
    """
    killed = Killed(kills=[], starts=0)
    while True:
        driver = Driver(grid, out, workers=dice.choice([1, 2]))
        killed.starts += 1
        if whom:
            _await_moment(driver, out, dice)
            if driver.kill(whom[-1], dice):
                killed.kills.append(whom.pop())
        status = driver.wait()
        assert none_left(driver.pid), f"processes are left {killed}"
        if status == 0:
            return killed
        assert status in (1, -signal.SIGKILL), (status, driver.told.read_text())


def _await_moment(driver: Driver, out: Path, dice: random.Random) -> None:
    """A moment while the run starts, or one between two of the trials that it has to do.

    Counted in trials, since the seconds that a run takes are the machine's business.
    """
    if dice.random() < 0.4:
        time.sleep(dice.uniform(0, 3))
        return
    done = recorded(out)
    until = done + dice.randrange(max(1, N_TRIALS - done))
    while driver.status() is None and (recorded(out) < until or not driver.workers()):
        time.sleep(0.02)
    time.sleep(dice.uniform(0, 0.4))


def recorded(out: Path) -> int:
    """Trials that are done, as the store of a run has it at this moment."""
    query = "SELECT count(*) FROM trials WHERE measure = 'training' AND state = 'done'"
    try:
        place = f"{(out / 'results.sqlite').as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True)) as connection:
            (count,) = connection.execute(query).fetchone()
    except sqlite3.Error:  # it is only being made
        return 0
    return int(count)


def everything(out: Path) -> dict[str, list[Any]]:
    """All that a run found, to the bit, but for what a clock told."""
    with Store.open_readonly(out) as store:
        frames = store.frames()
        found = {
            "trials": list(frames.trials.drop(columns="seconds").itertuples(index=False)),
            "cells": list(frames.cells.itertuples(index=False)),
            "arrays": [(key, a.shape, a.tobytes()) for key, a in frames.arrays.items()],
        }
        for name in ("metrics", "profiles"):
            rows = getattr(frames, name).itertuples(index=False)
            found[name] = [
                (*row[:-1], struct.pack("<d", row[-1])) for row in rows if row[2] != CLOCKED
            ]
        found["known"] = sorted(store.known())
    return {name: [tuple(row) for row in rows] for name, rows in found.items()}
