from __future__ import annotations

import pytest

from registry.conformance.sizes import ALL, APART, NAMED, TOKENS, Sizes


def test_where_a_shape_is_told_no_two_dimensions_are_equal() -> None:
    names = APART.names(NAMED, 2)
    assert set(names.atoms) == set("BTDFHKC")
    sizes = [*names.atoms.values(), names.atoms["H"] * names.atoms["C"]]
    assert len(set(sizes)) == len(sizes)


def test_key_value_heads_are_named_where_they_are_others_than_heads() -> None:
    heads = APART.dims.n_heads
    assert "K" not in APART.names(NAMED, heads).atoms
    assert "K" not in APART.names(NAMED).atoms


@pytest.mark.parametrize("sizes", ALL, ids=lambda sizes: sizes.label)
def test_all_lengths_fit_and_heads_divide_the_model(sizes: Sizes) -> None:
    dims = sizes.dims
    assert dims.context == max(TOKENS)
    assert NAMED in TOKENS
    assert dims.layer < dims.depth
    assert dims.d_model % dims.n_heads == 0
    assert dims.n_kv_heads == dims.n_heads
    assert (dims.head_dim * dims.n_heads == dims.d_model) == (sizes is not APART)
