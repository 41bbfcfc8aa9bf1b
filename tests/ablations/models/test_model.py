"""Defaults of a model, and values that stand for several."""

from ablations.models.model import Bias, Dropout, Model


def test_the_defaults_of_a_model() -> None:
    assert Model().model_dump() == {
        "norm": "layernorm",
        "activation": "gelu",
        "feed_forward": "mlp",
        "attention": "mha",
        "position": "learned",
        "residual": "add",
        "placement": "pre",
        "initializer": "normal",
        "depth": 12,
        "d_model": 256,
        "n_heads": 4,
        "context": 64,
        "vocab_size": 256,
        "head_dim": None,
        "d_ff": None,
        "bias": True,
        "tie_embeddings": False,
        "final_norm": "auto",
        "embedding_norm": None,
        "embedding_scale": 1.0,
        "embedding_dim": None,
        "logit_scale": 1.0,
        "logit_softcap": None,
        "dropout": 0.0,
        "share_layers": 1,
    }


def test_one_flag_sets_the_linears_and_leaves_the_head() -> None:
    assert Model().biases == Bias(qkv=True, out=True, feed_forward=True, head=False)
    assert Model(bias=False).biases == Bias(qkv=False, out=False, feed_forward=False, head=False)
    mapping = Model.model_validate({"bias": {"qkv": False, "head": True}})
    assert mapping.biases == Bias(qkv=False, out=True, feed_forward=True, head=True)


def test_one_rate_sets_both() -> None:
    assert Model(dropout=0.1).rates == Dropout(attention=0.1, residual=0.1)
    mapping = Model.model_validate({"dropout": {"residual": 1}})
    assert mapping.rates == Dropout(attention=0.0, residual=1.0)
