"""Sizes of tensors, summed in float64, of models, and the types of their numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ablations.architecture import Architecture


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What the parameters of a decoder come to.

    `parameters` counts unique ones, `weight_bytes` what they occupy, and `wide_bytes` what they
    would in float32 or wider. `matrices` counts the entries of those of two or more dimensions in
    the blocks, a shared block's each time a token passes it. `number_bytes` is one number's.
    """

    parameters: int
    matrices: int
    weight_bytes: int
    wide_bytes: int
    number_bytes: int


class Sized(Protocol):
    """A decoder, or what is known of it without building it."""

    @property
    def architecture(self) -> Architecture:
        """What it is built from."""
        ...

    @property
    def sizes(self) -> Sizes:
        """What its parameters come to."""
        ...


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
