"""Commands as a user runs them, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = (ROOT / "tests" / "small.yaml").read_text(encoding="utf-8")


def ablate(*arguments, cwd, check=None, **environment):
    """Run `python -m ablations` in a folder."""
    ended = subprocess.run(
        [sys.executable, "-m", "ablations", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if check is not None:
        assert ended.returncode == check, ended.stderr
    return ended
