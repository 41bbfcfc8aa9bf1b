"""Cells: their order, their hashes, what skips them, and levels that none of them can have."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablations.combinations import MAX_CELLS, count
from ablations.design import Cell, cells, check_levels
from ablations.grid import Grid, load_grid
from ablations.grids.document import GridError
from ablations.grids.factors import Level
from ablations.grids.parsing import parse
from ablations.models.resolution import resolve
from tests.ablations.dummies import parts


def grid(factors: Mapping[str, Any], **others: Any) -> Grid:
    mapping = {"name": "x", "factors": factors, "measures": ["gradient_flow"], **others}
    return load_grid(mapping, parts())


def made(factors: Mapping[str, Any], **others: Any) -> list[Cell]:
    return list(cells(grid(factors, **others), parts()))


def refused(given: Grid) -> list[str]:
    with pytest.raises(GridError) as caught:
        check_levels(given, cells(given, parts()))
    return str(caught.value).splitlines()


def test_the_product_in_order_the_first_factor_slowest() -> None:
    found = made({"norm": ["layernorm", "rmsnorm"], "depth": [2, 4], "bias": [True]})
    assert [cell.label for cell in found] == [
        "norm=layernorm depth=2 bias=true",
        "norm=layernorm depth=4 bias=true",
        "norm=rmsnorm depth=2 bias=true",
        "norm=rmsnorm depth=4 bias=true",
    ]
    last = found[-1]
    assert last.levels == {"norm": "rmsnorm", "depth": "4", "bias": "true"}
    assert last.architecture is not None
    assert last.architecture.depth == 4
    assert {block.norm.name for block in last.architecture.layers} == {"rmsnorm"}
    assert last.skipped is None
    assert [choice.name for choice in last.measures] == ["gradient_flow"]
    assert last.architecture == resolve({"norm": "rmsnorm", "depth": 4}, parts())


def test_cells_are_made_one_by_one() -> None:
    big = grid({"context": list(range(1, 1001)), "d_ff": list(range(1, 1001))})
    assert count(big) == 1_000_000 == MAX_CELLS
    first = list(itertools.islice(cells(big, parts()), 3))
    assert first[2].label == "context=1 d_ff=3"


def test_an_option_is_laid_over_the_component_that_is_chosen() -> None:
    found = made(
        {
            "attention.n_kv_heads": [1, 2],
            "attention": ["gqa", {"gqa": {"scale": 2}}],
            "bias.qkv": [True, False],
            "dropout.residual": [0.5],
        },
        model={"bias": {"head": True}},
    )
    cell = found[-1]
    assert cell.architecture is not None
    assert cell.architecture.layers[0].attention.options == {"n_kv_heads": 2, "scale": 2.0}
    assert cell.architecture.layers[0].attention.label == "gqa(n_kv_heads=2, scale=2.0)"
    assert (cell.architecture.qkv_bias, cell.architecture.out_bias) == (False, True)
    assert (cell.architecture.head_bias, cell.architecture.residual_dropout) == (True, 0.5)


CONTENT = (
    '{"measures":{},"model":{"activation":{"gelu":{}},"attention":{"mha":{"window":null}},'
    '"bias":{"feed_forward":true,"head":false,"out":true,"qkv":true},"context":64,"d_ff":null,'
    '"d_model":256,"depth":12,"dropout":{"attention":0.0,"residual":0.0},"embedding_dim":null,'
    '"embedding_norm":null,"embedding_scale":1.0,"feed_forward":{"mlp":{}},"final_norm":"auto",'
    '"head_dim":null,"initializer":{"normal":{"std":0.02}},"logit_scale":1.0,"logit_softcap":null,'
    '"n_heads":4,"norm":{"layernorm":{"eps":1e-05}},"placement":{"pre":{}},'
    '"position":{"learned":{}},"residual":{"add":{}},"share_layers":1,"tie_embeddings":false,'
    '"vocab_size":256}}'
)


def test_the_hash_is_of_the_content_sorted_and_filled_in() -> None:
    (cell,) = made({"norm": ["layernorm"]})
    assert cell.content == json.loads(CONTENT)
    assert cell.cell == hashlib.sha256(CONTENT.encode()).hexdigest()[:16]


MODEL: dict[str, list[Any]] = {
    "norm": ["layernorm", "rmsnorm", {"rmsnorm": {"eps": 1e-6}}],
    "activation": ["gelu", "swiglu"],
    "attention": ["mha", {"gqa": {"n_kv_heads": 2}}],
    "bias": [True, False, {"head": True}],
    "depth": [12, 6],
    "embedding_scale": [1, 2.5],
}


@given(
    st.fixed_dictionaries({key: st.sampled_from(levels) for key, levels in MODEL.items()}),
    st.sets(st.sampled_from(sorted(MODEL)), min_size=1),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_the_hash_ignores_order_and_which_keys_are_factors(
    model: dict[str, Any], varied: set[str], random: Any
) -> None:
    (reference,) = made({key: [value] for key, value in model.items()})
    keys = random.sample(sorted(model), len(model))
    fixed = {key: model[key] for key in keys if key not in varied}
    (cell,) = made({key: [model[key]] for key in keys if key in varied}, model=fixed)
    assert cell.cell == reference.cell
    assert cell.content == reference.content


def test_the_hash_survives_a_new_factor_at_its_default() -> None:
    before = {cell.cell for cell in made({"norm": ["layernorm", "rmsnorm"]})}
    for factor in (
        {"activation": ["swiglu", "gelu"]},
        {"norm.eps": [1e-6, 1e-5]},
        {"bias.qkv": [True, False]},
        {"initializer.std": [0.02, 1]},
        {"gradient_flow.batch": [8, 2]},
        {"head_dim": [32, None]},
    ):
        after = [cell.cell for cell in made({"norm": ["layernorm", "rmsnorm"], **factor})]
        assert len(set(after)) == 4
        assert before < set(after)


def test_the_hash_tells_what_differs() -> None:
    found = made(
        {
            "final_norm": ["auto", True, False],
            "head_dim": [None, 64, 32],
            "attention.scale": [None, "none", 1],
            "d_ff": [None, {"multiple_of_d_model": 2}, {"layers": [8, 16]}],
        },
        model={"attention": {"gqa": {"n_kv_heads": 2}}},
    )
    assert len({cell.cell for cell in found}) == len(found) == 81


def test_an_option_of_a_measure_reaches_the_measure_and_the_hash() -> None:
    found = made(
        {"training.steps": [5, 10], "training.learning_rate": [1e-3, 1]},
        measures=["parameters", {"training": {"steps": 5}}],
    )
    assert [dict(cell.measures[1].options) for cell in found] == [
        {"steps": 5, "learning_rate": 1e-3},
        {"steps": 5, "learning_rate": 1.0},
        {"steps": 10, "learning_rate": 1e-3},
        {"steps": 10, "learning_rate": 1.0},
    ]
    assert [cell.content["measures"] for cell in found] == [
        {},
        {"training": {"learning_rate": 1.0}},
        {"training": {"steps": 10}},
        {"training": {"steps": 10, "learning_rate": 1.0}},
    ]
    assert {cell.measures[0].name for cell in found} == {"parameters"}
    demanded = made({"training.steps": [5, 10]}, measures=["training"])
    assert [cell.content["measures"] for cell in demanded] == [
        {"training": {"steps": 5}},
        {"training": {"steps": 10}},
    ]


def test_two_cells_that_are_the_same_are_refused() -> None:
    sound = grid({"norm": ["layernorm", "rmsnorm"]})
    (factor,) = sound.factors
    twice = (*factor.levels, Level(label="again", value={"layernorm": {"eps": 1e-5}}))
    given = replace(sound, factors=(replace(factor, levels=twice),))
    with pytest.raises(GridError) as caught:
        list(cells(given, parts()))
    assert str(caught.value) == "factors: two cells are the same: norm=layernorm and norm=again"


def test_what_skips_a_cell_is_told_with_it() -> None:
    found = made(
        {"attention.n_kv_heads": [1, 3], "n_heads": [4, 6], "d_model": [24, 32]},
        model={"attention": "gqa"},
        exclude=[{"d_model": 32, "n_heads": 4, "because": "known already"}],
    )
    divide = "d_model 32 is not divisible by n_heads 6; give head_dim, or heads that divide"
    assert {cell.label: cell.skipped for cell in found} == {
        "attention.n_kv_heads=1 n_heads=4 d_model=24": None,
        "attention.n_kv_heads=1 n_heads=4 d_model=32": "known already",
        "attention.n_kv_heads=1 n_heads=6 d_model=24": None,
        "attention.n_kv_heads=1 n_heads=6 d_model=32": divide,
        "attention.n_kv_heads=3 n_heads=4 d_model=24": (
            "attention 'gqa': n_kv_heads 3 does not divide n_heads 4"
        ),
        "attention.n_kv_heads=3 n_heads=4 d_model=32": "known already",
        "attention.n_kv_heads=3 n_heads=6 d_model=24": None,
        "attention.n_kv_heads=3 n_heads=6 d_model=32": divide,
    }
    assert [cell.architecture is None for cell in found] == [False, False, False, True] * 2
    assert len({cell.cell for cell in found}) == 8


def test_a_component_that_breaks_when_asked_is_left_to_its_trials() -> None:
    (cell,) = made({"position": ["broken"]})
    assert cell.skipped is None


def test_a_level_that_is_skipped_throughout_is_refused() -> None:
    text = (
        "name: x\nmeasures: [gradient_flow]\nmodel: {attention: gqa}\n"
        "factors:\n  attention.n_kv_heads: [1, 3]\n  norm: [layernorm, rmsnorm]\n"
        "exclude:\n  - {norm: rmsnorm, attention.n_kv_heads: 1, because: dull}\n"
    )
    given = load_grid(parse(text).data, parts())
    assert refused(given) == [
        "factors.attention.n_kv_heads[1]: every cell with attention.n_kv_heads=3 is skipped: "
        "attention 'gqa': n_kv_heads 3 does not divide n_heads 4",
        "factors.norm[1]: every cell with norm=rmsnorm is skipped: "
        "attention 'gqa': n_kv_heads 3 does not divide n_heads 4; dull",
    ]


def test_a_grid_that_is_skipped_throughout_is_refused_once() -> None:
    given = grid(
        {"norm": ["layernorm"], "depth": [2, 4]}, exclude=[{"norm": "layernorm", "because": "why"}]
    )
    assert refused(given) == ["factors: every cell is skipped: why"]


def test_a_skipped_baseline_is_no_error() -> None:
    given = grid(
        {"norm": ["layernorm", "rmsnorm"], "depth": [2, 4]},
        exclude=[{"norm": "layernorm", "depth": 2, "because": "why"}],
    )
    check_levels(given, cells(given, parts()))


def test_ten_thousand_cells_take_seconds() -> None:
    given = grid(
        {
            "norm": ["layernorm", "rmsnorm"],
            "norm.eps": [1e-5, 1e-6],
            "activation": ["gelu", "silu", "swiglu"],
            "attention.n_kv_heads": [1, 2, 4],
            "bias": [True, False],
            "depth": [2, 4, 6, 8, 12],
            "initializer.std": [0.01, 0.02, 0.03, 0.04, 0.05],
            "context": list(range(1, 7)),
        },
        model={"attention": "gqa"},
    )
    started = time.perf_counter()
    number = sum(1 for _ in cells(given, parts()))
    assert number == count(given) == 10_800
    assert time.perf_counter() - started < 30  # two seconds on an idle core
