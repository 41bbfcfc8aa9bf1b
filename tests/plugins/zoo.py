"""Norms that do all that a component must not, in their forward or backward pass.

None does anything where the grid is planned. What they start leaves its process id in $ZOO.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import torch

from registry import ComponentSpec, hookimpl

NORMS = {}


class Norm(torch.nn.Module):
    """A norm that works; each animal of the zoo does something before."""

    def __init__(self, dims):
        super().__init__()

    def forward(self, x):
        return self.misbehave(torch.nn.functional.rms_norm(x, x.shape[-1:]))


def animal(misbehave):
    """Make a norm of a function; it takes the output, and may return another."""

    def called(self, y):
        z = misbehave(y)
        return y if z is None else z

    name = misbehave.__name__
    cls = type(
        name.title().replace("_", ""), (Norm,), {"misbehave": called, "__module__": __name__}
    )
    globals()[cls.__name__] = NORMS[name] = cls
    return misbehave


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, act):
        ctx.act = act
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        ctx.act()
        return gradient, None


def leave_pid(process=None):
    process = process or os.getpid()
    Path(os.environ["ZOO"], str(process)).touch()


class Unreadable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("holds a lock")
        self.lock = threading.Lock()


@animal
def raises(y):
    raise RuntimeError("no")


@animal
def raises_in_backward(y):
    def act():
        raise ValueError("not backward")

    return Backward.apply(y, act)


@animal
def raises_base(y):
    raise BaseException("bare")


@animal
def interrupts(y):
    raise KeyboardInterrupt


@animal
def exits(y):
    sys.exit("enough")


@animal
def raises_unreadable(y):
    raise Unreadable


@animal
def raises_unpicklable(y):
    raise Unpicklable


@animal
def ends_with_0(y):
    os._exit(0)


@animal
def ends_with_3(y):
    os._exit(3)


@animal
def ends_in_backward(y):
    return Backward.apply(y, lambda: os._exit(5))


@animal
def segfaults(y):
    ctypes.string_at(0)


@animal
def kills_itself(y):
    os.kill(os.getpid(), signal.SIGKILL)


@animal
def kills_its_group(y):
    os.killpg(0, signal.SIGKILL)


@animal
def hangs(y):
    time.sleep(600)


@animal
def hangs_in_c(y):
    ctypes.PyDLL(None).sleep(600)  # with the interpreter locked


@animal
def closes_files(y):
    os.closerange(3, 256)


@animal
def wrong_shape(y):
    return y[..., :-1]


@animal
def not_finite(y):
    return y * float("nan")


@animal
def allocates(y):
    held = []
    while True:
        held.append(torch.ones(2**22))


@animal
def allocates_in_children(y):
    for _ in range(2):
        if os.fork() == 0:
            leave_pid()
            held = b"x" * (700 * 2**20)
            time.sleep(600)
            os._exit(len(held))
    time.sleep(600)


@animal
def prints(y):
    print("x" * 2**20)
    print("y" * 2**20, file=sys.stderr)


@animal
def forks_and_leaves(y):
    if os.fork() == 0:
        leave_pid()
        time.sleep(600)
        os._exit(0)


_forked = False


@animal
def forks_and_returns(y):
    global _forked
    if not _forked:  # once: each copy would fork at every norm, and theirs too
        _forked = True
        if os.fork() == 0:
            leave_pid()


@animal
def leaves_a_daemon(y):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            leave_pid()
            time.sleep(600)
        os._exit(0)
    os.wait()


@animal
def leaves_a_daemon_and_ends(y):
    leave_pid(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
    os._exit(6)


@animal
def leaves_a_thread(y):
    def end():
        time.sleep(3)
        os._exit(9)  # whoever has the process by then

    threading.Thread(target=end, daemon=True).start()


@animal
def sets_an_alarm(y):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 3)


def world():
    return (
        torch.get_num_threads(), torch.get_default_dtype(), str(torch.get_default_device()),
        torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(),
        torch.get_float32_matmul_precision(), os.getcwd(), os.environ.get("ZOO_WAS_HERE"),
        signal.getsignal(signal.SIGUSR1), sys.getrecursionlimit(), len(warnings.filters),
        sys.stdout is None, torch.is_grad_enabled(), torch.backends.cuda.flash_sdp_enabled(),
    )  # fmt: skip


class ChangesTheWorld(Norm):
    """Fails in the first pass of a trial where anything is as the trial before left it."""

    clean = left = None
    new = True

    def __init__(self, dims):
        super().__init__(dims)
        ChangesTheWorld.new = True

    def misbehave(self, y):
        now, cls = world(), ChangesTheWorld
        if cls.new and cls.left is not None:
            same = [n == b for a, b, n in zip(cls.clean, cls.left, now, strict=True) if a != b]
            if len(same) < 12 or any(same):
                raise RuntimeError(f"found {now}, was {cls.clean}, left as {cls.left}")
            Path(os.environ["ZOO"], "saw a clean world").touch()
        if cls.new:
            cls.clean = now
            change_the_world()
            cls.left, cls.new = world(), False
        return y


NORMS["changes_the_world"] = ChangesTheWorld


def change_the_world():
    torch.manual_seed(7)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_default_dtype(torch.bfloat16)
    torch.use_deterministic_algorithms(True)
    torch.autograd.set_detect_anomaly(True)
    torch.set_float32_matmul_precision("medium")
    torch.backends.cuda.enable_flash_sdp(False)
    os.chdir("/")
    os.environ["ZOO_WAS_HERE"] = "1"
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    sys.setrecursionlimit(sys.getrecursionlimit() - 10)
    warnings.simplefilter("ignore", UserWarning)
    sys.stdout = None


@animal
def patches(y):
    """Replaces what other components and the engine call."""
    import ablations.observation

    torch.nn.functional.layer_norm = lambda x, *args, **kwargs: x
    torch.nn.functional.gelu = lambda x, *args, **kwargs: x
    torch.nn.Linear.forward = lambda self, x: torch.nn.functional.linear(x, 2 * self.weight)
    ablations.observation.probe_loss = None


@hookimpl
def register_components():
    return [
        *(ComponentSpec(kind="norm", name=name, target=cls) for name, cls in NORMS.items()),
        ComponentSpec(kind="norm", name="ends_at_import", target="zoo_ending:Norm"),
        ComponentSpec(kind="norm", name="raises_at_import", target="zoo_raising:Norm"),
    ]
