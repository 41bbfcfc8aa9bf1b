"""The small distributions in tests/plugins, installed by pip into a folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "tests" / "plugins"


def projects() -> list[Path]:
    """The folder of each distribution."""
    return sorted(path.parent for path in PLUGINS.glob("*/pyproject.toml"))


@dataclass(frozen=True)
class Scratch:
    """An environment in which they are all installed, beside what is installed here."""

    path: Path

    def python(
        self, *arguments: object, cwd: Path, status: int = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python there; what it printed is in `stdout` and `stderr`."""
        ended = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(self.path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == status, ended.stderr
        return ended

    def ablate(
        self, *arguments: object, cwd: Path, status: int = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the tool there."""
        return self.python("-m", "ablations", *arguments, cwd=cwd, status=status, **environment)


def install(path: Path, folders: Iterable[Path] | None = None) -> Scratch:
    """Install all of them, or the distributions in those folders, below `path`; no network."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(path)]
    chosen = projects() if folders is None else folders
    subprocess.run([*pip, *offline, *map(str, chosen)], check=True)
    return Scratch(path)
