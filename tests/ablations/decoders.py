"""Small decoders for tests, from what `model` of a grid may hold."""

from typing import Any

import torch

import ablations
from ablations.architecture import Architecture
from ablations.models.resolution import resolve
from registry import discover

SMALL = {"depth": 3, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 64}


def small(**model: Any) -> Architecture:
    """A small architecture; keys given replace the small ones."""
    return resolve({**SMALL, **model}, discover())


def build(seed: int = 0, **model: Any) -> ablations.Decoder:
    """A small decoder with its initial weights, in float32."""
    return ablations.build({**SMALL, **model}, seed=seed)


def tokens(batch: int = 2, length: int = 16, vocab_size: int = 64, seed: int = 0) -> torch.Tensor:
    """Random token ids (B, T)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocab_size, (batch, length), generator=generator)
