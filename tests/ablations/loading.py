"""Grids from texts, for the tests of how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ablations.grid import Grid, load_grid
from ablations.grids.document import GridError
from registry import PluginRecord
from tests.ablations.dummies import parts

NORMS = "known: absent, layernorm, odd, rmsnorm, unannotated"
KEYS = (
    "activation, attention, bias, context, d_ff, d_model, depth, dropout, embedding_dim, "
    "embedding_norm, embedding_scale, feed_forward, final_norm, head_dim, initializer, "
    "logit_scale, logit_softcap, n_heads, norm, placement, position, residual, share_layers, "
    "tie_embeddings, vocab_size"
)
PREFIXES = (
    "activation, attention, bias, dropout, embedding_norm, feed_forward, gradient_flow, "
    "initializer, norm, parameters, placement, position, residual, training"
)
HEAD = "name: x\nmeasures: [gradient_flow]\n"


def load(tmp_path: Path, text: str, *others: PluginRecord) -> Grid:
    path = tmp_path / "grid.yaml"
    path.write_text(text, encoding="utf-8")
    return load_grid(path, parts(*others))


def refused(tmp_path: Path, text: str, *others: PluginRecord) -> list[str]:
    """What is said of a grid that is refused, without the file's folder."""
    with pytest.raises(GridError) as caught:
        load(tmp_path, text, *others)
    return str(caught.value).replace(f"{tmp_path}/", "").splitlines()
