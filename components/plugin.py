"""Registers the built-in components; imports none of them."""

from __future__ import annotations

from collections.abc import Mapping

from registry import ComponentSpec, Example, Kind, hookimpl

SEES_ALL = "kept for experiments: without a causal mask a token sees later ones"

EXAMPLES: Mapping[tuple[Kind, str], tuple[Example, ...]] = {
    (Kind.NORM, "layernorm"): (Example(), Example(options={"weight": False, "bias": False})),
    (Kind.NORM, "rmsnorm"): (
        Example(),
        Example(options={"bias": True}),
        Example(options={"unit_offset": True}),
    ),
    (Kind.ATTENTION, "mha"): (
        Example(),
        Example(options={"qk_norm": "per_head"}),
        Example(options={"qk_norm": "full_width", "window": 3}),
        Example(options={"scale": "none"}),
        Example(options={"qkv": "separate"}),
        Example(options={"softcap": 2.0}),
        Example(
            options={"causal": False},
            expected_failures={"causality": SEES_ALL, "prefix": SEES_ALL, "weights": SEES_ALL},
        ),
    ),
    (Kind.ATTENTION, "gqa"): (
        Example(options={"n_kv_heads": 2}),
        Example(options={"n_kv_heads": 2, "qk_norm": "full_width", "window": 3}),
        Example(options={"n_kv_heads": 2, "softcap": 2.0, "window": 3}),
    ),
    (Kind.ATTENTION, "mqa"): (Example(), Example(options={"window": 3})),
    (Kind.POSITION, "learned"): (Example(), Example(options={"offset": 2})),
    (Kind.POSITION, "sinusoidal"): (
        Example(),
        Example(options={"amplitude": 0.1}),
        Example(options={"layout": "halves", "offset": 2}),
    ),
    (Kind.POSITION, "rope"): (
        Example(),
        Example(options={"fraction": 0.5, "style": "pairs"}),
        Example(options={"theta": 100.0, "stretch": [4.0, 20]}),
    ),
    (Kind.POSITION, "alibi"): (Example(), Example(options={"scaled": True})),
    (Kind.RESIDUAL, "scaled"): (Example(), Example(options={"per_channel": True})),
    (Kind.RESIDUAL, "none"): (
        Example(
            expected_failures={
                "uses_both": "dropping the stream is what it is for, as the reference"
            }
        ),
    ),
    (Kind.PLACEMENT, "parallel"): (Example(), Example(options={"norms": 2})),
    (Kind.INITIALIZER, "xavier"): (Example(), Example(options={"distribution": "uniform"})),
}
"""The options with which a component is tried; one not named here is tried with its defaults."""


