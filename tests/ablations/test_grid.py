"""Grids read whole: what they hold, and every fault of a bad one in whole messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ablations.grid import Grid, load_grid
from ablations.grids.document import GridError
from ablations.grids.settings import Setting
from tests.ablations.dummies import parts
from tests.ablations.loading import HEAD, KEYS, NORMS, load, refused

ROOT = Path(__file__).parents[2]
GOOD = """\
name: norm-placement
model: {depth: 4, n_heads: 4}
factors:
  norm: [layernorm, rmsnorm]
  attention: [mha, {gqa: {n_kv_heads: 2}}]
  bias: [true, false]
  gradient_flow.batch: [2, 4]
baseline: {norm: rmsnorm, attention: {gqa: {n_kv_heads: 2}}}
seeds: [3, 1]
measures: [parameters, gradient_flow]
exclude:
  - {norm: rmsnorm, bias: false, because: nobody builds it}
requires: ["Ablations>=0.1"]
device: auto
timeout: 30
memory: 1.5 GiB
"""


def test_a_grid_holds_what_its_file_says(tmp_path: Path) -> None:
    grid = load(tmp_path, GOOD)
    assert grid.name == "norm-placement"
    assert grid.text == GOOD
    assert (grid.model["depth"], grid.model["d_model"], grid.model["norm"]) == (
        4,
        256,
        "layernorm",
    )
    assert [(f.name, f.scope, [level.label for level in f.levels]) for f in grid.factors] == [
        ("norm", "model", ["layernorm", "rmsnorm"]),
        ("attention", "model", ["mha", "gqa(n_kv_heads=2)"]),
        ("bias", "model", ["true", "false"]),
        ("gradient_flow.batch", "measure", ["2", "4"]),
    ]
    assert grid.factors[1].levels[1].value == {"gqa": {"n_kv_heads": 2}}
    assert grid.baseline == {
        "norm": "rmsnorm",
        "attention": "gqa(n_kv_heads=2)",
        "bias": "true",
        "gradient_flow.batch": "2",
    }
    assert grid.seeds == (3, 1)
    assert [asked.choice.name for asked in grid.measures] == ["parameters", "gradient_flow"]
    assert grid.measures[1].choice.options == {"batch": 2}
    (exclusion,) = grid.exclude
    assert exclusion.when == {"norm": "rmsnorm", "bias": "false"}
    assert exclusion.because == "nobody builds it"
    assert (grid.design, grid.device, grid.dtype) == ("full", "auto", "float32")
    assert (grid.timeout, grid.memory, grid.threads) == (30.0, 3 * 2**29, 1)
    rows = {row.key: row for row in grid.settings()}
    assert rows["depth"] == Setting("depth", "4", "given")
    assert rows["norm"] == Setting("norm", "layernorm | rmsnorm", "factor")
    assert rows["gradient_flow.batch"] == Setting("gradient_flow.batch", "2 | 4", "factor")
    assert rows["seeds"] == Setting("seeds", "[3, 1]", "given")
    assert rows["timeout"] == Setting("timeout", "30.0", "given")
    assert rows["memory"] == Setting("memory", "1.5 GiB", "given")
    assert rows["dtype"] == Setting("dtype", "float32", "default")


def test_a_mapping_is_a_grid_too(tmp_path: Path) -> None:
    mapping = {
        "name": "x",
        "factors": {"norm": ("layernorm", "rmsnorm")},
        "measures": ["parameters"],
        "seeds": 2,
    }
    grid = load_grid(mapping, parts())
    assert grid.seeds == (0, 1)
    assert load(tmp_path, grid.text) == grid
    with pytest.raises(GridError) as caught:
        load_grid({**mapping, "model": {"nrom": 1}}, parts())
    assert str(caught.value) == f"model.nrom: unknown key; did you mean 'norm'? known: {KEYS}"


def test_the_grid_at_the_root_is_the_documented_one() -> None:
    text = (ROOT / "grid.yaml").read_text(encoding="utf-8")
    for line in (
        "attention: [mha, {gqa: {n_kv_heads: 2}}, mqa]",
        "seeds: 5",
        "bias: [true, false]",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "factors: {norm: [layernorm]}\nseeds: [2, 1, 2]\n",
            ["grid.yaml:4:15: seeds[2]: seed 2 is given twice"],
        ),
        (
            "model: {norm: nrom, depth: -3, heads: 3}\nfactors: {activation: [gelu, sliu]}\n",
            [
                f"grid.yaml:3:15: model.norm: unknown norm 'nrom'; {NORMS}",
                "grid.yaml:3:28: model.depth: expected an integer from 1 to 4096, not -3",
                f"grid.yaml:3:32: model.heads: unknown key; did you mean 'n_heads'? known: {KEYS}",
                "grid.yaml:4:30: factors.activation[1]: unknown activation 'sliu'; "
                "did you mean 'silu'? known: gelu, silu, swiglu",
            ],
        ),
        (
            "\n".join(
                [
                    "factors:",
                    *(
                        f"  {key}: [{', '.join(map(str, range(1, 101)))}]"
                        for key in ("depth", "n_heads", "context", "vocab_size")
                    ),
                ]
            ),
            [
                "grid.yaml:3:1: factors: 100,000,000 cells, more than the 1,000,000 that a grid "
                "may have"
            ],
        ),
        (
            f"factors: {{context: {list(range(1, 1001))}, depth: [1, 2]}}\nseeds: 10000",
            [
                "grid.yaml:3:1: factors: 20,000,000 trials, more than the 10,000,000 that a grid "
                "may have"
            ],
        ),
        (
            f"factors: {{depth: [1, 4096], context: {list(range(1, 201))}, "
            f"vocab_size: {list(range(1, 101))}}}",
            [
                "grid.yaml:3:1: factors: 163,840,000 blocks, more than the 100,000,000 that a grid "
                "may have"
            ],
        ),
    ],
)
def test_every_fault_is_told_at_once_with_its_place(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == expected


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(GridError, match=r"^\S+absent\.yaml: no such file$"):
        load_grid(tmp_path / "absent.yaml", parts())


TOKENS = [
    *("norm", "rmsnorm", "mha", "gqa", "depth", "bias", "factors", "model", "seeds", "measures"),
    *("baseline", "exclude", "because", "layers", "gradient_flow", "attention.n_kv_heads"),
    *("{}", "[]", "null", "-1", "0", "1e-3", ".nan", "true", "''", "&a", "*a", "!x", "\t", "\n"),
    *(": ", ", ", "{", "}", "[", "]", "- ", "#", '"', "'", "1e999", "99999999999999999999", "é"),
]


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(GOOD)),
            st.integers(0, 12),
            st.sampled_from(TOKENS) | st.text(max_size=4),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_mutated_grid_is_read_or_refused(
    tmp_path: Path, edits: list[tuple[int, int, str]]
) -> None:
    text = GOOD
    for at, removed, added in edits:
        text = text[:at] + added + text[at + removed :]
    (tmp_path / "grid.yaml").write_bytes(text.encode("utf-8", errors="surrogatepass"))
    _read_or_refused(tmp_path / "grid.yaml")


def _read_or_refused(source: Any) -> None:
    outcome: Grid | GridError
    try:
        outcome = load_grid(source, parts())
    except GridError as error:
        outcome = error
    if isinstance(outcome, Grid):
        assert set(outcome.baseline) == {factor.name for factor in outcome.factors}
    else:
        assert outcome.findings
        assert all(len(str(finding).splitlines()) == 1 for finding in outcome.findings)


VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, -1, 2, 0.5, float("nan"), "x", "rmsnorm", "gqa", "mha"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["rmsnorm", "gqa", "layers", "eps", "n_kv_heads", "qkv", "because"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)
NAMES = ["norm", "norm.eps", "attention", "attention.n_kv_heads", "bias", "bias.qkv", "d_ff"]
NAMES += ["embedding_norm", "embedding_norm.eps", "gradient_flow.batch", "training.steps", "depth"]


@given(
    st.fixed_dictionaries(
        {
            "name": st.just("x"),
            "factors": st.dictionaries(
                st.sampled_from(NAMES), st.lists(VALUES, max_size=3), max_size=4
            ),
            "measures": st.lists(st.sampled_from(["parameters", "gradient_flow"]) | VALUES),
        },
        optional={
            "model": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
            "baseline": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3) | VALUES,
            "exclude": st.lists(
                st.dictionaries(st.sampled_from([*NAMES, "because"]), VALUES), max_size=2
            ),
            "seeds": VALUES,
            "requires": VALUES,
            "recipe": st.sampled_from(["gpt2", "llama-3-8b", "gemma-2-2b", "x"]) | VALUES,
            "scale_to": st.dictionaries(
                st.sampled_from(["d_model", "depth", "context"]), st.integers(0, 99) | VALUES
            ),
            "design": st.sampled_from(["full", "one_at_a_time"]) | VALUES,
        },
    )
)
@settings(max_examples=250, deadline=None)
def test_any_mapping_of_the_right_keys_is_read_or_refused(mapping: dict[str, Any]) -> None:
    _read_or_refused(mapping)
