"""What a trial changed in its process is as it was before the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablations.executors.putting_back import settings

CHANGES = """
import gc, io, os, signal, sys, warnings
import numpy, torch
from ablations.executors.putting_back import State, settings

state = State()
before = {setting.name: setting.read() for setting in settings()}
os.chdir("/"); os.environ["NEW"] = "1"; del os.environ["GIVEN"]; sys.path.insert(0, "/nowhere")
sys.setrecursionlimit(321); signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]); signal.alarm(60)
warnings.simplefilter("error"); sys.stdout = io.StringIO()
numpy.seterr(all="raise"); gc.disable()
trace, profile = (lambda *a: None), (lambda *a: None)
torch.set_num_threads(torch.get_num_threads() + 2); torch.set_default_dtype(torch.float64)
torch.set_default_device("meta"); torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.utils.deterministic.fill_uninitialized_memory = False
torch.autograd.set_detect_anomaly(True, check_nan=False)
torch.set_float32_matmul_precision("medium"); torch.backends.cuda.enable_flash_sdp(False)
torch.backends.mkldnn.set_flags(False); torch.set_autocast_enabled("cpu", True)
flushes = torch.set_flush_denormal(True)
sys.settrace(trace); sys.setprofile(profile)
changed = {s.name for s in settings() if s.read() != before[s.name]}
state.put_back()
left = {s.name for s in settings() if s.read() != before[s.name]}
untouched = before.keys() - changed - {"inference mode"}
assert untouched <= (set() if flushes else {"flushing of denormal numbers"}), untouched
assert not left, left
mode = torch.inference_mode()
mode.__enter__()
try:
    state.put_back()
except RuntimeError as error:
    print(error)
"""


def test_every_setting_is_put_back_or_refused(tmp_path: Path) -> None:

    ended = subprocess.run(
        [sys.executable, "-c", CHANGES],
        capture_output=True,
        text=True,
        env={**os.environ, "GIVEN": "1", "PYTHONPATH": str(Path(__file__).parents[3])},
        cwd=tmp_path,
    )
    assert (ended.stderr, ended.stdout) == ("", "it cannot be put back\n")


def test_each_setting_says_why() -> None:
    pytest.importorskip("torch")
    found = list(settings())
    assert len({setting.name for setting in found}) == len(found) >= 25
    assert all(setting.why for setting in found)
