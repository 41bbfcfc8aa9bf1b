"""When two outputs are the same: to the bit, or as near as rounding in double precision."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

TINY = 1e-9
"""What rounding in float64 may do, as a fraction of an output's size; a real difference is more."""

NOTHING = 1e-12
"""What is zero beside inputs of size 1."""


def same_bits(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Bit for bit, a NaN being equal to itself."""
    return all(map(equal, one, other))


def equal(one: Tensor, other: Tensor) -> bool:
    """Bit for bit, a NaN being equal to itself."""
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and torch.equal(one.isnan(), other.isnan())
        and torch.equal(one.nan_to_num(), other.nan_to_num())
    )


def near(one: Sequence[Tensor], other: Sequence[Tensor], tolerance: float = TINY) -> bool:
    """Equal but for that fraction of their size; what is not finite must be the same."""
    return all(equal(a, b) or _near(a, b, tolerance) for a, b in zip(one, other, strict=True))


def _near(one: Tensor, other: Tensor, tolerance: float) -> bool:
    if one.numel() == 0:
        return True
    size = max(float(one.abs().max()), float(other.abs().max()))
    return float((one - other).abs().max()) <= tolerance * size + NOTHING  # false for a NaN
