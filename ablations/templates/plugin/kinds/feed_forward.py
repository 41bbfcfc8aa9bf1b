"""A feed-forward: what a block does to each token alone.

Shapes: B batch, T tokens, D d_model, F hidden width (`dims.d_ff`).
"""

from dataclasses import replace

from registry import ComponentSpec, Dims, Maker, ParameterRole, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """Two linear layers with the model's norm between them, three around a gated activation.

    y = down(n(f(up(x)))), gated: y = down(n(f(gate(x), up(x)))). (B, T, D) → (B, T, F) → (B, T, D).

    Initialization: weights by the initializer (roles `gate`, `up`, `down`), biases zero.
    Source: NormFormer, arXiv:2110.09456, its norm of the hidden features alone.
    """

    def __init__(self, dims: Dims, activation: Maker, norm: Maker) -> None:
        super().__init__()
        self.activation = activation()
        self.gated = bool(getattr(self.activation, "gated", False))
        self.norm = norm(replace(dims, d_model=dims.d_ff))
        bias = dims.feed_forward_bias
        if self.gated:
            self.gate = nn.Linear(dims.d_model, dims.d_ff, bias=bias)
        self.up = nn.Linear(dims.d_model, dims.d_ff, bias=bias)
        self.down = nn.Linear(dims.d_ff, dims.d_model, bias=bias)
        for name, parameter in self.named_parameters():
            if name in ("gate.bias", "up.bias", "down.bias"):
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        up = self.up(x)  # (B, T, F)
        hidden = self.activation(self.gate(x), up) if self.gated else self.activation(up)
        y: Tensor = self.down(self.norm(hidden))  # (B, T, D)
        return y

    def parameter_roles(self) -> dict[str, ParameterRole]:
        """What the initializer and the placement's gains know the weights by."""
        layers = ("gate", "up", "down") if self.gated else ("up", "down")
        return {f"{layer}.weight": ParameterRole(role=layer) for layer in layers}


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="feed_forward",
            name="my_component",
            target=MyComponent,
            summary="a norm on the hidden features",
            source="arXiv:2110.09456",
        )
    ]
