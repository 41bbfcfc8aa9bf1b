"""Our other packages have common names: find out whether another one stands in front of ours."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

PACKAGES = ("registry", "components", "reports")
MARKER = "ABLATIONS_PACKAGE"


def shadowed() -> list[str]:
    """One line for each of our packages that another hides; nothing of it is executed.

    `python -m` puts the current folder first on the path, and another distribution may have
    installed a package of the same name over ours.
    """
    findings = []
    for name in PACKAGES:
        where = _found(name)
        if where is None:
            findings.append(
                f"package {name!r} of ablations is missing: install ablations again "
                "(python -m pip install --force-reinstall --no-deps ablations)"
            )
        elif not _is_ours(where):
            findings.append(f"{where} hides the package {name!r} of ablations; {_way_out(where)}")
    return findings


def _found(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    if spec.origin:
        return Path(spec.origin)
    locations = list(spec.submodule_search_locations or ())
    return Path(locations[0]) if locations else None


def _is_ours(where: Path) -> bool:
    return where.is_file() and MARKER in where.read_text(encoding="utf-8", errors="replace")


def _way_out(where: Path) -> str:
    if not sys.flags.safe_path and Path.cwd() in where.parents:
        return (
            "start from another folder, or with the console script 'ablations', or with "
            "'python -P -m ablations'"
        )
    return (
        "another distribution installed it over ours: install ablations into an environment of "
        "its own"
    )
