"""Placements: how attention, feed-forward, residuals and norms become a block.

Shapes: B batch, T tokens, D d_model; every block maps (B, T, D) to (B, T, D). In the formulas f is
a sublayer (attention, then the feed-forward), n a norm, and + the residual component.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from components.residuals import NoResidual
from registry import Dims, Incompatible, Maker


class Placement(nn.Module):
    """The parts that the blocks have in common; a subclass wires them.

    `final_norm` says whether a norm follows the last block. `mixing` goes to the attention
    unchanged.
    """

    final_norm: ClassVar[bool] = True

    def __init__(
        self, dims: Dims, attention: Maker, feed_forward: Maker, residual: Maker, norm: Maker
    ) -> None:
        super().__init__()
        self.attention_norm = norm()
        self.attention = attention()
        self.attention_residual = residual()
        self.feed_forward_norm = norm()
        self.feed_forward = feed_forward()
        self.feed_forward_residual = residual()

    def init_gain(self, role: str) -> float:
        """A factor on the initial weights of that role."""
        return 1.0


class Pre(Placement):
    """Norm before each sublayer; the stream itself is never normed.

    x = x + f(n(x)), twice. (B, T, D) → (B, T, D). A final norm follows the last block.
    Initialization: gains 1. Paper: arXiv:2002.04745. Deviation: none.
    """

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        x = self.attention_residual(x, self.attention(self.attention_norm(x), **mixing))
        y: Tensor = self.feed_forward_residual(x, self.feed_forward(self.feed_forward_norm(x)))
        return y


class Post(Placement):
    """Norm on the stream, after each residual.

    x = n(x + f(x)), twice. (B, T, D) → (B, T, D). No final norm: the block ends with one.
    Initialization: gains 1. Paper: arXiv:1706.03762. Deviation: none.
    """

    final_norm = False

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        x = self.attention_norm(self.attention_residual(x, self.attention(x, **mixing)))
        y: Tensor = self.feed_forward_norm(self.feed_forward_residual(x, self.feed_forward(x)))
        return y


class Sandwich(Placement):
    """Norm before and after each sublayer, inside the residual.

    x = x + n'(f(n(x))), twice. (B, T, D) → (B, T, D). A final norm follows the last block.
    Initialization: gains 1. Paper: arXiv:2408.00118 (Gemma 2). Deviation: none.
    """

    def __init__(
        self, dims: Dims, attention: Maker, feed_forward: Maker, residual: Maker, norm: Maker
    ) -> None:
        super().__init__(dims, attention, feed_forward, residual, norm)
        self.attention_output_norm = norm()
        self.feed_forward_output_norm = norm()

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        update = self.attention_output_norm(self.attention(self.attention_norm(x), **mixing))
        x = self.attention_residual(x, update)
        update = self.feed_forward_output_norm(self.feed_forward(self.feed_forward_norm(x)))
        y: Tensor = self.feed_forward_residual(x, update)
        return y


class PostSublayer(Placement):
    """Norm on each sublayer's output, before it meets the stream.

    x = x + n(f(x)), twice. (B, T, D) → (B, T, D). A final norm follows the last block.
    Initialization: gains 1. Paper: arXiv:2501.00656 (OLMo 2). Deviation: none.
    """

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        x = self.attention_residual(x, self.attention_norm(self.attention(x, **mixing)))
        y: Tensor = self.feed_forward_residual(x, self.feed_forward_norm(self.feed_forward(x)))
        return y


class Parallel(Placement):
    """Attention and feed-forward side by side, both from the same stream.

    x = (x + attention(n₁(x))) + feed_forward(n₂(x)); n₁ and n₂ are one shared norm, or with
    `norms=2` two. (B, T, D) → (B, T, D). A final norm follows the last block.
    Initialization: gains 1. Paper: arXiv:2204.06745 (GPT-NeoX; two norms), GPT-J (one norm).
    Deviation: none. A residual that drops the stream would drop attention with it: Incompatible.
    """

    def __init__(
        self,
        dims: Dims,
        attention: Maker,
        feed_forward: Maker,
        residual: Maker,
        norm: Maker,
        *,
        norms: Literal[1, 2] = 1,
    ) -> None:
        nn.Module.__init__(self)  # not Placement's, which makes two norms
        self.norms = norms
        self.attention_norm = norm()
        self.attention = attention()
        self.attention_residual = residual()
        if norms == 2:
            self.feed_forward_norm = norm()
        self.feed_forward = feed_forward()
        self.feed_forward_residual = residual()
        if isinstance(self.feed_forward_residual, NoResidual):
            raise Incompatible(
                "the parallel placement needs a residual that keeps the stream: with 'none' the "
                "feed-forward would replace what attention did"
            )

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        normed = self.attention_norm(x)
        attended = self.attention(normed, **mixing)
        fed = self.feed_forward(normed if self.norms == 1 else self.feed_forward_norm(x))
        y: Tensor = self.feed_forward_residual(self.attention_residual(x, attended), fed)
        return y


class DeepNorm(Placement):
    """Post-norm with a widened stream and narrowed branches, for very deep stacks.

    x = n(α · x + f(x)), twice, α = (2 · depth)^(1/4). (B, T, D) → (B, T, D). No final norm: the
    block ends with one.
    Initialization: gain β = (8 · depth)^(-1/4) on the roles v, attention_output, up, gate, down.
    Paper: arXiv:2203.00555, decoder only. Deviation: the paper multiplies Xavier weights by β, here
    it multiplies those of any initializer; the gate of a gated feed-forward is treated as its up.
    """

    final_norm = False

    def __init__(
        self, dims: Dims, attention: Maker, feed_forward: Maker, residual: Maker, norm: Maker
    ) -> None:
        super().__init__(dims, attention, feed_forward, residual, norm)
        self.alpha = (2 * dims.depth) ** 0.25
        self.beta = (8 * dims.depth) ** -0.25

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        update = self.attention(x, **mixing)
        x = self.attention_norm(self.attention_residual(self.alpha * x, update))
        update = self.feed_forward(x)
        y: Tensor = self.feed_forward_norm(self.feed_forward_residual(self.alpha * x, update))
        return y

    def init_gain(self, role: str) -> float:
        return self.beta if role in ("v", "attention_output", "gate", "up", "down") else 1.0
