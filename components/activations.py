"""Activations: the feed-forward's nonlinearity, with or without a gate.

Shapes: F hidden width; any leading dimensions. None has parameters, so nothing is initialized.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Dims


class Activation(nn.Module):
    """A function of the hidden features; a `gated` one is called with (gate, up)."""

    gated: ClassVar[bool] = False

    def __init__(self, dims: Dims) -> None:
        super().__init__()


class ReLU(Activation):
    """Rectified linear unit.

    y = max(x, 0). (…, F) → (…, F).
    Paper: arXiv:1706.03762, as the transformer's first activation. Deviation: none.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class ReLUSquared(Activation):
    """Squared rectified linear unit.

    y = max(x, 0)². (…, F) → (…, F).
    Paper: arXiv:2109.08668. Deviation: none.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x).square()


class GELU(Activation):
    """Gaussian error linear unit, exact.

    y = x · Φ(x) = x · (1 + erf(x / √2)) / 2. (…, F) → (…, F).
    Paper: arXiv:1606.08415. Deviation: none.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x)


class GELUTanh(Activation):
    """Gaussian error linear unit in its tanh form.

    y = x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2. (…, F) → (…, F).
    Paper: arXiv:1606.08415, its approximation. Deviation: none.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")


class SiLU(Activation):
    """Sigmoid linear unit, also called swish.

    y = x · σ(x). (…, F) → (…, F).
    Paper: arXiv:1702.03118. Deviation: none.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class SwiGLU(Activation):
    """Gated linear unit with a SiLU gate.

    y = silu(gate) · up. (…, F), (…, F) → (…, F).
    Paper: arXiv:2002.05202. Deviation: swish with β fixed at 1, as the paper's experiments do.
    """

    gated = True

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return F.silu(gate) * up


class GEGLU(Activation):
    """Gated linear unit with an exact GELU gate.

    y = gelu(gate) · up. (…, F), (…, F) → (…, F).
    Paper: arXiv:2002.05202. Deviation: none.
    """

    gated = True

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return F.gelu(gate) * up


class GEGLUTanh(Activation):
    """Gated linear unit with a GELU gate in its tanh form.

    y = gate · (1 + tanh(√(2/π) · (gate + 0.044715 gate³))) / 2 · up. (…, F), (…, F) → (…, F).
    Paper: arXiv:2002.05202. Deviation: the tanh form of GELU, as Gemma has it (arXiv:2403.08295).
    """

    gated = True

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return F.gelu(gate, approximate="tanh") * up


class ReGLU(Activation):
    """Gated linear unit with a ReLU gate.

    y = max(gate, 0) · up. (…, F), (…, F) → (…, F).
    Paper: arXiv:2002.05202. Deviation: none.
    """

    gated = True

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return F.relu(gate) * up


class GLU(Activation):
    """Gated linear unit with a sigmoid gate.

    y = σ(gate) · up. (…, F), (…, F) → (…, F).
    Paper: arXiv:2002.05202. Deviation: none.
    """

    gated = True

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        return torch.sigmoid(gate) * up
