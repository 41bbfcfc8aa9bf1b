"""Levels: each is checked, none is given twice, none gives what another factor sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ablations.loading import HEAD, NORMS, refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "factors:\n  norm: [rmsnrom, {rmsnorm: {esp: 1}}, 3]\n  depth: [0, x, true, -1]\n",
            [
                "grid.yaml:4:10: factors.norm[0]: unknown norm 'rmsnrom'; did you mean 'rmsnorm'? "
                + NORMS,
                "grid.yaml:4:30: factors.norm[1].rmsnorm.esp: norm 'rmsnorm' has no option 'esp'; "
                "did you mean 'eps'? known: eps",
                "grid.yaml:4:40: factors.norm[2]: expected norm as name, {name: {option: value}} "
                "or {layers: [...]}, not 3",
                "grid.yaml:5:11: factors.depth[0]: expected an integer from 1 to 4096, not 0",
                "grid.yaml:5:14: factors.depth[1]: expected an integer from 1 to 4096, not 'x'",
                "grid.yaml:5:17: factors.depth[2]: expected an integer from 1 to 4096, not true",
                "grid.yaml:5:23: factors.depth[3]: expected an integer from 1 to 4096, not -1",
            ],
        ),
        (
            "factors:\n  norm: [rmsnorm, {rmsnorm: {eps: 1.0e-5}}]\n  embedding_scale: [1, 1.0]\n",
            [
                "grid.yaml:4:19: factors.norm[1]: rmsnorm(eps=1e-05) is the same level as rmsnorm",
                "grid.yaml:5:24: factors.embedding_scale[1]: 1.0 is the same level as 1",
            ],
        ),
        (
            "factors:\n  norm: []\n  depth: 3\n",
            [
                "grid.yaml:4:9: factors.norm: expected a list of 1 to 1000 levels, "
                "not an empty list",
                "grid.yaml:5:10: factors.depth: expected a list of 1 to 1000 levels, not 3",
            ],
        ),
        (
            "factors: {}\n",
            [
                "grid.yaml:3:10: factors: expected a mapping with at least one factor, "
                "not an empty mapping"
            ],
        ),
        (
            "factors: {depth: [1, 2], attention: [[mha]], d_ff: [[1]]}\n",
            [
                "grid.yaml:3:38: factors.attention[0]: expected attention as name, "
                "{name: {option: value}} or {layers: [...]}, not a list of 1",
                "grid.yaml:3:53: factors.d_ff[0]: expected an integer from 1 to 2147483647, "
                "{multiple_of_d_model: number, round_to: integer}, {layers: [widths]} or null, "
                "not a list of 1",
            ],
        ),
    ],
)
def test_faults_of_levels_are_told_at_once_with_their_places(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == expected


def test_a_level_that_gives_what_a_factor_sets_has_no_effect(tmp_path: Path) -> None:
    text = "factors:\n  bias: [true, {qkv: false}]\n  bias.qkv: [true, false]\n"
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:4:17: factors.bias[1].qkv: has no effect: factor bias.qkv sets it"
    ]


def test_broken_parts_are_told_where_they_are_chosen(tmp_path: Path) -> None:
    text = HEAD + "factors:\n  norm: [absent, unannotated, layernorm]\n  norm.eps: [1, 2]\n"
    assert refused(tmp_path, text) == [
        "grid.yaml:4:10: factors.norm[0].absent: nowhere.at_all:Norm cannot be loaded: "
        "ModuleNotFoundError: No module named 'nowhere'",
        "grid.yaml:4:18: factors.norm[1].unannotated: option 'size' of "
        "tests.ablations.dummies.Unannotated has no annotation",
    ]
