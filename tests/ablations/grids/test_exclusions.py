"""Exclusions name cells and say why."""

from __future__ import annotations

from pathlib import Path

from tests.ablations.loading import HEAD, refused


def test_an_exclusion_of_cells_that_the_design_has_not(tmp_path: Path) -> None:
    text = (
        "design: one_at_a_time\nfactors: {norm: [layernorm, rmsnorm], depth: [2, 4, 6]}\n"
        "baseline: {norm: layernorm, depth: 4}\nexclude:\n"
        "  - {norm: rmsnorm, depth: 2, because: a}\n"
        "  - {norm: layernorm, depth: 2, because: b}\n"
    )
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:7:5: exclude[0]: has no effect: one_at_a_time has no cell with more than one "
        "level away from the baseline"
    ]


def test_faults_of_exclusions(tmp_path: Path) -> None:
    text = (
        "factors: {norm: [layernorm, rmsnorm]}\n"
        "exclude: [3, {norm: x, because: y}, {because: z}, {norm: rmsnorm},\n"
        "  {norm: layernorm, because: a}, {norm: {layernorm: {}}, because: b},\n"
        "  {nrom: layernorm, because: ''}]\n"
    )
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:4:11: exclude[0]: expected {factor: level, …, because: text}, not 3",
        "grid.yaml:4:21: exclude[1].norm: x is not a level of norm; known: layernorm, rmsnorm",
        "grid.yaml:4:37: exclude[2]: names no factor: give a level of one, or leave it out",
        "grid.yaml:4:51: exclude[3]: missing key 'because': why these cells are left out",
        "grid.yaml:5:34: exclude[5]: excludes the same cells as another exclusion",
        "grid.yaml:6:4: exclude[6].nrom: is not a factor; did you mean 'norm'? known: norm",
        "grid.yaml:6:30: exclude[6].because: expected text: why these cells are left out, not ''",
    ]
