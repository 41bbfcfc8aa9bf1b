"""Every value of a model with its origin."""

from __future__ import annotations

from ablations.grids.settings import Setting, run_settings, settings
from registry.spec import Choice
from tests.ablations.dummies import parts


def test_settings_tell_every_value_and_where_it_comes_from() -> None:
    rows = settings(
        {"attention": {"gqa": {"n_kv_heads": 2}}, "bias": {"qkv": False}, "depth": 4},
        parts(),
        given={"attention", "bias", "bias.qkv", "depth"},
        factors={
            "norm": ["layernorm", {"rmsnorm": {"eps": 1e-6}}],
            "attention.n_kv_heads": [1, 2],
            "bias.out": [True, False],
        },
    )
    assert rows == (
        Setting("norm", "layernorm | rmsnorm(eps=1e-06)", "factor"),
        Setting("norm=layernorm.eps", "1e-05", "default"),
        Setting("norm=rmsnorm(eps=1e-06).eps", "1e-06", "given"),
        Setting("activation", "gelu", "default"),
        Setting("feed_forward", "mlp", "default"),
        Setting("attention", "gqa(n_kv_heads=2)", "given"),
        Setting("attention.n_kv_heads", "1 | 2", "factor"),
        Setting("attention.scale", "null", "default"),
        Setting("position", "learned", "default"),
        Setting("residual", "add", "default"),
        Setting("placement", "pre", "default"),
        Setting("initializer", "normal", "default"),
        Setting("initializer.std", "0.02", "default"),
        Setting("depth", "4", "given"),
        Setting("d_model", "256", "default"),
        Setting("n_heads", "4", "default"),
        Setting("context", "64", "default"),
        Setting("vocab_size", "256", "default"),
        Setting("head_dim", "d_model / n_heads", "default"),
        Setting("d_ff", "4·d_model, gated 8/3·d_model rounded up to a multiple of 8", "default"),
        Setting("bias.qkv", "false", "given"),
        Setting("bias.out", "true | false", "factor"),
        Setting("bias.feed_forward", "true", "default"),
        Setting("bias.head", "false", "default"),
        Setting("tie_embeddings", "false", "default"),
        Setting("final_norm", "auto", "default"),
        Setting("embedding_norm", "null", "default"),
        Setting("embedding_scale", "1.0", "default"),
        Setting("embedding_dim", "d_model", "default"),
        Setting("logit_scale", "1.0", "default"),
        Setting("logit_softcap", "null", "default"),
        Setting("dropout.attention", "0.0", "default"),
        Setting("dropout.residual", "0.0", "default"),
        Setting("share_layers", "1", "default"),
    )


def test_settings_of_layers_and_of_a_varied_whole_with_a_varied_part() -> None:
    rows = settings(
        {"attention": {"layers": ["mha", {"mha": {"window": 8}}]}},
        parts(),
        factors={"bias": [True, False], "bias.head": [True, False]},
    )
    found = {row.key: (row.value, row.origin) for row in rows}
    assert found["attention"] == ("layers(mha, mha(window=8))", "default")
    assert found["attention[0].window"] == ("null", "default")
    assert found["attention[1].window"] == ("8", "given")
    assert found["bias"] == found["bias.head"] == ("true | false", "factor")


def test_settings_of_a_run_tell_measures_and_keys() -> None:
    flow = Choice(
        name="flow",
        target="a:Flow",
        options={"length": None, "batch": 2, "loss": "sum"},
        given=frozenset({"loss"}),
    )
    rows = run_settings(
        [flow],
        {"seeds": [0, 1], "dtype": "float32"},
        given={"seeds", "name"},
        factors={"flow.batch": [2, 4]},
    )
    assert rows == (
        Setting("flow.batch", "2 | 4", "factor"),
        Setting("flow.length", "null", "default"),
        Setting("flow.loss", "sum", "given"),
        Setting("seeds", "[0, 1]", "given"),
        Setting("dtype", "float32", "default"),
    )
