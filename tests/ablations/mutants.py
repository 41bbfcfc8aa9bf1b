"""Valid grids of all kinds, and what can be done to them: the input of the mutation tests."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from ablations.grids.document import dump

SMALL = {"depth": 2, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 256}

GRIDS: tuple[dict[str, Any], ...] = (
    {
        "name": "plain",
        "model": SMALL,
        "factors": {"norm": ["layernorm", "rmsnorm"], "placement": ["pre", "post"]},
        "baseline": {"norm": "rmsnorm"},
        "seeds": 2,
        "measures": ["parameters", "gradient_flow"],
    },
    {
        "name": "options",
        "model": {**SMALL, "attention": {"gqa": {"n_kv_heads": 2}}, "bias": {"qkv": False}},
        "factors": {
            "attention.n_kv_heads": [1, 2],
            "bias.out": [True, False],
            "dropout.residual": [0.0, 0.1],
            "training.learning_rate": [0.001, 0.01],
        },
        "seeds": [0, 7],
        "placebo": True,
        "measures": [
            {"training": {"steps": 4, "schedule": "cosine", "betas": [0.9, 0.99], "probes": [0]}},
            {"attention_map": {"layers": [0], "heads": [1]}},
        ],
        "timeout": 60.0,
        "threads": 1,
    },
    {
        "name": "recipe",
        "recipe": "llama-3-8b",
        "scale_to": {"d_model": 64, "depth": 2, "context": 16},
        "model": {"vocab_size": 256},
        "design": "one_at_a_time",
        "factors": {
            "norm": ["rmsnorm", "layernorm"],
            "attention.n_kv_heads": [2, 1],
            "placement": ["pre", "post", "sandwich"],
        },
        "measures": [{"costs": {"contexts": [8], "weights": "float16"}}, "signal_propagation"],
    },
    {
        "name": "layers",
        "model": {
            **SMALL,
            "depth": 4,
            "d_ff": {"multiple_of_d_model": 2.5, "round_to": 4},
            "position": {"rope": {"fraction": 0.5}},
            "initializer": {"normal": {"std": 0.01}},
            "embedding_norm": "rmsnorm",
            "share_layers": 2,
        },
        "factors": {
            "attention": ["mha", {"layers": ["mha", "mha", "mqa", "mqa"]}, "mqa"],
            "activation": ["gelu", "swiglu"],
            "initializer.std": [0.01, 0.02],
            "gradient_flow.batch": [1, 2],
        },
        "exclude": [{"attention": "mqa", "activation": "gelu", "because": "not asked for"}],
        "requires": ["ablations>=0.1"],
        "dtype": "float64",
        "device": "auto",
        "measures": [{"gradient_flow": {"loss": "sum", "data": "random"}}, {"one_step": {}}],
    },
)

KNOWN = ("norm", "rmsnorm", "mha", "gqa", "layers", "null", "true", "depth", "training")
MEANT = ("because", "model", "gpt2", "text", "random", "recall")
FACTORS = ("parameters", "attention.n_kv_heads", "placebo", "norm.", ".norm")
AWKWARD = (
    "",
    " ",
    ".",
    "..",
    "a/b",
    "\0",
    "\x1b[31m",
    "\u202e",
    "<b>",
    "=1+1",
    "%s",
    "{}",
    "é",
    "🎉",
)
READ_OTHERWISE = ("\n", "1e999", "yes", "<<", "~", "$x$", "-", "__class__", "x" * 3000)
WORDS = st.sampled_from((*KNOWN, *MEANT, *FACTORS, *AWKWARD, *READ_OTHERWISE))
NUMBERS = st.sampled_from((0, 1, 2, 3, 7, 16, -1, 10**6, 2**31 - 1, 2**31, 2**62, -(2**63)))
SCALARS = (
    WORDS
    | NUMBERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from((None, True, False, 0.5, 1e308, 5e-324))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A valid grid, and in it one to four things that are another, gone, doubled or moved."""
    grid = copy.deepcopy(draw(st.sampled_from(GRIDS)))
    for _ in range(draw(st.integers(1, 4))):
        holder, key = draw(st.sampled_from(_places(grid)))
        _mutate(draw, grid, holder, key)
    return grid


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The text of a valid grid, as YAML or as JSON, with bytes put in, taken out and changed."""
    grid = draw(st.sampled_from(GRIDS))
    text = bytearray(draw(st.sampled_from((dump(grid), json.dumps(grid, indent=1)))).encode())
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        text[start:end] = draw(st.binary(max_size=4) | st.sampled_from(PIECES))
    return bytes(text)


SYNTAX = (
    ": ",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    "|\n",
    ">\n",
    '"',
    "'",
    "#",
    "@",
    "\n",
    "\n  ",
    "\t",
)
BEYOND_PLAIN = ("&a ", "*a", "<<: *a", "!!python/object:os.system ", "!x ", "%YAML 1.1\n", "---\n")
CHARACTERS = ("\0", "\ufeff", "\x85", "\u2028", "\\ud800", '"\\ud800"', '"\\x1b"', "9" * 5000)
PIECES = tuple(piece.encode() for piece in (*SYNTAX, *BEYOND_PLAIN, *CHARACTERS))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a grid: what holds it, and its key or index there."""
    if isinstance(value, dict):
        inside = [(value, key) for key in value]
    elif isinstance(value, list):
        inside = [(value, index) for index in range(len(value))]
    else:
        return []
    return [*inside, *(place for holder, key in inside for place in _places(holder[key]))]


def _mutate(draw: st.DrawFn, grid: Any, holder: Any, key: Any) -> None:
    kind = draw(st.sampled_from(("set", "swap", "remove", "rename", "add", "move", "wrap")))
    if kind == "set":
        holder[key] = draw(VALUES)
    elif kind == "swap":
        holder[key] = _another_type(holder[key])
    elif kind == "remove":
        if len(grid) > 1 or holder is not grid:
            del holder[key]
    elif kind == "move":
        other, place = draw(st.sampled_from(_places(grid)))
        holder[key] = copy.deepcopy(other[place])
    elif kind == "wrap":
        holder[key] = draw(st.sampled_from(([holder[key]], {"layers": [holder[key]]})))
    elif isinstance(holder, list):
        holder.insert(key, draw(VALUES) if kind == "add" else copy.deepcopy(holder[key]))
    else:
        name = draw(WORDS | st.sampled_from(NAMES))
        holder[name] = draw(VALUES) if kind == "add" else holder.pop(key)


NAMES = ("attention", "dropout", "bias.qkv", "gradient_flow.loss", "one_step.momentum", "d_ff")


def _another_type(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, (int, float)):
        return str(value) if isinstance(value, int) else [value]
    if isinstance(value, str):
        return {value: None}
    return list(value) if isinstance(value, dict) else dict.fromkeys(map(str, value), 1)
