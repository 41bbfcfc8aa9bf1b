from __future__ import annotations

from typing import Any

import pytest
import torch

from components import placements
from registry import Dims, Incompatible
from tests.components.makers import (
    DEFAULTS,
    PLACEMENTS,
    Choice,
    block,
    build,
    dims,
    label,
    tokens,
)


class Term:
    """A formula in the making: what a stub of a part returns in place of a tensor."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __rmul__(self, factor: float) -> Term:
        return Term(f"{factor:.4f}*{self.text}")


class Stub:
    """A maker whose parts write down how they were called, numbered in the order of making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.made = 0

    def __call__(self, dims: Dims | None = None) -> Any:
        self.made += 1
        mark = f"{self.name}{self.made}"

        class Part(torch.nn.Module):
            def forward(self, *terms: Term, **mixing: str) -> Term:
                words = [term.text for term in terms] + [f"{k}={v}" for k, v in mixing.items()]
                return Term(f"{mark}({', '.join(words)})")

        return Part()


def formula(cls: type[Any], depth: int = 12, **options: Any) -> str:
    makers = [Stub(name) for name in ("attend", "feed", "add", "norm")]
    placed = cls(dims(depth=depth), *makers, **options)
    written: str = placed(Term("x"), cache="c").text
    return written


def test_pre_norms_what_a_sublayer_reads() -> None:
    after = "add1(x, attend1(norm1(x), cache=c))"
    assert formula(placements.Pre) == f"add2({after}, feed1(norm2({after})))"


def test_post_norms_the_stream() -> None:
    after = "norm1(add1(x, attend1(x, cache=c)))"
    assert formula(placements.Post) == f"norm2(add2({after}, feed1({after})))"


def test_sandwich_norms_before_and_after() -> None:
    after = "add1(x, norm3(attend1(norm1(x), cache=c)))"
    assert formula(placements.Sandwich) == f"add2({after}, norm4(feed1(norm2({after}))))"


def test_post_sublayer_norms_what_a_sublayer_writes() -> None:
    after = "add1(x, norm1(attend1(x, cache=c)))"
    assert formula(placements.PostSublayer) == f"add2({after}, norm2(feed1({after})))"


def test_parallel_reads_the_same_stream_twice() -> None:
    shared = "add2(add1(x, attend1(norm1(x), cache=c)), feed1(norm1(x)))"
    assert formula(placements.Parallel) == shared
    apart = "add2(add1(x, attend1(norm1(x), cache=c)), feed1(norm2(x)))"
    assert formula(placements.Parallel, norms=2) == apart


@pytest.mark.parametrize(("depth", "alpha"), [(8, "2.0000"), (12, "2.2134")])
def test_deepnorm_widens_the_stream(depth: int, alpha: str) -> None:
    after = f"norm1(add1({alpha}*x, attend1(x, cache=c)))"
    expected = f"norm2(add2({alpha}*{after}, feed1({after})))"
    assert formula(placements.DeepNorm, depth) == expected


@pytest.mark.parametrize(
    ("depth", "beta"), [(2, 0.5), (12, 0.3194715521231362), (32, 0.25), (200, 0.158113883)]
)
def test_deepnorm_narrows_what_ends_in_the_stream(depth: int, beta: float) -> None:
    placed = build("placement", "deepnorm", dims(depth=depth))
    for role in ("v", "attention_output", "gate", "up", "down"):
        assert placed.init_gain(role) == pytest.approx(beta, rel=1e-8)
    for role in ("q", "k", "bias", "norm", "token_embedding", "position_embedding", "head"):
        assert placed.init_gain(role) == 1.0


@pytest.mark.parametrize("choice", [c for c in PLACEMENTS if c != "deepnorm"], ids=label)
def test_the_other_placements_leave_initial_weights(choice: Choice) -> None:
    placed = build("placement", choice)
    assert {placed.init_gain(role) for role in ("q", "v", "up", "down", "bias")} == {1.0}


@pytest.mark.parametrize("choice", PLACEMENTS, ids=label)
def test_a_final_norm_follows_unless_the_block_ends_with_one(choice: Choice) -> None:
    assert build("placement", choice).final_norm is (choice not in ("post", "deepnorm"))


COMMON = {
    "attention",
    "attention_norm",
    "attention_residual",
    "feed_forward",
    "feed_forward_norm",
    "feed_forward_residual",
}


@pytest.mark.parametrize("choice", PLACEMENTS, ids=label)
def test_the_parts_have_stable_names(choice: Choice) -> None:
    names = {name for name, _ in build("placement", choice).named_children()}
    expected = {
        "sandwich": COMMON | {"attention_output_norm", "feed_forward_output_norm"},
        "parallel": COMMON - {"feed_forward_norm"},
    }
    assert names == (expected.get(choice, COMMON) if isinstance(choice, str) else COMMON)


def test_pre_and_post_differ_with_equal_weights() -> None:
    sizes = dims(d_model=384, n_heads=6, head_dim=64, d_ff=1536, context=16)
    pre = block(sizes, dtype=torch.float32, placement="pre")
    post = block(sizes, dtype=torch.float32, placement="post")
    for (name, a), (other, b) in zip(pre.named_parameters(), post.named_parameters(), strict=True):
        assert name == other
        assert torch.equal(a, b)
    x = tokens(2, 16, 384, dtype=torch.float32)
    assert pre(x).shape == post(x).shape == (2, 16, 384)
    assert not torch.allclose(pre(x), post(x), atol=0.1)


def test_two_norms_equal_one_where_they_are_equal() -> None:
    two = block(placement=("parallel", {"norms": 2}))
    one = block(placement="parallel")
    x = tokens(2, 5, 16)
    assert not torch.allclose(one(x), two(x))
    two.feed_forward_norm.load_state_dict(two.attention_norm.state_dict())
    assert torch.equal(one(x), two(x))


def test_parallel_without_a_stream_would_lose_attention() -> None:
    with pytest.raises(Incompatible) as caught:
        build("placement", "parallel", dims(), {**DEFAULTS, "residual": "none"})
    assert str(caught.value) == (
        "the parallel placement needs a residual that keeps the stream: with 'none' the "
        "feed-forward would replace what attention did"
    )


@pytest.mark.parametrize("choice", ["sandwich", "post_sublayer"])
def test_a_weight_that_feeds_a_norm_is_orthogonal_to_its_gradient(choice: str) -> None:
    """The norm forgets its input's size, so the loss cannot change along the weight itself."""

    def cosines(placement: str) -> list[float]:
        placed = block(
            dims(out_bias=False, feed_forward_bias=False),
            placement=placement,
            norm=("layernorm", {"eps": 1e-12}),
        )
        (placed(tokens(2, 5, 16)) * tokens(2, 5, 16, seed=1)).sum().backward()
        weights = [placed.attention.out.weight, placed.feed_forward.down.weight]
        pairs = [(w.detach().flatten(), w.grad.flatten()) for w in weights]
        return [abs(float(torch.cosine_similarity(w, grad, dim=0))) for w, grad in pairs]

    assert max(cosines(choice)) < 1e-9
    assert min(cosines("pre")) > 1e-4
