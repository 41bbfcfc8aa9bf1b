"""Which executor carries a grid out, and how it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ablations
from ablations.execution import chosen_executor, device_of, execution_of
from ablations.machine import memory_share
from registry.contracts import Execution
from tests.ablations.grids.test_executing import grid


class Elsewhere:
    """An executor on other machines, of which each has room for five trials."""

    elsewhere = True

    def __init__(self) -> None:
        self.asked: list[tuple[Execution, str]] = []

    def workers(self, execution: Execution, device: str) -> int:
        self.asked.append((execution, device))
        return 5

    def where(self, execution: Execution, device: str) -> Mapping[str, str]:
        self.asked.append((execution, device))
        return {"machine": "there", "device": "cuda NVIDIA X"}

    execute: Any = None


def chosen(asked: ablations.Grid, name: str | None = None, address: str | None = None) -> Any:
    choice = chosen_executor(asked, asked.catalog, name, address)
    return choice.name, {key: choice.options[key] for key in choice.given}


def test_the_command_line_goes_before_the_grid_and_the_grid_before_local() -> None:
    plain, ray = grid(), grid(executor={"ray": {"gpus": 0.5}})
    assert chosen(plain) == ("local", {})
    assert chosen(plain, "inline") == ("inline", {})
    assert chosen(ray) == chosen(ray, "ray") == ("ray", {"gpus": 0.5})
    assert chosen(ray, "local") == ("local", {})
    assert chosen(ray, None, "local") == ("ray", {"gpus": 0.5, "address": "local"})
    assert chosen(plain, "ray", "10.0.0.1:6379") == ("ray", {"address": "10.0.0.1:6379"})


def test_here_workers_share_the_memory_of_this_machine() -> None:
    execution, where = execution_of(grid(threads=2, timeout=9), object(), "x", 3, 1)  # type: ignore[arg-type]
    assert execution == Execution(workers=3, threads=2, timeout=9, memory=memory_share(3))
    assert device_of(where) == "cpu"


def test_elsewhere_the_executor_says_how_many_and_what_bends_bits() -> None:
    there = Elsewhere()
    execution, where = execution_of(grid(device="cuda", memory=2**30), there, "x", None, 1)
    asked = Execution(memory=2**30)
    assert execution == Execution(memory=2**30, workers=5)
    assert there.asked == [(asked, "cuda"), (execution, "cuda")]
    assert (where["machine"], device_of(where)) == ("there", "cuda")
    assert execution_of(grid(), there, "x", 2, 1)[0] == Execution(workers=2)
