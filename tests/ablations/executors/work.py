"""What the executors' tests let workers do; imports nothing heavy, as workers import it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def double(trial: int) -> int:
    return 2 * trial


def process_of(trial: Any) -> int:
    return os.getpid()


def threads_of(trial: Any) -> str:
    return os.environ["OMP_NUM_THREADS"]


def refuse(trial: int) -> int:
    if trial % 2:
        raise ValueError(f"odd: {trial}")
    return trial


def misbehave(trial: str) -> Any:
    """One way of going wrong a trial; `"fine"` is none."""
    match trial.split():
        case ["fine"]:
            return "fine"
        case ["exit", code]:
            os._exit(int(code))
        case ["system-exit"]:
            sys.exit("enough")
        case ["interrupt"]:
            raise KeyboardInterrupt
        case ["unreadable"]:
            raise Unreadable
        case ["lambda"]:
            return lambda: None
        case ["signal", number]:
            os.kill(os.getpid(), int(number))
            time.sleep(60)
        case ["hang"]:
            time.sleep(600)
        case ["hang-locked"]:
            hang_with_the_interpreter_locked()
        case ["close"]:
            os.closerange(3, 256)
            return "fine"
        case ["large"]:
            return "x" * 5_000_000
        case ["print"]:
            print("from python")
            os.write(1, b"from the descriptor\n")
            return "fine"
    raise AssertionError(trial)


def hang_with_the_interpreter_locked() -> None:
    """No other thread of this process runs, and no signal handler either."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)  # ends it, should the test fail
    ctypes.PyDLL(None).sleep(60)


class PoisonTrial:
    """A trial that ends whatever process reads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (7,)


def leave_pid(trial: tuple[str, str]) -> str:
    """Write this process's id to a file, then do as `misbehave` does."""
    path, what = trial
    Path(path).write_text(str(os.getpid()), encoding="ascii")
    return str(misbehave(what))


def fork(path: str) -> str:
    """Come back twice; the copy leaves its process id."""
    if os.fork() == 0:
        Path(path).write_text(str(os.getpid()), encoding="ascii")
    return "fine"


def leave_pid_and_sleep(trial: tuple[str, float]) -> int:
    path, seconds = trial
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(seconds)
    return os.getpid()
