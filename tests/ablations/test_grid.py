"""Grids read whole: what they hold, and every fault of a bad one in whole messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ablations.document import GridError
from ablations.grid import Grid, load_grid
from ablations.resolution import Setting
from registry import PluginRecord
from tests.ablations.test_resolution import parts

ROOT = Path(__file__).parents[2]
NORMS = "known: absent, layernorm, odd, rmsnorm, unannotated"
KEYS = (
    "activation, attention, bias, context, d_ff, d_model, depth, dropout, embedding_norm, "
    "embedding_scale, feed_forward, final_norm, head_dim, initializer, n_heads, norm, placement, "
    "position, residual, share_layers, tie_embeddings, vocab_size"
)
PREFIXES = (
    "activation, attention, bias, dropout, embedding_norm, feed_forward, gradient_flow, "
    "initializer, norm, parameters, placement, position, residual, training"
)
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
"""
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
    assert (grid.design, grid.device, grid.dtype) == ("full", "cpu", "float32")
    assert (grid.timeout, grid.threads) == (30.0, 1)
    rows = {row.key: row for row in grid.settings()}
    assert rows["depth"] == Setting("depth", "4", "given")
    assert rows["norm"] == Setting("norm", "layernorm | rmsnorm", "factor")
    assert "gradient_flow.batch" not in rows


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
    ("text", "baseline"),
    [
        ("factors: {norm: [rmsnorm, layernorm]}", {"norm": "rmsnorm"}),
        (
            "model: {norm: layernorm}\nfactors: {norm: [rmsnorm, layernorm]}",
            {"norm": "layernorm"},
        ),
        (
            "model: {norm: {layernorm: {eps: 1e-5}}}\nfactors: {norm: [rmsnorm, layernorm]}",
            {"norm": "layernorm"},
        ),
        (
            "model: {norm: {rmsnorm: {eps: 1}}}\nfactors: {norm.eps: [0.5, 1.0]}",
            {"norm.eps": "1.0"},
        ),
        ("model: {bias: false}\nfactors: {bias.qkv: [true, false]}", {"bias.qkv": "false"}),
        ("model: {bias: {qkv: false}}\nfactors: {bias.qkv: [true, false]}", {"bias.qkv": "false"}),
        (
            "factors: {depth: [2, 4], n_heads: [1, 2]}\nbaseline: {depth: 4}",
            {"depth": "4", "n_heads": "1"},
        ),
        (
            "factors: {norm: [rmsnorm, {layernorm: {eps: 1e-6}}]}\n"
            "baseline: {norm: layernorm(eps=1e-06)}",
            {"norm": "layernorm(eps=1e-06)"},
        ),
        (
            "factors: {bias: [true, {qkv: false}]}\nbaseline: {bias: {qkv: false, head: false}}",
            {"bias": "qkv=false"},
        ),
        ("factors: {head_dim: [null, 32]}\nbaseline: {head_dim: 32}", {"head_dim": "32"}),
        (
            "factors: {attention: [gqa, {gqa: {scale: 2}}], attention.n_kv_heads: [1, 2]}\n"
            "baseline: {attention: {gqa: {scale: 2.0}}, attention.n_kv_heads: 2}",
            {"attention": "gqa(scale=2)", "attention.n_kv_heads": "2"},
        ),
    ],
)
def test_the_baseline(tmp_path: Path, text: str, baseline: dict[str, str]) -> None:
    assert load(tmp_path, f"{HEAD}{text}\n").baseline == baseline


