"""Measures as asked for, and factors that none of them looks at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from registry import PluginRecord, Provenance
from tests.ablations.dummies import Shapes, measure
from tests.ablations.loading import HEAD, refused


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ("[]", ["3:11: measures: expected a list of at least one measure, not an empty list"]),
        (
            "[paramters, {gradient_flow: 3}, 4, parameters, parameters]",
            [
                "3:12: measures[0]: unknown measure 'paramters'; did you mean 'parameters'? "
                "known: gradient_flow, parameters, training",
                "3:23: measures[1]: expected a measure as name or {name: {option: value}}, "
                "not a mapping of 1",
                "3:43: measures[2]: expected a measure as name or {name: {option: value}}, not 4",
                "3:58: measures[4]: measure 'parameters' is asked for twice",
            ],
        ),
        (
            "[{gradient_flow: {bach: 1}}, training]",
            [
                "3:29: measures[0].gradient_flow.bach: measure 'gradient_flow' has no option "
                "'bach'; did you mean 'batch'? known: batch",
                "3:40: measures[1]: measure 'training' needs option 'steps' (int)",
            ],
        ),
    ],
)
def test_faults_of_measures(tmp_path: Path, measures: str, expected: list[str]) -> None:
    text = f"name: x\nfactors: {{norm: [layernorm, rmsnorm]}}\nmeasures: {measures}\n"
    assert refused(tmp_path, text) == [f"grid.yaml:{line}" for line in expected]


def test_a_grid_takes_one_measure_of_a_name(tmp_path: Path) -> None:
    def record(owner: str) -> PluginRecord:
        provenance = Provenance(distribution=owner, version="1")
        spec = replace(measure("depth_charge", Shapes, "static"), provenance=provenance)
        return PluginRecord(name=f"{owner}:m", version="1", state="loaded", specs=(spec,))

    text = "name: x\nfactors: {norm: [layernorm, rmsnorm]}\nmeasures: "
    both = record("one"), record("two")
    assert refused(tmp_path, f"{text}[one/depth_charge, two/depth_charge]\n", *both) == [
        "grid.yaml:3:30: measures[1]: one grid cannot take measure 'depth_charge' of one and of two"
    ]
    assert refused(tmp_path, f"{text}[depth_charge]\n", *both) == [
        "grid.yaml:3:12: measures[0]: measure 'depth_charge' is registered by several plugins; "
        "write one/depth_charge or two/depth_charge"
    ]


def test_what_is_only_used_in_training_has_no_effect_without(tmp_path: Path) -> None:
    text = "factors: {dropout: [0, 0.1], dropout.residual: [0, 0.1]}\n"
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:3:11: factors.dropout: has no effect: nothing that is measured (gradient_flow) "
        "trains",
        "grid.yaml:3:30: factors.dropout.residual: has no effect: nothing that is measured "
        "(gradient_flow) trains",
    ]


def test_what_shapes_do_not_show_has_no_effect_on_them(tmp_path: Path) -> None:
    text = (
        "name: x\nmeasures: [parameters]\nfactors:\n  initializer.std: [0.1, 0.2]\n"
        "  embedding_scale: [1, 2]\n  dropout: [0, 0.1]\n  norm: [layernorm, rmsnorm]\n"
    )
    why = "has no effect: what is measured (parameters) depends on shapes alone"
    assert refused(tmp_path, text) == [
        f"grid.yaml:4:3: factors.initializer.std: {why}",
        f"grid.yaml:5:3: factors.embedding_scale: {why}",
        f"grid.yaml:6:3: factors.dropout: {why}",
    ]
