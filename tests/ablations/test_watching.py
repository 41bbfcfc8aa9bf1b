"""What passes through a decoder, whatever its placement calls things and however it calls them."""

import math

import pytest
import torch
from torch import nn

from ablations.decoder import Decoder
from ablations.measures.attention_map import AttentionMap
from ablations.measures.gradient_flow import GradientFlow, _trends
from ablations.measures.signal_propagation import SignalPropagation
from ablations.watching import Watcher
from tests.ablations.decoders import build, small, tokens
from tests.ablations.measures.test_gradient_flow import context


class Block(nn.Module):
    """A pre-norm block; subclasses call its parts in other ways."""

    final_norm = True

    def __init__(self, dims, attention, feed_forward, residual, norm) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention(), feed_forward()
        self.norms = nn.ModuleList([norm(), norm()])
        self.add = residual()

    def attend(self, x, mixing):
        return self.attention(self.norms[0](x), **mixing)

    def feed(self, x):
        return self.feed_forward(self.norms[1](x))


class ByKeyword(Block):
    def forward(self, x, **mixing):
        x = self.add(update=self.attention(x=self.norms[0](x), **mixing), x=x)
        return self.add(x=x, update=self.feed(x))


class FeedsFirst(Block):
    """Both from one stream, the feed-forward computed first and added last."""

    def forward(self, x, **mixing):
        fed = self.feed(x)
        return self.add(self.add(x, self.attend(x, mixing)), fed)


class AtOnce(Block):
    """One residual for both."""

    def forward(self, x, **mixing):
        return self.add(x, self.attend(x, mixing) + self.feed(x))


class Normed(Block):
    """The update is normed and scaled before it meets the stream."""

    def forward(self, x, **mixing):
        x = self.add(x, 0.5 * self.norms[0](self.attention(x, **mixing)))
        return self.add(x, self.norms[1](self.feed_forward(x)))


def blocks(block) -> Decoder:
    decoder = build(depth=2)
    dims = decoder.architecture.dims()
    for layer in range(2):
        old = decoder.blocks[layer]
        new = block.__new__(block)
        nn.Module.__init__(new)
        new.attention, new.feed_forward = old.attention, old.feed_forward
        new.norms = nn.ModuleList([old.attention_norm, old.feed_forward_norm])
        new.add = old.attention_residual
        decoder.blocks[layer] = new
    assert dims.depth == 2
    decoder.parts = tuple(
        part.__class__(**{**vars(part), "path": path})
        for part in decoder.parts
        if (path := RENAMED.get(part.path.split(".", 2)[-1], part.path.split(".", 2)[-1]))
        and (path := part.path if part.layer is None else f"blocks.{part.layer}.{path}")
        and not part.path.endswith("feed_forward_residual")
        and part.kind != "placement"
    )
    return decoder


RENAMED = {
    "attention_norm": "norms.0",
    "feed_forward_norm": "norms.1",
    "attention_residual": "add",
}


def watched(block):
    decoder = blocks(block)
    with Watcher(decoder) as seen:
        decoder.hidden(tokens())
    return seen


@pytest.mark.parametrize("block", [ByKeyword, FeedsFirst, Normed])
def test_updates_belong_to_the_sublayer_they_come_from(block):
    seen = watched(block)
    assert [(b.layer, b.sublayer) for b in seen.branches] == [
        (0, "attention"),
        (0, "feed_forward"),
        (1, "attention"),
        (1, "feed_forward"),
    ]
    assert len(seen.mixings) == 2


def test_an_update_of_both_is_neither():
    assert watched(AtOnce).branches == []


def test_updates_of_a_plain_block_are_those_computed_by_hand():
    decoder = blocks(FeedsFirst)
    with Watcher(decoder) as seen:
        decoder.hidden(tokens())
    block, x = decoder.blocks[0], seen.streams[0]
    fed = block.feed(x)
    last = seen.branches[1]
    assert torch.allclose(last.after - last.before, fed, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        ({"placement": {"layers": ["post", "pre"]}, "final_norm": False, "depth": 6}, "sum"),
        (
            {"placement": {"layers": ["post", "pre"]}, "final_norm": False, "depth": 6},
            "mean_square",
        ),
        ({"embedding_norm": "layernorm", "final_norm": False, "residual": "gated"}, "sum"),
        ({"placement": "veiled"}, "sum"),
        ({"placement": "veiled"}, "mean_square"),
    ],
)
def test_a_norm_further_in_cancels_too(model, loss):
    model = {"residual": "gated", **model}
    for seed in range(3):
        measured = GradientFlow(loss=loss).measure(context(small(**model), seed))
        assert measured.marks == ("cancelled_probe",)
        honest = GradientFlow().measure(context(small(**model), seed))
        assert "cancelled_probe" not in honest.marks


def test_an_honest_sum_is_not_marked():
    for norm, final in (("rmsnorm", "auto"), ("layernorm", False), ("none", "auto")):
        for seed in range(3):
            asked = context(small(norm=norm, final_norm=final), seed)
            assert GradientFlow(loss="sum").measure(asked).marks == ()


@pytest.mark.parametrize(("d_model", "length"), [(4, 1), (8, 1), (4, 2), (16, 1)])
def test_a_small_pass_is_marked_as_a_large_one_is(d_model, length):
    model = {"d_model": d_model, "n_heads": 2, "placement": "post"}
    for seed in range(10):
        measure = GradientFlow(loss="sum", batch=1, length=length)
        assert measure.measure(context(small(**model), seed)).marks == ("cancelled_probe",)
        honest = GradientFlow(batch=1, length=length).measure(context(small(**model), seed))
        assert "cancelled_probe" not in honest.marks


@pytest.mark.parametrize(
    "changed",
    [{"embedding_norm": "layernorm"}, {"embedding_scale": 30.0}, {"embedding_dim": 64}],
)
def test_the_unit_of_the_embeddings_gradient_knows_what_stands_before_the_stream(changed):
    model = {"placement": "post", "d_model": 128, "depth": 2, "context": 64}
    for more in ({}, changed):
        metrics = GradientFlow().measure(context(small(**model, **more))).metrics
        assert metrics["embedding"] / metrics["gradient_unit"] == pytest.approx(1.0, rel=0.45)


def test_several_attentions_of_a_block_are_all_told():
    one = AttentionMap().measure(context(small()))
    two = AttentionMap().measure(context(small(placement="twice")))
    assert len(two.arrays) == 2 * len(one.arrays)
    assert len(two.profiles["entropy"].values) == 3


def test_a_stream_of_nothing_says_nothing_of_depth():
    for values in ([0.0, 0.0, 0.0], [1.0, math.inf], [1.0, 1.0, 0.0]):
        trends = _trends(values)
        assert math.isnan(trends["vanishing"])
        assert math.isnan(trends["exploding"])


def test_signal_propagation_of_shared_updates_leaves_them_out():
    measured = SignalPropagation().measure(context(small(placement="veiled")))
    assert {"attention_update", "feed_forward_update"} <= set(measured.metrics)