def test_what_a_measure_is_asked_for_is_the_baseline_of_its_factor(tmp_path: Path) -> None:
    text = "name: x\nfactors: {training.steps: [5, 10]}\nmeasures: [{training: {steps: 10}}]\n"
    assert load(tmp_path, text).baseline == {"training.steps": "10"}
    text = "name: x\nfactors: {training.steps: [5, 10]}\nmeasures: [training]\n"
    assert load(tmp_path, text).baseline == {"training.steps": "5"}


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
                "'gradient_flow' must be int > 0, not a",
                "grid.yaml:6:3: factors.training.steps: has no effect: measures does not ask for "
                "training",
            ],
        ),
        (
            "factors: {norm: [layernorm, rmsnorm], depth: [2, 4]}\n"
            "baseline: {norm: rmsnrom, nrom: rmsnorm, depth: 5}\n",
            [
                "grid.yaml:4:18: baseline.norm: rmsnrom is not a level of norm; "
                "did you mean 'rmsnorm'? known: layernorm, rmsnorm",
                "grid.yaml:4:27: baseline.nrom: is not a factor; did you mean 'norm'? "
                "known: depth, norm",
                "grid.yaml:4:49: baseline.depth: 5 is not a level of depth; known: 2, 4",
            ],
        ),
        (
            "factors: {norm: [layernorm, rmsnorm]}\n"
            "exclude: [3, {norm: x, because: y}, {because: z}, {norm: rmsnorm},\n"
            "  {norm: layernorm, because: a}, {norm: {layernorm: {}}, because: b},\n"
            "  {nrom: layernorm, because: ''}]\n",
            [
                "grid.yaml:4:11: exclude[0]: expected {factor: level, …, because: text}, not 3",
                "grid.yaml:4:21: exclude[1].norm: x is not a level of norm; "
                "known: layernorm, rmsnorm",
                "grid.yaml:4:37: exclude[2]: names no factor: give a level of one, or leave it out",
                "grid.yaml:4:51: exclude[3]: missing key 'because': why these cells are left out",
                "grid.yaml:5:34: exclude[5]: excludes the same cells as another exclusion",
                "grid.yaml:6:4: exclude[6].nrom: is not a factor; did you mean 'norm'? known: norm",
                "grid.yaml:6:30: exclude[6].because: expected text: why these cells are left out, "
                "not ''",
            ],
        ),
        (
            "factors: {norm: [layernorm]}\nseeds: [2, 1, 2]\n",
            ["grid.yaml:4:15: seeds[2]: seed 2 is given twice"],
        ),
        (
            "factors: {norm: [layernorm]}\nrequires: [ablations>=9, ablation, '>=1', 'a[b]']\n",
            [
                "grid.yaml:4:12: requires[0]: needs ablations>=9, but 0.1 is installed",
                "grid.yaml:4:26: requires[1]: plugin 'ablation' is not installed; "
                "did you mean 'ablations'? known: ablations",
                "grid.yaml:4:36: requires[2]: expected a plugin and its versions, "
                "such as 'my-plugin>=1.2', not '>=1'",
                "grid.yaml:4:43: requires[3]: expected a name and versions alone, "
                "such as 'my-plugin>=1.2', not 'a[b]'",
            ],
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
            "factors: {depth: [1, 2], attention: [[mha]], d_ff: [[1]]}\n",
            [
                "grid.yaml:3:38: factors.attention[0]: expected attention as name, "
                "{name: {option: value}} or {layers: [...]}, not a list of 1",
                "grid.yaml:3:53: factors.d_ff[0]: expected an integer from 1 to 2147483647, "
                "{multiple_of_d_model: number, round_to: integer}, {layers: [widths]} or null, "
                "not a list of 1",
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
                "grid.yaml:3:1: factors: 100,000,000 cells, more than the 10,000,000 that a grid "
                "may have"
            ],
        ),
    ],
)
def test_every_fault_is_told_at_once_with_its_place(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == expected


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "model: {norm: layernorm}\nfactors: {norm: [rmsnorm, {layernorm: {eps: 1}}]}\n",
            [
                "3:9: model.norm: layernorm has no effect: it is not a level of factor norm; did "
                "you mean 'layernorm(eps=1)'? known: layernorm(eps=1), rmsnorm"
            ],
        ),
        (
            "model: {attention: {gqa: {n_kv_heads: 4}}, bias: {qkv: true}}\n"
            "factors: {attention.n_kv_heads: [1, 2], bias.qkv: [false]}\n",
            [
                "3:27: model.attention.gqa.n_kv_heads: 4 has no effect: it is not a level of "
                "factor attention.n_kv_heads; known: 1, 2",
                "3:51: model.bias.qkv: true has no effect: it is not a level of factor bias.qkv; "
                "known: false",
            ],
        ),
        (
            "factors: {dropout: [0, 0.1], dropout.residual: [0, 0.1]}\n",
            [
                "3:11: factors.dropout: has no effect: nothing that is measured (gradient_flow) "
                "trains",
                "3:30: factors.dropout.residual: has no effect: nothing that is measured "
                "(gradient_flow) trains",
            ],
        ),
        (
            "factors:\n  head_dim: [null, 64]\n  d_ff: [null, 1024, {multiple_of_d_model: 4}]\n",
            [
                "4:3: factors.head_dim: has no effect: all its levels describe the same model",
                "5:3: factors.d_ff: has no effect: all its levels describe the same model",
            ],
        ),
        (
            "model: {feed_forward: own}\nfactors: {activation: [gelu, silu]}\n",
            [
                "4:11: factors.activation: has no effect: no other component of the grid uses its "
                "activation"
            ],
        ),
        (
            "factors:\n  bias: [true, false]\n  bias.qkv: [true, false]\n  bias.out: [true]\n"
            "  bias.feed_forward: [true, false]\n",
            ["4:3: factors.bias: has no effect: all its levels describe the same model"],
        ),
        (
            "factors:\n  embedding_norm: [null, rmsnorm]\n  embedding_norm.eps: [1, 2]\n",
            [
                "5:3: factors.embedding_norm.eps: has no effect where embedding_norm is null: give "
                "a norm at every level"
            ],
        ),
        (
            "factors:\n  bias: [true, {qkv: false}]\n  bias.qkv: [true, false]\n",
            ["4:17: factors.bias[1].qkv: has no effect: factor bias.qkv sets it"],
        ),
        (
            "model: {n_heads: 3}\nfactors: {norm: [layernorm, rmsnorm]}\n",
            [
                "3:18: model.n_heads: d_model 256 is not divisible by n_heads 3; give head_dim, "
                "or heads that divide"
            ],
        ),
        (
            "factors: {n_heads: [2, 3, 4], norm: [layernorm, rmsnorm]}\n",
            [
                "3:24: factors.n_heads[1]: no cell with n_heads=3 is possible: d_model 256 is not "
                "divisible by n_heads 3; give head_dim, or heads that divide"
            ],
        ),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == [f"grid.yaml:{line}" for line in expected]


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


