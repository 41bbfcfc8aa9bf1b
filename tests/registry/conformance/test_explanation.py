from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import Dims
from tests.registry.conformance import attentions
from tests.registry.conformance.finding import Fault, found, outcome


class FeedForward(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.up = nn.Linear(dims.d_model, dims.d_ff)
        self.down = nn.Linear(dims.d_ff, dims.d_model)
        self.table = torch.ones(dims.d_model, dims.d_model)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(self.up(x))
        return y


class Forgets(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(x)
        return y


class Multiplies(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return x @ self.up.weight


class Reshapes(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(len(x), -1, 7)


class Concatenates(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, self.up(x)), dim=0)


class Mixes(FeedForward):
    """Keeps a table where `to` does not find it."""

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.table


class Indexes(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, :, 100]


class Raises(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError("not\ntoday")


class Flaky(FeedForward):
    """Raises the first time it is called."""

    called = False

    def forward(self, x: Tensor) -> Tensor:
        if not self.called:
            self.called = True
            raise ValueError("too early")
        return x


class Exits(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        raise SystemExit(1)


class Hidden(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.up(x)
        return y


class Rotates(nn.Module):
    """A position that gives queries alone."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> Any:
        return q


class Lists(Rotates):
    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> Any:
        return [q, k]


class Single(FeedForward):
    def forward(self, x: Tensor) -> Any:
        return (x,)


MERGE = "(at `y: Tensor = self.out(self.merge(weights @ v))`)"
REPEAT = "repeat each key/value head for the query heads that it serves, repeat_interleave(dim=1)"
SWAP = "transpose heads and tokens after the head split"
WIDE = "mask broadcast: expected what broadcasts to (B, H, T, T), as (T, T) does"


def attention(cls: Any, message: str) -> Fault:
    options = {"n_kv_heads": 2} if issubclass(cls, attentions.Grouped) else {}
    return Fault(kind="attention", check="shape", cls=cls, message=message, options=options)


def feed_forward(cls: Any, message: str, check: str = "shape") -> Fault:
    return Fault(kind="feed_forward", check=check, cls=cls, message=message)


def position(cls: Any, message: str) -> Fault:
    return Fault(kind="position", check="shape", cls=cls, message=message)


FAULTS = [
    attention(
        attentions.FedHidden,
        "projection by 'q.weight': expected (B, T, F), got (B, T, D) (at `q, k, v = "
        "self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))`)",
    ),
    attention(
        attentions.SplitOfModel,
        "head split: expected (B, T, H·C) to make (B, T, H, C), got (B, T, D) (at `return "
        "x.view(*x.shape[:2], self.h, self.c).transpose(1, 2)`)",
    ),
    attention(
        attentions.NeverTransposed,
        f"transpose: expected scores (B, H, T, T), got (B, T, H, H): {SWAP} {MERGE}",
    ),
    attention(
        attentions.NeverTransposedWithMask,
        f"transpose: expected scores (B, H, T, T), got (B, T, H, H): {SWAP} (at `return scores + "
        "torch.full((t, t), -torch.inf).triu(1)`)",
    ),
    attention(
        attentions.KeysNotTransposed,
        "scores: expected k as (B, H, C, T) for q (B, H, T, C), got (B, H, T, C): transpose its "
        "last two dimensions (at `return q @ k`)",
    ),
    attention(
        attentions.Grouped,
        "scores: expected k as (B, H, C, T) for q (B, H, T, C), got (B, K, C, T): "
        f"{REPEAT} (at `return q @ k.mT`)",
    ),
    attention(
        attentions.GroupedFused,
        "scores: expected k as (B, H, T, C) for q (B, H, T, C), got (B, K, T, C): "
        f"{REPEAT}, or enable_gqa=True (at `return F.scaled_dot_product_attention(q, k, v, "
        "is_causal=True)`)",
    ),
    attention(
        attentions.MaskOfSamples,
        f"{WIDE}, got (B, T, T) (at `return scores.masked_fill(mask.expand(len(scores), -1, -1), "
        "-torch.inf)`)",
    ),
    attention(
        attentions.MaskOfHeads,
        f"{WIDE}, got (H, 1) (at `return scores + torch.zeros(self.h, 1)`)",
    ),
    attention(
        attentions.FusedMaskOfSamples,
        f"{WIDE}, got (B, T, T) (at `y: Tensor = "
        "self.out(self.merge(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))`)",
    ),
    attention(
        attentions.ValuesNotTransposed,
        "weighted sum: expected v as (B, H, T, C) for weights (B, H, T, T), got (B, T, H, C): "
        f"{SWAP} (at `y: Tensor = self.out(self.merge(self.compare(q, k).softmax(-1) @ v))`)",
    ),
    attention(
        attentions.MergedWithoutTranspose,
        "head merge: expected (B, T, H·C), got (B, H, T·C): transpose heads and tokens first "
        f"{MERGE}",
    ),
    attention(
        attentions.MergedByView,
        "head merge: view to (B, T, H·C) needs memory in that order, and (B, T, H, C) is "
        "transposed: use reshape or flatten (at `return y.transpose(1, 2).view(b, t, h * c)`)",
    ),
    attention(
        attentions.OutOfModel,
        f"output projection by 'out.weight': expected (B, T, D), got (B, T, H·C) {MERGE}",
    ),
    attention(
        attentions.NotProjectedBack,
        "output: expected (B, T, D), got (B, T, H·C): project it back to D",
    ),
    attention(attentions.Narrowed, "output: expected (B, T, D), got (B, 1, D)"),
    attention(attentions.Pair, "output: expected (B, T, D), got a tuple of 2"),
    attention(attentions.Nothing, "output: expected (B, T, D), got what is of type NoneType"),
    feed_forward(
        Forgets,
        "projection by 'down.weight': expected (B, T, F), got (B, T, D) (at `y: Tensor = "
        "self.down(x)`)",
    ),
    feed_forward(
        Multiplies,
        "projection by 'up.weight': expected (B, T, F), got (B, T, D) (at `return x @ "
        "self.up.weight`)",
    ),
    feed_forward(Hidden, "output: expected (B, T, D), got (B, T, F)"),
    feed_forward(Single, "output: expected (B, T, D), got a tuple of 1"),
    feed_forward(
        Reshapes,
        "output: expected (B, T, D), got (B, D, T)",
    ),
    feed_forward(
        Concatenates,
        "cat of (B, T, D) and (B, T, F) raised RuntimeError: Sizes of tensors must match except in "
        "dimension 0 (at `return torch.cat((x, self.up(x)), dim=0)`)",
    ),
    feed_forward(
        Indexes,
        "getitem of (B, T, D) raised IndexError: index 100 is out of bounds for dimension 2 with "
        "size 60 (at `return x[:, :, 100]`)",
    ),
    feed_forward(
        Mixes,
        "matmul: bfloat16 and float32 meet: cast the one to the other, and register tensors that "
        "are no parameters as buffers (at `return x @ self.table`)",
        check="dtype",
    ),
    feed_forward(Raises, 'raised ValueError: not today (at `raise ValueError("not\\ntoday")`)'),
    feed_forward(
        Flaky,
        'raised ValueError: too early (at `raise ValueError("too early")`), once and not again',
    ),
    feed_forward(Exits, "raised RuntimeError: SystemExit(1)"),
    position(
        Rotates,
        "output: expected (B, H, T, C) and (B, K, T, C), got what is of type Tensor in rotate",
    ),
    position(
        Lists,
        "output: expected (B, H, T, C) and (B, K, T, C), got what is of type list in rotate",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_call_that_goes_wrong_is_told_by_its_stage(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize(
    ("kind", "cls"), [("attention", attentions.Careful), ("feed_forward", FeedForward)]
)
def test_nothing_is_wrong_with_what_the_faulty_ones_derive_from(kind: str, cls: Any) -> None:
    assert outcome(kind, cls, "shape") == "passed"


def test_every_faulty_attention_is_among_the_faults() -> None:
    mixed = {"MergedByReshape", "SplitByReshape", "NeverTransposedNorMerged"}
    faulty = {
        name
        for name, cls in vars(attentions).items()
        if isinstance(cls, type) and issubclass(cls, attentions.Careful)
    } - {"Careful"}
    assert {getattr(fault.cls, "__name__", "") for fault in FAULTS} >= faulty - mixed
