"""What a trial may have changed in its process, and how it is put back before the next one.

A process serves one set of strangers alone, so that what they patched in modules meets none but
their own trials. What stands here would let one of those trials depend on those before it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Something of the process that can be read and written, and why it is put back."""

    name: str
    why: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


class State:
    """The settings as they are when this is made; `put_back` makes them so again."""

    def __init__(self) -> None:
        self._before = [(setting, setting.read()) for setting in settings()]

    def put_back(self) -> None:
        """Write every setting that reads otherwise. Raises: what writing one of them raises."""
        for setting, value in self._before:
            if setting.read() != value:
                setting.write(value)


def settings() -> Iterator[Setting]:
    """All of them; those of torch and numpy where they are loaded, which is not done for them."""
    yield from _PROCESS
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        yield Setting(
            name="numpy's floating-point errors",
            why="they turn a value that is not finite into an exception",
            read=numpy.geterr,
            write=lambda value: numpy.seterr(**value),
        )
    if torch is not None:
        yield from _of_torch(torch)


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _set_environment(value: dict[str, str]) -> None:
    for name in os.environ.keys() - value.keys():
        del os.environ[name]
    os.environ.update({k: v for k, v in value.items() if os.environ.get(k) != v})


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in sorted(signal.valid_signals())}


def _set_handlers(value: dict[int, Any]) -> None:
    now = _handlers()
    for number, handler in value.items():
        if handler is not None and now[number] != handler:  # None: not installed from Python
            with contextlib.suppress(OSError):  # the system's own
                signal.signal(number, handler)


def _timers() -> tuple[bool, ...]:
    timers = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
    return tuple(signal.getitimer(timer) != (0.0, 0.0) for timer in timers)


def _stop_timers(_: object) -> None:
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)


def _set_streams(value: tuple[Any, ...]) -> None:
    sys.stdin, sys.stdout, sys.stderr = value


def _set_filters(value: tuple[Any, ...]) -> None:
    warnings.resetwarnings()  # also forgets which warnings were shown once
    warnings.filters[:] = value  # type: ignore[index]


def _set_path(value: list[str]) -> None:
    sys.path[:] = value


_PROCESS = (
    Setting(
        name="working directory",
        why="relative paths start there: those of checkpoints, texts and a plugin's own files",
        read=_working_directory,
        write=os.chdir,
    ),
    Setting(
        name="environment",
        why="libraries read it whenever they like, and child processes inherit it",
        read=lambda: dict(os.environ),
        write=_set_environment,
    ),
    Setting(
        name="import path",
        why="it decides which module a name stands for",
        read=lambda: list(sys.path),
        write=_set_path,
    ),
    Setting(
        name="recursion limit",
        why="lowered, it fails deep models",
        read=sys.getrecursionlimit,
        write=sys.setrecursionlimit,
    ),
    Setting(
        name="signal handlers",
        why="they run in the middle of whatever comes next",
        read=_handlers,
        write=_set_handlers,
    ),
    Setting(
        name="signal mask",
        why="a blocked signal stops nothing",
        read=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        write=lambda value: signal.pthread_sigmask(signal.SIG_SETMASK, value),
    ),
    Setting(
        name="timers",
        why="an alarm ends the process, whoever has it by then",
        read=_timers,
        write=_stop_timers,
    ),
    Setting(
        name="warnings filters",
        why="they turn a warning into an exception",
        read=lambda: tuple(warnings.filters),
        write=_set_filters,
    ),
    Setting(
        name="standard streams",
        why="a print into a closed one fails",
        read=lambda: (sys.stdin, sys.stdout, sys.stderr),
        write=_set_streams,
    ),
    Setting(
        name="trace function",
        why="it runs at every line",
        read=sys.gettrace,
        write=sys.settrace,
    ),
    Setting(
        name="profile function",
        why="it runs at every call",
        read=sys.getprofile,
        write=sys.setprofile,
    ),
    Setting(
        name="garbage collection",
        why="without it memory of earlier trials counts as this one's",
        read=gc.isenabled,
        write=lambda value: gc.enable() if value else gc.disable(),
    ),
)


def _of_torch(torch: Any) -> tuple[Setting, ...]:
    plain = {"dtype": torch.float32, "device": "cpu"}
    cuda, mkldnn, fills = torch.backends.cuda, torch.backends.mkldnn, torch.utils.deterministic
    return (
        Setting(
            name="torch's threads",
            why="they bend bits",
            read=torch.get_num_threads,
            write=torch.set_num_threads,
        ),
        Setting(
            name="torch's default type",
            why="tensors are made in it",
            read=torch.get_default_dtype,
            write=torch.set_default_dtype,
        ),
        Setting(
            name="torch's default device",
            why="tensors are made there",
            read=lambda: str(torch.get_default_device()),
            write=lambda value: torch.set_default_device(None if value == "cpu" else value),
        ),
        Setting(
            name="gradient mode",
            why="switched off, nothing has a gradient",
            read=torch.is_grad_enabled,
            write=torch.set_grad_enabled,
        ),
        Setting(
            name="inference mode",
            why="what is made in it has no gradient; it cannot be left, so the process is given up",
            read=torch.is_inference_mode_enabled,
            write=_refuse,
        ),
        Setting(
            name="deterministic algorithms",
            why="they choose kernels, or refuse operations",
            read=lambda: (
                torch.are_deterministic_algorithms_enabled(),
                torch.is_deterministic_algorithms_warn_only_enabled(),
            ),
            write=lambda value: torch.use_deterministic_algorithms(value[0], warn_only=value[1]),
        ),
        Setting(
            name="filling of empty tensors",
            why="it costs time and hides what reads them",
            read=lambda: fills.fill_uninitialized_memory,
            write=lambda value: setattr(fills, "fill_uninitialized_memory", value),
        ),
        Setting(
            name="anomaly mode",
            why="it costs time, and fails a backward pass with NaN",
            read=lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
            write=lambda value: torch.autograd.set_detect_anomaly(*value),
        ),
        Setting(
            name="precision of matrix products",
            why="it bends bits",
            read=torch.get_float32_matmul_precision,
            write=torch.set_float32_matmul_precision,
        ),
        Setting(
            name="kernels of attention",
            why="they bend bits",
            read=lambda: (
                cuda.flash_sdp_enabled(),
                cuda.mem_efficient_sdp_enabled(),
                cuda.math_sdp_enabled(),
            ),
            write=lambda value: (
                cuda.enable_flash_sdp(value[0]),
                cuda.enable_mem_efficient_sdp(value[1]),
                cuda.enable_math_sdp(value[2]),
            ),
        ),
        Setting(
            name="oneDNN",
            why="it bends bits",
            read=lambda: bool(mkldnn.enabled),
            write=lambda value: mkldnn.set_flags(value),
        ),
        Setting(
            name="autocast",
            why="products would be taken in another type",
            read=lambda: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
            write=lambda value: (
                torch.set_autocast_enabled("cpu", value[0]),
                torch.set_autocast_dtype("cpu", value[1]),
            ),
        ),
        Setting(
            name="flushing of denormal numbers",
            why="it bends bits",
            read=lambda: bool(torch.full((1,), 2.0**-140, **plain).mul(1.0) == 0.0),
            write=torch.set_flush_denormal,
        ),
    )


def _refuse(value: object) -> None:
    raise RuntimeError("it cannot be put back")