@hookimpl
def register_components() -> list[ComponentSpec]:
    """Every built-in component, by kind."""
    return [
        *_specs(
            Kind.NORM,
            "norms",
            ("layernorm", "LayerNorm", "mean 0 and variance 1 in each token", "arXiv:1607.06450"),
            ("rmsnorm", "RMSNorm", "root mean square 1 in each token", "arXiv:1910.07467"),
            ("none", "NoNorm", "no norm: the identity", ""),
        ),
        *_specs(
            Kind.ACTIVATION,
            "activations",
            ("relu", "ReLU", "max(x, 0)", "arXiv:1706.03762"),
            ("relu_squared", "ReLUSquared", "max(x, 0)²", "arXiv:2109.08668"),
            ("gelu", "GELU", "x · Φ(x), exact", "arXiv:1606.08415"),
            ("gelu_tanh", "GELUTanh", "x · Φ(x), in its tanh form", "arXiv:1606.08415"),
            ("silu", "SiLU", "x · σ(x)", "arXiv:1702.03118"),
            ("swiglu", "SwiGLU", "gated: silu(gate) · up", "arXiv:2002.05202"),
            ("geglu", "GEGLU", "gated: gelu(gate) · up, exact", "arXiv:2002.05202"),
            (
                "geglu_tanh",
                "GEGLUTanh",
                "gated: gelu(gate) · up, in its tanh form",
                "arXiv:2002.05202",
            ),
            ("reglu", "ReGLU", "gated: max(gate, 0) · up", "arXiv:2002.05202"),
            ("glu", "GLU", "gated: σ(gate) · up", "arXiv:2002.05202"),
        ),
        *_specs(
            Kind.FEED_FORWARD,
            "feed_forwards",
            (
                "mlp",
                "MLP",
                "two linear layers around an activation, three around a gated one",
                "arXiv:1706.03762",
            ),
        ),
        *_specs(
            Kind.ATTENTION,
            "attention",
            (
                "mha",
                "MultiHeadAttention",
                "each query head with a key/value head of its own",
                "arXiv:1706.03762",
            ),
            (
                "gqa",
                "GroupedQueryAttention",
                "groups of query heads share a key/value head",
                "arXiv:2305.13245",
            ),
            (
                "mqa",
                "MultiQueryAttention",
                "all query heads share one key/value head",
                "arXiv:1911.02150",
            ),
        ),
        *_specs(
            Kind.POSITION,
            "positions",
            ("none", "NoPosition", "no position but the causal mask", "arXiv:2305.19466"),
            ("learned", "Learned", "a learned vector for each position", "arXiv:1705.03122"),
            ("sinusoidal", "Sinusoidal", "fixed sines and cosines, added", "arXiv:1706.03762"),
            ("rope", "Rotary", "queries and keys rotated by position", "arXiv:2104.09864"),
            ("alibi", "ALiBi", "scores lowered in proportion to distance", "arXiv:2108.12409"),
        ),
        *_specs(
            Kind.RESIDUAL,
            "residuals",
            ("add", "Add", "x + update", "arXiv:1512.03385"),
            (
                "scaled",
                "Scaled",
                "x + update times a constant, or a learned factor a channel (LayerScale)",
                "arXiv:2103.17239",
            ),
            (
                "gated",
                "Gated",
                "x + update times one learned number (ReZero)",
                "arXiv:2003.04887",
            ),
            ("none", "NoResidual", "the update alone", ""),
        ),
        *_specs(
            Kind.PLACEMENT,
            "placements",
            ("pre", "Pre", "norm before each sublayer", "arXiv:2002.04745"),
            ("post", "Post", "norm on the stream after each residual", "arXiv:1706.03762"),
            (
                "sandwich",
                "Sandwich",
                "norm before and after each sublayer, inside the residual (Gemma 2)",
                "arXiv:2408.00118",
            ),
            (
                "post_sublayer",
                "PostSublayer",
                "norm on each sublayer's output (OLMo 2)",
                "arXiv:2501.00656",
            ),
            (
                "parallel",
                "Parallel",
                "attention and feed-forward side by side (GPT-J, GPT-NeoX)",
                "arXiv:2204.06745",
            ),
            (
                "deepnorm",
                "DeepNorm",
                "post-norm with a widened stream and narrowed branches",
                "arXiv:2203.00555",
            ),
        ),
        *_specs(
            Kind.INITIALIZER,
            "initializers",
            ("normal", "Normal", "one normal distribution for every weight", "arXiv:1810.04805"),
            (
                "gpt2",
                "GPT2",
                "normal, narrower by sqrt(2 · depth) where a sublayer ends",
                "Radford et al. 2019",
            ),
            (
                "xavier",
                "Xavier",
                "variance 2 / (fan_in + fan_out)",
                "Glorot and Bengio 2010",
            ),
            (
                "kaiming_uniform",
                "KaimingUniform",
                "uniform within 1 / sqrt(fan_in), torch's default for linear layers",
                "arXiv:1502.01852",
            ),
        ),
    ]


def _specs(kind: Kind, file: str, *entries: tuple[str, str, str, str]) -> list[ComponentSpec]:
    return [
        ComponentSpec(
            kind=kind,
            name=name,
            target=f"components.{file}:{cls}",
            summary=summary,
            source=source,
            examples=EXAMPLES.get((kind, name), ()),
        )
        for name, cls, summary, source in entries
    ]
