"""What the executors' tests let workers do; imports nothing heavy, as workers import it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
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


class For(str):
    """A trial that says whose code it runs: what stands before the colon, apart by commas."""

    @property
    def strangers(self) -> frozenset[str]:
        return frozenset(self.partition(":")[0].split(",")) - {""}


def strangers_so_far(trial: For) -> tuple[int, list[str]]:
    """This process, and whose trials it has had so far."""
    held: Any = signal  # a module stays what it was made
    held.so_far = [*getattr(held, "so_far", []), trial.partition(":")[0]]
    return os.getpid(), held.so_far


def use_memory(trial: tuple[str, int, float]) -> int:
    """Hold so many MiB for seconds: alone, shared with two copies, or a part in each of two."""
    how, size, seconds = trial
    ready, told = os.pipe()
    if how == "apart":
        for _ in range(2):
            if os.fork() == 0:
                held = b"x" * (size * 2**19)
                os.write(told, b".")
                time.sleep(60)
                os._exit(len(held) % 2)
        os.read(ready, 1), os.read(ready, 1)  # seconds count from when all is held
    held = b"x" * (size * 2**20 if how != "apart" else 1)
    if how == "shared":
        for _ in range(2):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(len(held) % 2)
    time.sleep(seconds)
    return len(held)


_KEPT: list[bytes] = []


def keep_memory(size: int) -> tuple[int, int]:
    """Keep so many MiB for good; this process, and how often it did so."""
    _KEPT.append(b"x" * (size * 2**20))
    return os.getpid(), len(_KEPT)


def start_and_die(paths: tuple[str, ...]) -> str:
    """Start a process of a session of its own for each path, and end at once."""
    for path in paths:
        Path(path).write_text(str(subprocess.Popen(["sleep", "600"], start_new_session=True).pid))
    os._exit(3)


def fork_and_hang(path: str) -> None:
    """Let a copy of this process live on that ignores what it is asked, and hang."""
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(path).write_text(str(os.getpid()), encoding="ascii")
    time.sleep(600)


def leave_pid_and_sleep(trial: tuple[str, float]) -> int:
    path, seconds = trial
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(seconds)
    return os.getpid()


def kill_the_keeper(trial: str) -> str:
    """Kill the process that started this one, if told to."""
    if trial == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return trial


def loaded_modules(trial: Any) -> tuple[list[str], list[str]]:
    """What this process has imported, and where it looks for more."""
    return sorted(sys.modules), list(sys.path)


def gpus_and_process(seconds: float) -> tuple[str | None, int]:
    """The GPUs that CUDA is told of in this process."""
    time.sleep(seconds)
    return os.environ.get("CUDA_VISIBLE_DEVICES"), os.getpid()
