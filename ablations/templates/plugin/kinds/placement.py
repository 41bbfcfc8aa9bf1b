"""A placement: how attention, feed-forward, residuals and norms become a block.

Shapes: B batch, T tokens, D d_model.
"""

from typing import Any

from registry import ComponentSpec, Dims, Maker, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """The feed-forward before attention, each after a norm.

    x = x + feed_forward(n(x)), then x = x + attention(n(x)). (B, T, D) → (B, T, D). A final norm
    follows the last block.

    Initialization: that of the parts. Source: arXiv:1911.03864, which reorders sublayers.
    """

    final_norm = True

    def __init__(
        self, dims: Dims, attention: Maker, feed_forward: Maker, residual: Maker, norm: Maker
    ) -> None:
        super().__init__()
        self.feed_forward_norm = norm()
        self.feed_forward = feed_forward()
        self.feed_forward_residual = residual()
        self.attention_norm = norm()
        self.attention = attention()
        self.attention_residual = residual()

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        """x (B, T, D) → (B, T, D); `mixing` goes to the attention unchanged."""
        x = self.feed_forward_residual(x, self.feed_forward(self.feed_forward_norm(x)))
        update = self.attention(self.attention_norm(x), **mixing)
        y: Tensor = self.attention_residual(x, update)
        return y


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="placement",
            name="my_component",
            target=MyComponent,
            summary="the feed-forward before attention, norms before both",
            source="arXiv:1911.03864",
        )
    ]
