"""Which executor carries a grid out, where, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ablations.devices import gpus
from ablations.environment import processor
from ablations.grid import Grid
from ablations.machine import memory_share
from registry.catalog import Catalog
from registry.contracts import Execution, Executor
from registry.errors import InvalidOptions
from registry.spec import Choice


def chosen_executor(grid: Grid, catalog: Catalog, name: str | None, address: str | None) -> Choice:
    """The executor with its options: the grid's, where it is the grid's.

    Raises: UnknownName; InvalidOptions where it has no address.
    """
    asked = grid.executor
    if asked is None or name not in (None, asked.name):
        asked = catalog.choose(catalog.executor(name or "local"), {})
    if address is None:
        return asked
    given = {option: asked.options[option] for option in asked.given}
    return catalog.choose(catalog.executor(asked.name), {**given, "address": address})


def execution_of(
    grid: Grid, chosen: Executor, name: str, workers: int | None, otherwise: int
) -> tuple[Execution, Mapping[str, str]]:
    """How to carry trials out, and what bends bits where that is.

    `otherwise` are the workers of this machine where it is not said how many.

    Raises: InvalidOptions for what the executor would ignore; NoDevice; ExecutorError.
    """
    in_process = bool(getattr(chosen, "in_process", False))
    ignored = []
    if in_process and grid.timeout is not None:
        ignored.append("the grid's timeout, since it cannot stop a trial")
    if in_process and workers not in (None, 1):
        ignored.append(f"{workers} workers, since it is this process alone")
    if in_process and grid.memory is not None:
        ignored.append("the grid's memory limit, since it cannot stop a trial")
    elif grid.memory is not None and not getattr(chosen, "limits_memory", True):
        ignored.append("the grid's memory limit, since it cannot limit memory here")
    if ignored:
        remedy = "choose 'local' or leave it out" if in_process else "leave it out"
        raise InvalidOptions(
            (None, f"executor {name!r} would ignore {what}; {remedy}") for what in ignored
        )
    asked = Execution(threads=grid.threads, timeout=grid.timeout, memory=grid.memory)
    if getattr(chosen, "elsewhere", False):  # of other machines' memory nothing is known here
        there: Any = chosen
        workers = workers or int(there.workers(asked, grid.device))
        execution = replace(asked, workers=workers)
        return execution, there.where(execution, grid.device)
    workers = workers or (1 if in_process else otherwise)
    memory = memory_share(workers) if grid.memory is None else grid.memory
    where = processor(grid.device)
    shared = gpus(device_of(where))
    return replace(asked, workers=workers, memory=memory, gpus=shared), where


def device_of(where: Mapping[str, str]) -> str:
    """The device that trials compute on, `cpu` or `cuda`."""
    return where["device"].partition(" ")[0]
