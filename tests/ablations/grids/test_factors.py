"""What factors refer to, and the options that components and measures do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ablations.loading import HEAD, KEYS, PREFIXES, refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "factors:\n  nrom: [layernorm]\n",
            [f"grid.yaml:4:3: factors.nrom: unknown factor; did you mean 'norm'? known: {KEYS}"],
        ),
        (
            "factors:\n  nrom.eps: [1]\n  d_ff.round_to: [8]\n  bias.qvk: [true]\n",
            [
                "grid.yaml:4:3: factors.nrom.eps: unknown factor: 'nrom' is no component or "
                f"measure; did you mean 'norm'? known: {PREFIXES}",
                "grid.yaml:5:3: factors.d_ff.round_to: d_ff has no options; vary d_ff itself",
                "grid.yaml:6:3: factors.bias.qvk: bias has no part 'qvk'; did you mean 'qkv'? "
                "known: feed_forward, head, out, qkv",
            ],
        ),
        (
            "factors:\n  attention: [mha, {gqa: {n_kv_heads: 2}}]\n"
            "  attention.n_kv_heads: [1, 2, 0]\n",
            [
                "grid.yaml:4:27: factors.attention[1].gqa.n_kv_heads: has no effect: "
                "factor attention.n_kv_heads sets it",
                "grid.yaml:5:3: factors.attention.n_kv_heads: attention 'mha' has no option "
                "'n_kv_heads'; known: window; every attention of the grid must have it",
                "grid.yaml:5:32: factors.attention.n_kv_heads[2]: option 'n_kv_heads' of attention "
                "'gqa' must be int > 0, not 0",
            ],
        ),
        (
            "factors:\n  gradient_flow.bach: [1]\n  gradient_flow.batch: [1, a]\n"
            "  training.steps: [1]\n",
            [
                "grid.yaml:4:3: factors.gradient_flow.bach: measure 'gradient_flow' has no option "
                "'bach'; did you mean 'batch'? known: batch",
                "grid.yaml:5:28: factors.gradient_flow.batch[1]: option 'batch' of measure "
                "'gradient_flow' must be int > 0, not 'a'",
                "grid.yaml:6:3: factors.training.steps: has no effect: measures does not ask for "
                "training",
            ],
        ),
    ],
)
def test_a_name_refers_to_a_key_or_to_an_option_that_is_there(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == expected


def test_an_option_of_what_is_absent_has_no_effect(tmp_path: Path) -> None:
    text = "factors:\n  embedding_norm: [null, rmsnorm]\n  embedding_norm.eps: [1, 2]\n"
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:5:3: factors.embedding_norm.eps: has no effect where embedding_norm is null: "
        "give a norm at every level"
    ]
