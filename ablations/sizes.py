"""Sizes of tensors, summed in float64."""

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
