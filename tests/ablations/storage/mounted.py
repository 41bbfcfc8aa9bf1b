"""Code run where a folder is mounted in a way that binds root too: full, or read-only."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def namespaces() -> bool:
    """Whether this process may mount things for itself alone."""
    unshare = shutil.which("unshare")
    return (
        unshare is not None
        and subprocess.run(
            [unshare, "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
            check=False,
            capture_output=True,
        ).returncode
        == 0
    )


needs_mounts = pytest.mark.skipif(
    not namespaces(), reason="needs user and mount namespaces (unshare -rm) that may mount"
)


def run_mounted(mount: str, place: Path, code: str) -> str:
    """Mount something at a place and run code there, the place its argument; what it prints."""
    ended = subprocess.run(
        [
            *("unshare", "-rm", "sh", "-ec", f'{mount}; exec "$@"', "sh"),
            *(sys.executable, "-c", code, str(place)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
