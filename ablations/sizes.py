"""Sizes of tensors, summed in float64, and the types of their numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def rms(tensor: Tensor) -> float:
    """Root mean square over all elements."""
    return norm(tensor) / math.sqrt(max(tensor.numel(), 1))


def norm(tensor: Tensor) -> float:
    """Euclidean norm over all elements."""
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float64))


def dtype_of(name: str) -> torch.dtype:
    """The type that torch has by a name, as `float32`."""
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype)
    return dtype
