"""Tensors that an initializer is tried on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from registry.conformance.errors import CheckFailed
from registry.conformance.raising import raised
from registry.conformance.subject import Subject
from registry.contracts import ParameterInfo

EMBEDDINGS = ("token_embedding", "position_embedding")
ROLES = (
    "q",
    "k",
    "v",
    "attention_output",
    "gate",
    "up",
    "down",
    *EMBEDDINGS,
    "head",
    "norm",
    "bias",
)
"""The common ones, of `ParameterRole`."""

FILLED = tuple(role for role in ROLES if role not in ("norm", "bias"))
"""Those of two or more dimensions, which an initializer fills."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A tensor to be filled, and what is known of it."""

    words: str
    role: str
    shape: tuple[int, ...]

    def info(self, depth: int) -> ParameterInfo:
        """As the engine tells it."""
        receptive = math.prod(self.shape[2:])
        outside = self.role in EMBEDDINGS or self.role == "head"
        return ParameterInfo(
            path=f"{self.role}.weight" if outside else f"blocks.1.{self.role}.weight",
            role=self.role,
            shape=self.shape,
            fan_in=self.shape[1] * receptive,
            fan_out=self.shape[0] * receptive,
            depth=depth,
            layer=None if outside else 1,
        )


TARGETS = (
    *(Target(words="a matrix", role=role, shape=(40, 24)) for role in FILLED),
    Target(words="a wide matrix", role="up", shape=(24, 88)),
    Target(words="a convolution", role="up", shape=(16, 24, 3)),
    Target(words="a matrix", role="mixing", shape=(24, 24)),
)


def fill(
    subject: Subject, target: Target, *, value: float = math.nan, seed: int = 0, rows: int = 0
) -> Tensor:
    """A tensor that held `value`, filled as the engine does it: a view of rows of a larger one.

    `rows` stand on either side of it. Raises: CheckFailed when the initializer raises.
    """
    setting = subject.settings[0]
    initializer: Any = subject.build(setting).component
    whole = torch.full((target.shape[0] + 2 * rows, *target.shape[1:]), value)
    inside = whole[rows : rows + target.shape[0]]
    with torch.no_grad():
        try:
            initializer.fill(
                inside, target.info(setting.sizes.dims.depth), torch.Generator().manual_seed(seed)
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise CheckFailed(f"fill of {tell(target)} {raised(error)}") from error
    return whole


def filled(subject: Subject, role: str) -> Tensor:
    """A matrix of that role, filled."""
    return fill(subject, Target(words="a matrix", role=role, shape=(40, 24)))


def tell(target: Target) -> str:
    """`a matrix of role 'q'`."""
    return f"{target.words} of role {target.role!r}"
