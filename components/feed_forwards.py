"""Feed-forwards: what a block does to each token alone.

Shapes: B batch, T tokens, D d_model, F hidden width (`dims.d_ff`).
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from registry import Dims, Maker, ParameterRole


class MLP(nn.Module):
    """Two linear layers around an activation, or three if the activation is gated.

    y = down(f(up(x))), gated: y = down(f(gate(x), up(x))). (B, T, D) → (B, T, F) → (B, T, D).

    Initialization: weights by the initializer (roles `gate`, `up`, `down`), biases zero.
    Paper: arXiv:1706.03762, gated arXiv:2002.05202. Deviation: biases on the gated form too, if
    `dims.feed_forward_bias` asks for them.
    """

    def __init__(self, dims: Dims, activation: Maker) -> None:
        super().__init__()
        self.activation = activation()
        self.gated = bool(getattr(self.activation, "gated", False))
        bias = dims.feed_forward_bias
        if self.gated:
            self.gate = nn.Linear(dims.d_model, dims.d_ff, bias=bias)
        self.up = nn.Linear(dims.d_model, dims.d_ff, bias=bias)
        self.down = nn.Linear(dims.d_ff, dims.d_model, bias=bias)
        if bias:
            for layer in self._layers().values():
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        up = self.up(x)  # (B, T, F)
        hidden = self.activation(self.gate(x), up) if self.gated else self.activation(up)
        y: Tensor = self.down(hidden)  # (B, T, D)
        return y

    def parameter_roles(self) -> Mapping[str, ParameterRole]:
        roles = {}
        for name, layer in self._layers().items():
            roles[f"{name}.weight"] = ParameterRole(role=name)
            if layer.bias is not None:
                roles[f"{name}.bias"] = ParameterRole(role="bias")
        return roles

    def _layers(self) -> dict[str, nn.Linear]:
        layers = {"up": self.up, "down": self.down}
        return {"gate": self.gate, **layers} if self.gated else layers
