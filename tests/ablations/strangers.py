"""Components and a measure as strangers write them, each failing in its own way."""

import torch
from torch import nn

from ablations.trial import Measurement
from registry import Dims, Incompatible


class Raising(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        raise RuntimeError("not today")


class Exploding(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return x * torch.inf


class Even(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        if dims.d_model % 8:
            raise Incompatible(f"norm 'even': d_model must divide by 8, not {dims.d_model}")

    def forward(self, x):
        return x / 2


class Never(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    @classmethod
    def unsupported(cls, dims: Dims, model: object) -> str:
        return "no dims suit it"


NORMS = {"raising": Raising, "exploding": Exploding, "even": Even, "never": Never}


class Answer:
    def measure(self, context):
        assert context.skeleton().architecture is context.architecture
        return Measurement(metrics={"value": 42.0})
