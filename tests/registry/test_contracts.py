from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any

import pytest

import registry
from registry import (
    Cache,
    Dims,
    Execution,
    Kind,
    Outcome,
    ParameterInfo,
    ParameterRole,
    contracts,
    discover,
)

SIZES = {"d_model": 8, "n_heads": 2, "n_kv_heads": 1, "head_dim": 4, "d_ff": 16}
RECORDS: list[tuple[type[Any], dict[str, Any]]] = [
    (Dims, {**SIZES, "context": 4, "depth": 2}),
    (ParameterRole, {"role": "q"}),
    (
        ParameterInfo,
        {
            "path": "blocks.0.attention.qkv.weight",
            "role": "q",
            "shape": (8, 8),
            "fan_in": 8,
            "fan_out": 8,
            "depth": 2,
            "layer": 0,
        },
    ),
    (Execution, {}),
    (Outcome, {"trial": 0}),
]


def test_the_records_are_all_those_of_the_contracts() -> None:
    found = {cls for _, cls in inspect.getmembers(contracts, is_dataclass)}
    assert found == {cls for cls, _ in RECORDS}


@pytest.mark.parametrize(
    ("cls", "values"), RECORDS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_record_is_frozen_and_takes_keywords_alone(cls: type[Any], values: Any) -> None:
    record = cls(**values)
    assert record == cls(**values)
    for field in fields(cls):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field.name, None)
    with pytest.raises(TypeError, match="positional argument"):
        cls(*values.values(), None)


def test_the_table_of_the_contracts_names_every_kind_once() -> None:
    rows = re.findall(r"^\| (\w+) \|", contracts.__doc__ or "", flags=re.MULTILINE)
    assert rows == ["kind", *Kind]


@pytest.mark.parametrize(
    ("protocol", "kind", "name", "options"),
    [
        (contracts.Attention, "attention", "mha", {}),
        (contracts.Attention, "attention", "gqa", {"n_kv_heads": 2}),
        (contracts.Placement, "placement", "deepnorm", {}),
        (contracts.Initializer, "initializer", "normal", {}),
    ],
)
def test_a_built_in_that_offers_everything_offers_what_its_protocol_names(
    protocol: type, kind: str, name: str, options: dict[str, Any]
) -> None:
    members = {
        member for member in (*vars(protocol), *protocol.__annotations__) if member[0] != "_"
    }
    assert members
    catalog = discover()
    cls = catalog.choose(catalog.component(kind, name), options).load()
    assert {member for member in members if hasattr(cls, member)} == members


def test_a_cache_is_told_by_its_length_and_bytes() -> None:
    class Held:
        length = 3
        nbytes = 12

    assert isinstance(Held(), Cache)
    assert not isinstance(object(), Cache)


def test_every_contract_is_public_and_explained() -> None:
    for name, cls in inspect.getmembers(contracts, inspect.isclass):
        if cls.__module__ == contracts.__name__:
            assert getattr(registry, name) is cls
            assert inspect.getdoc(cls)


def test_the_public_names_are_those_listed() -> None:
    listed = set(registry.__all__)
    assert sorted(listed) == registry.__all__
    public = {
        name
        for name, value in vars(registry).items()
        if name[0] != "_" and not inspect.ismodule(value)
    }
    assert public == listed
