"""The executor that a grid names: its options checked like all others, its faults in place."""

from __future__ import annotations

from typing import Any

import pytest

import ablations
from ablations.grids.document import GridError


def grid(**keys: Any) -> ablations.Grid:
    return ablations.load_grid(
        {
            "name": "a",
            "factors": {"norm": ["layernorm", "rmsnorm"]},
            "measures": ["parameters"],
            **keys,
        }
    )


def test_without_one_it_is_left_to_the_command_line() -> None:
    assert grid().executor is grid(executor=None).executor is None
    rows = {row.key: (row.value, row.origin) for row in grid().settings()}
    assert rows["executor"] == ("null", "default")


def test_its_options_have_their_types() -> None:
    asked = grid(executor={"ray": {"gpus": 0.5, "in_flight": 8}})
    assert asked.executor is not None
    assert asked.executor.options == {
        "address": "auto", "cpus": None, "gpus": 0.5, "in_flight": 8, "retries": 3,
    }  # fmt: skip
    rows = {row.key: (row.value, row.origin) for row in asked.settings()}
    assert rows["executor"] == ("ray={gpus=0.5, in_flight=8}", "given")


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        (
            "rya",
            "executor",
            "unknown executor 'rya'; did you mean 'ray'? known: inline, local, ray",
        ),
        (
            {"ray": {"gpu": 1}},
            "executor.ray.gpu",
            "executor 'ray' has no option 'gpu'; did you mean 'gpus'? known: address, cpus, gpus, "
            "in_flight, retries",
        ),
        (
            {"ray": {"cpus": 0}},
            "executor.ray.cpus",
            "option 'cpus' of executor 'ray' must be number > 0 or null, not 0",
        ),
        (
            ["ray"],
            "executor",
            "expected an executor as name or {name: {option: value}}, not a list of 1",
        ),
        (
            {"local": {"address": "auto"}},
            "executor.local.address",
            "executor 'local' has no option 'address'; it has none",
        ),
    ],
)
def test_its_faults_are_told_where_they_are(value: Any, path: str, message: str) -> None:
    with pytest.raises(GridError) as raised:
        grid(executor=value)
    assert str(raised.value) == f"{path}: {message}"
