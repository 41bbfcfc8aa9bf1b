"""What a run ran on, and what of it bends bits."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from ablations.devices import resolved, spelt
from ablations.sources import version_of
from registry.catalog import Catalog

RECORDED = ("torch", "numpy", "pandas", "pluggy", "pydantic", "pebble")


def environment_rows(
    catalog: Catalog, *, executor: str, workers: int, threads: int, device: str
) -> list[dict[str, str]]:
    """Key and value rows for the record: machine, versions, plugins, how the run was carried out.

    Host and user names are left out, since reports are passed on.
    """
    rows = {
        "ablations": _version("ablations"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "executor": executor,
        "device": device,
        "workers": str(workers),
        "threads a worker": str(threads),
        **{name: _version(name) for name in RECORDED},
        "command": " ".join(["ablations", *sys.argv[1:]]) if _from_command_line() else "Python",
    }
    for record in catalog.plugins:
        failed = record.state == "failed"
        rows[f"plugin {record.name}"] = (
            f"failed: {record.message}" if failed else version_of(record)
        )
    for plugin in catalog.left_out:
        rows[f"plugin {plugin.name}"] = f"left out by {plugin.by}"
    return [{"key": key, "value": value} for key, value in rows.items()]


def processor(device: str) -> dict[str, str]:
    """What of this machine bends bits, where a grid asks for that device. Raises: NoDevice."""
    import torch

    return {
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "device": spelt(resolved(device)),
    }


def bit_bending(*, dtype: str, threads: int, where: Mapping[str, str]) -> dict[str, str]:
    """What must agree for two results to be comparable to the bit.

    `where` is what `processor` says on the machine whose trials they are.
    """
    return {"torch": _version("torch"), **where, "dtype": dtype, "threads": str(threads)}


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _from_command_line() -> bool:
    main = sys.modules.get("ablations.__main__") or sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    return bool(spec and spec.name == "ablations.__main__") or Path(sys.argv[0]).name == "ablations"