@pytest.mark.parametrize(
    "text",
    [
        "factors: {d_ff: [null, 1024], activation: [gelu, swiglu]}",
        "factors: {head_dim: [null, 64], d_model: [256, 128]}",
        "factors: {bias: [true, false], bias.qkv: [true, false]}",
        "factors: {n_heads: [3, 4], head_dim: [null, 32]}",
        "factors: {dropout: [0.1]}",
        "factors: {norm: [{layers: [layernorm, rmsnorm]}, layernorm]}",
        "factors: {feed_forward: [mlp, own], activation: [gelu, silu]}",
        "model: {attention: gqa}\nfactors: {attention.n_kv_heads: [1, 2]}",
        "factors: {embedding_norm: [null, layernorm]}",
        "factors: {final_norm: [auto, true, false], tie_embeddings: [true, false]}",
    ],
)
def test_what_may_have_an_effect_is_let_pass(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, f"{HEAD}{text}\n").factors


def test_requirements_look_at_what_failed_and_at_versions(tmp_path: Path) -> None:
    broken = PluginRecord(name="My_Plugin:x", version="2", state="failed", message="no module")
    undated = PluginRecord(name="module", version="", state="loaded")
    text = HEAD + "factors: {norm: [layernorm]}\nrequires: [my-plugin, module>=1]\n"
    assert refused(tmp_path, text, broken, undated) == [
        "grid.yaml:4:12: requires[0]: plugin 'My_Plugin:x' failed to load: no module",
        "grid.yaml:4:23: requires[1]: needs module>=1, but without a version is installed",
    ]


def test_broken_parts_are_told_where_they_are_chosen(tmp_path: Path) -> None:
    text = HEAD + "factors:\n  norm: [absent, unannotated, layernorm]\n  norm.eps: [1, 2]\n"
    assert refused(tmp_path, text) == [
        "grid.yaml:4:10: factors.norm[0].absent: nowhere.at_all:Norm cannot be loaded: "
        "ModuleNotFoundError: No module named 'nowhere'",
        "grid.yaml:4:18: factors.norm[1].unannotated: option 'size' of "
        "tests.ablations.test_resolution.Unannotated has no annotation",
    ]


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
        },
    )
)
@settings(max_examples=250, deadline=None)
def test_any_mapping_of_the_right_keys_is_read_or_refused(mapping: dict[str, Any]) -> None:
    _read_or_refused(mapping)
