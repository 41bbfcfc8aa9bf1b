from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from registry import Incompatible, ParameterRole
from tests.components.makers import (
    ATTENTIONS,
    DEFAULTS,
    POSITIONS,
    Choice,
    build,
    dims,
    embedded,
    label,
    randomize,
    tokens,
)

HEADS, HEAD_DIM, WIDTH = 4, 8, 16
KV_HEADS = {"mha": 4, "gqa": 2, "mqa": 1}


def attention(choice: Choice, *, dtype: torch.dtype = torch.float64, **options: Any) -> Any:
    """An attention with every parameter random; `norm` and sizes of `Dims` may be given too."""
    name, own = (choice, {}) if isinstance(choice, str) else choice
    sizes = {key: options.pop(key) for key in list(options) if hasattr(dims(), key)}
    n_kv_heads = sizes.pop("n_kv_heads", None)
    if n_kv_heads is not None:
        own = {"n_kv_heads": n_kv_heads}
    parts = {**DEFAULTS, "norm": options.pop("norm", "rmsnorm")}
    module = build("attention", (name, {**own, **options}), dims(**sizes), parts)
    return randomize(module, dtype=dtype)


def by_hand(
    module: Any,
    x: Tensor,
    n_kv_heads: int,
    *,
    scale: float = HEAD_DIM**-0.5,
    window: int | None = None,
    causal: bool = True,
    qk_norm: str = "none",
    softcap: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Output and weights, query by query, from the parameters by name."""
    p = module.state_dict()
    projected = x @ p["qkv.weight"].T + p["qkv.bias"]
    q_width, k_width = HEADS * HEAD_DIM, n_kv_heads * HEAD_DIM
    q = projected[..., :q_width]
    k = projected[..., q_width : q_width + k_width]
    v = projected[..., q_width + k_width :]

    def rms(part: Tensor, weight: Tensor) -> Tensor:
        return part / (part.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    if qk_norm == "full_width":
        q, k = rms(q, p["q_norm.weight"]), rms(k, p["k_norm.weight"])
    length = x.shape[1]
    heads = torch.zeros(len(x), length, q_width, dtype=x.dtype)
    weights = torch.zeros(len(x), HEADS, length, length, dtype=x.dtype)
    for batch in range(len(x)):
        for head in range(HEADS):
            own = slice(head * HEAD_DIM, (head + 1) * HEAD_DIM)
            group = head * n_kv_heads // HEADS
            shared = slice(group * HEAD_DIM, (group + 1) * HEAD_DIM)
            queries, keys, values = q[batch, :, own], k[batch, :, shared], v[batch, :, shared]
            if qk_norm == "per_head":
                queries, keys = rms(queries, p["q_norm.weight"]), rms(keys, p["k_norm.weight"])
            for t in range(length):
                seen = [
                    s
                    for s in range(length)
                    if (s <= t or not causal) and (window is None or abs(t - s) < window)
                ]
                scores = [scale * float(queries[t] @ keys[s]) for s in seen]
                if softcap is not None:
                    scores = [softcap * math.tanh(score / softcap) for score in scores]
                total = sum(math.exp(score) for score in scores)
                for s, score in zip(seen, scores, strict=True):
                    weights[batch, head, t, s] = math.exp(score) / total
                heads[batch, t, own] = weights[batch, head, t] @ values
    return heads @ p["out.weight"].T + p["out.bias"], weights


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": "none"},
        {"scale": 0.7},
        {"window": 3},
        {"window": 1},
        {"causal": False},
        {"causal": False, "window": 2},
        {"qk_norm": "per_head"},
        {"qk_norm": "full_width"},
        {"qk_norm": "per_head", "scale": "none", "window": 2},
        {"softcap": 0.8},
        {"softcap": 2, "scale": 0.7, "window": 3, "qk_norm": "per_head"},
        {"softcap": 0.8, "causal": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_attention_equals_its_formula(choice: Choice, options: dict[str, Any]) -> None:
    module = attention(choice, **options)
    x = tokens(2, 7, WIDTH)
    stated = {
        **options,
        "scale": {"none": 1.0, None: HEAD_DIM**-0.5, 0.7: 0.7}[options.get("scale")],
    }
    expected, weights = by_hand(module, x, KV_HEADS[label(choice).split("-")[0]], **stated)
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(module.weights(x), weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"window": 3}, {"qk_norm": "per_head"}, {"softcap": 0.8}], ids=str
)
@pytest.mark.parametrize("place", POSITIONS, ids=label)
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_weights_are_probabilities_that_reproduce_the_output(
    choice: Choice, place: Choice, options: dict[str, Any]
) -> None:
    module = attention(choice, dtype=torch.float32, **options)
    position = randomize(build("position", place), dtype=torch.float32)
    x = embedded(position, tokens(2, 9, WIDTH, dtype=torch.float32))
    weights = module.weights(x, position=position)
    assert weights.shape == (2, HEADS, 9, 9)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, HEADS, 9), rtol=0, atol=1e-6)
    assert not weights.triu(1).any()

    seen: list[Tensor] = []
    module.out.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    module(x, position=position)
    n_kv_heads = KV_HEADS[label(choice).split("-")[0]]
    values = module.qkv(x)[..., -n_kv_heads * HEAD_DIM :].unflatten(-1, (n_kv_heads, HEAD_DIM))
    values = torch.stack([values[:, :, h * n_kv_heads // HEADS] for h in range(HEADS)], 1)
    heads = (weights @ values).transpose(1, 2).flatten(2)
    torch.testing.assert_close(seen[0], heads, rtol=0, atol=2e-6)


def test_weights_reproduce_scaled_dot_product_attention() -> None:
    module = attention("mha", dtype=torch.float32)
    x = tokens(2, 11, WIDTH, dtype=torch.float32)
    q, k, v = (
        part.unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2)
        for part in module.qkv(x).chunk(3, dim=-1)
    )
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(module.weights(x) @ v, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("place", ["none", "rope", "alibi"])
def test_gqa_is_mha_with_repeated_key_and_value_heads(place: str, n_kv_heads: int) -> None:
    grouped = attention(("gqa", {"n_kv_heads": n_kv_heads}))
    full = attention("mha")
    group = HEADS // n_kv_heads

    def repeated(rows: Tensor) -> Tensor:
        """Rows of one head after another, each head `group` times in a row."""
        heads = torch.unflatten(rows, 0, (n_kv_heads, HEAD_DIM))
        return torch.cat([heads[h] for h in range(n_kv_heads) for _ in range(group)])

    for name in ("weight", "bias"):
        fused = getattr(grouped.qkv, name).data
        q, k, v = fused.split([HEADS * HEAD_DIM, n_kv_heads * HEAD_DIM, n_kv_heads * HEAD_DIM])
        getattr(full.qkv, name).data = torch.cat((q, repeated(k), repeated(v)))
    full.out.load_state_dict(grouped.out.state_dict())
    x = tokens(2, 7, WIDTH)
    position = build("position", place)
    torch.testing.assert_close(
        grouped(x, position=position), full(x, position=position), rtol=0, atol=1e-12
    )
    torch.testing.assert_close(
        grouped.weights(x, position=position), full.weights(x, position=position)
    )


@pytest.mark.parametrize("n_kv_heads", [1, 4])
def test_mqa_and_mha_are_the_ends_of_gqa(n_kv_heads: int) -> None:
    grouped = attention(("gqa", {"n_kv_heads": n_kv_heads}))
    end = attention("mqa" if n_kv_heads == 1 else "mha")
    x = tokens(2, 7, WIDTH)
    assert torch.equal(grouped(x), end(x))


@pytest.mark.parametrize(
    "options", [{}, {"window": 3}, {"qk_norm": "full_width"}, {"softcap": 0.8}], ids=str
)
@pytest.mark.parametrize("place", POSITIONS, ids=label)
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_no_token_sees_a_later_one(choice: Choice, place: Choice, options: dict[str, Any]) -> None:
    module = attention(choice, dtype=torch.float32, **options)
    position = randomize(build("position", place), dtype=torch.float32)
    x = tokens(2, 9, WIDTH, dtype=torch.float32)

    def run(x: Tensor) -> Tensor:
        y: Tensor = module(embedded(position, x), position=position)
        return y

    for t in (0, 4, 7):
        changed = x.clone()
        changed[:, t + 1 :] = 3 * tokens(2, 8 - t, WIDTH, dtype=torch.float32, seed=1)
        assert torch.equal(run(changed)[:, : t + 1], run(x)[:, : t + 1])
        assert not torch.equal(run(changed)[:, t + 1 :], run(x)[:, t + 1 :])


def key_bias_gradient(place: str, **options: Any) -> float:
    module = attention("mha", **options)
    module(tokens(2, 7, WIDTH), position=build("position", place)).square().sum().backward()
    width = HEADS * HEAD_DIM
    q, k, v = module.qkv.bias.grad.split([width] * 3)
    assert min(float(q.norm()), float(v.norm())) > 1e-2
    return float(k.norm() / q.norm())


def test_a_key_bias_has_no_gradient_unless_keys_are_rotated_or_normed() -> None:
    assert key_bias_gradient("none") < 1e-13
    assert key_bias_gradient("alibi") < 1e-13
    assert key_bias_gradient("none", window=3) < 1e-13
    assert key_bias_gradient("rope") > 1e-2
    assert key_bias_gradient("none", qk_norm="per_head") > 1e-2
    assert key_bias_gradient("none", qk_norm="full_width") > 1e-2
    assert key_bias_gradient("none", softcap=0.8) > 1e-2


@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_attention_without_mask_or_position_is_permutation_equivariant(choice: Choice) -> None:
    x, order = tokens(2, 7, WIDTH), torch.tensor([3, 0, 6, 1, 5, 2, 4])

    def error(module: Any, place: str = "none") -> float:
        position = build("position", place)
        moved = module(x[:, order], position=position) - module(x, position=position)[:, order]
        return float(moved.detach().abs().max())

    assert error(attention(choice, causal=False)) < 1e-13
    assert error(attention(choice, causal=True)) > 1e-2
    assert error(attention(choice, causal=False), "rope") > 1e-2
    assert error(attention(choice, causal=False), "alibi") > 1e-2


@pytest.mark.parametrize("options", [{}, {"softcap": 0.8}], ids=str)
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_dropout_acts_in_training_alone(choice: Choice, options: dict[str, Any]) -> None:
    x = tokens(1, 9, WIDTH).expand(3000, -1, -1)
    module = attention(choice, attention_dropout=0.5, **options)
    expected = attention(choice, **options)(x).detach()
    assert torch.equal(module(x), expected)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        y = module.train()(x)
        assert not torch.equal(module(x), y)
        torch.testing.assert_close(attention(choice, **options).train()(x), expected)
    # What is kept is doubled, so the mean stays.
    assert float((y.mean(0) - expected[0]).norm() / expected[0].norm()) < 0.03
    assert float((y[0] - expected[0]).norm() / expected[0].norm()) > 0.1
    assert torch.equal(module.eval()(x), expected)


@pytest.mark.parametrize("head_dim", [2, 6, 16])
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_head_dim_is_independent_of_d_model(choice: Choice, head_dim: int) -> None:
    module = attention(choice, head_dim=head_dim)
    n_kv_heads = KV_HEADS[label(choice).split("-")[0]]
    assert module.qkv.weight.shape == ((HEADS + 2 * n_kv_heads) * head_dim, WIDTH)
    assert module.out.weight.shape == (WIDTH, HEADS * head_dim)
    assert module(tokens(2, 5, WIDTH)).shape == (2, 5, WIDTH)


@pytest.mark.parametrize("qkv_bias", [True, False])
@pytest.mark.parametrize("out_bias", [True, False])
def test_biases_are_separate_and_start_at_zero(qkv_bias: bool, out_bias: bool) -> None:
    sizes = dims(qkv_bias=qkv_bias, out_bias=out_bias)
    module = build("attention", ("gqa", {"n_kv_heads": 2}), sizes)
    found = {name for name, _ in module.named_parameters()}
    biases = {"qkv.bias": qkv_bias, "out.bias": out_bias}
    assert found == {"qkv.weight", "out.weight", *(name for name, has in biases.items() if has)}
    assert set(module.parameter_roles()) == found
    assert not any(p.any() for name, p in module.named_parameters() if name in biases)


def test_roles_name_the_rows_of_the_fused_projection() -> None:
    module = build("attention", ("gqa", {"n_kv_heads": 2}))
    assert module.parameter_roles() == {
        "qkv.weight": [
            ParameterRole(role="q", rows=(0, 32)),
            ParameterRole(role="k", rows=(32, 48)),
            ParameterRole(role="v", rows=(48, 64)),
        ],
        "qkv.bias": [
            ParameterRole(role="bias", rows=(0, 32)),
            ParameterRole(role="key_bias", rows=(32, 48)),
            ParameterRole(role="bias", rows=(48, 64)),
        ],
        "out.weight": ParameterRole(role="attention_output"),
        "out.bias": ParameterRole(role="bias"),
    }


@pytest.mark.parametrize("qkv_bias", [True, False])
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_separate_projections_compute_what_the_fused_one_does(
    choice: Choice, qkv_bias: bool
) -> None:
    fused = attention(choice, qkv_bias=qkv_bias, qk_norm="per_head")
    separate = attention(choice, qkv_bias=qkv_bias, qk_norm="per_head", qkv="separate")
    state = {k: v for k, v in fused.state_dict().items() if not k.startswith("qkv.")}
    for leaf in ("weight", "bias") if qkv_bias else ("weight",):
        rows = getattr(fused.qkv, leaf).split(fused.widths)
        state |= {f"{name}.{leaf}": part for name, part in zip("qkv", rows, strict=True)}
    separate.load_state_dict(state)
    x, rope = tokens(2, 9, WIDTH), build("position", "rope")
    torch.testing.assert_close(separate(x, position=rope), fused(x, position=rope))
    torch.testing.assert_close(separate.weights(x, position=rope), fused.weights(x, position=rope))


def test_roles_name_the_separate_projections() -> None:
    module = build("attention", ("mha", {"qkv": "separate"}))
    assert module.parameter_roles() == {
        "q.weight": ParameterRole(role="q"),
        "k.weight": ParameterRole(role="k"),
        "v.weight": ParameterRole(role="v"),
        "q.bias": ParameterRole(role="bias"),
        "k.bias": ParameterRole(role="key_bias"),
        "v.bias": ParameterRole(role="bias"),
        "out.weight": ParameterRole(role="attention_output"),
        "out.bias": ParameterRole(role="bias"),
    }
    assert not any(p.any() for name, p in module.named_parameters() if name.endswith("bias"))
    without = build("attention", ("mha", {"qkv": "separate"}), dims(qkv_bias=False))
    assert set(without.parameter_roles()) == {name for name, _ in without.named_parameters()}


@pytest.mark.parametrize(
    ("qk_norm", "q_width", "k_width"), [("per_head", 8, 8), ("full_width", 32, 16)]
)
def test_qk_norm_has_the_width_it_names(qk_norm: str, q_width: int, k_width: int) -> None:
    module = attention(("gqa", {"n_kv_heads": 2}), qk_norm=qk_norm)
    assert module.q_norm.weight.shape == (q_width,)
    assert module.k_norm.weight.shape == (k_width,)


def test_a_soft_cap_bounds_the_scores_and_a_wide_one_changes_nothing() -> None:
    x = tokens(2, 7, WIDTH)
    capped, plain = attention("mha", softcap=0.5), attention("mha")
    seen = torch.ones(7, 7).tril().bool()
    assert plain.scores(x)[..., seen].abs().max() > 1
    assert 0.49 < capped.scores(x)[..., seen].abs().max() <= 0.5
    torch.testing.assert_close(attention("mha", softcap=1e6)(x), plain(x), rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"softcap": 0.8}], ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("place", POSITIONS, ids=label)
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_half_precision_is_near_double(
    choice: Choice, place: Choice, dtype: torch.dtype, options: dict[str, Any]
) -> None:
    module = attention(choice, dtype=dtype, **options)
    position = randomize(build("position", place))
    position = position.to(dtype)
    x = embedded(position, tokens(2, 9, WIDTH, dtype=dtype))
    y = module(x, position=position)
    assert (y.dtype, y.shape) == (dtype, x.shape)
    assert module.weights(x, position=position).dtype == torch.float32
    exact = module.double()(x.double(), position=position)
    assert (y - exact).norm() < 0.05 * exact.norm()


@pytest.mark.parametrize(
    ("choice", "options", "message"),
    [
        (
            ("gqa", {"n_kv_heads": 3}),
            {},
            "n_kv_heads must divide n_heads: got 3 and 4",
        ),
        (
            ("gqa", {"n_kv_heads": 8}),
            {},
            "n_kv_heads must divide n_heads: got 8 and 4",
        ),
        (
            "mha",
            {"window": 13},
            "a window must be shorter than the context, or it has no effect: got 13 and 12",
        ),
        (
            "mqa",
            {"window": 12},
            "a window must be shorter than the context, or it has no effect: got 12 and 12",
        ),
        (
            "mha",
            {"qk_norm": "per_head", "norm": "none"},
            "qk_norm 'per_head' has no effect: the model's norm is 'none'",
        ),
    ],
)
def test_what_cannot_be_or_has_no_effect_is_incompatible(
    choice: Choice, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(Incompatible) as caught:
        attention(choice, **options)
    assert str(caught.value) == message


def test_decoding_needs_a_causal_mask() -> None:
    with pytest.raises(Incompatible) as caught:
        attention("mha", causal=False).new_cache()
    assert str(caught.value) == "a cache needs causal attention: got causal=False"
