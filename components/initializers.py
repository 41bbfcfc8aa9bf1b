"""Initializers: the initial values of one named parameter, from its own random stream.

An initializer fills parameters of two or more dimensions; biases and norms keep the value that
their component gave them. The roles `token_embedding` and `position_embedding` are drawn from
N(0, embedding_std²) by every one of them, since a lookup table has no fan-in.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from annotated_types import Gt
from torch import Tensor

from registry import Dims, ParameterInfo

StandardDeviation = Annotated[float, Gt(0)]

EMBEDDINGS = ("token_embedding", "position_embedding")
RESIDUAL_PROJECTIONS = ("attention_output", "down")


class Normal:
    """Draws every weight from one normal distribution.

    w ~ N(0, std²); embeddings N(0, embedding_std²), by default with the same std. Any shape.
    Paper: arXiv:1810.04805 uses 0.02 throughout. Deviation: not truncated.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        std: StandardDeviation = 0.02,
        embedding_std: StandardDeviation | None = None,
    ) -> None:
        self.std = std
        self.embedding_std = std if embedding_std is None else embedding_std

    @torch.no_grad()
    def fill(self, tensor: Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        tensor.normal_(0.0, self._std(info), generator=generator)

    def _std(self, info: ParameterInfo) -> float:
        return self.embedding_std if info.role in EMBEDDINGS else self.std


class GPT2(Normal):
    """Draws every weight from a normal distribution, narrower where a sublayer ends.

    w ~ N(0, std²); roles `attention_output` and `down` N(0, std² / (2 · depth)), so that the
    2 · depth updates of the stream add up to the same size at any depth; embeddings
    N(0, embedding_std²), by default with the same std. Any shape.
    Paper: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.
    Deviation: none for the weights; the released code draws position embeddings at half the std.
    """

    def _std(self, info: ParameterInfo) -> float:
        narrowing = math.sqrt(2 * info.depth) if info.role in RESIDUAL_PROJECTIONS else 1.0
        return super()._std(info) / narrowing


class Xavier:
    """Keeps the size of signals and of gradients through a linear layer, on average.

    w ~ N(0, 2 / (fan_in + fan_out)), or uniform with the same variance:
    U(±sqrt(6 / (fan_in + fan_out))). Any shape; the fans are those of `info`, so q, k and v are
    drawn each with its own although their projection is fused.
    Paper: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural
    networks". Deviation: normal by default, where the paper has uniform; embeddings are
    N(0, embedding_std²).
    """

    def __init__(
        self,
        dims: Dims,
        *,
        distribution: Literal["normal", "uniform"] = "normal",
        embedding_std: StandardDeviation = 0.02,
    ) -> None:
        self.distribution = distribution
        self.embedding_std = embedding_std

    @torch.no_grad()
    def fill(self, tensor: Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        std = math.sqrt(2 / (info.fan_in + info.fan_out))
        if info.role in EMBEDDINGS:
            tensor.normal_(0.0, self.embedding_std, generator=generator)
        elif self.distribution == "normal":
            tensor.normal_(0.0, std, generator=generator)
        else:
            bound = math.sqrt(3) * std
            tensor.uniform_(-bound, bound, generator=generator)


class KaimingUniform:
    """What torch gives an `nn.Linear` that nobody initializes.

    w ~ U(±1 / sqrt(fan_in)), a variance of 1 / (3 · fan_in). Any shape.
    Paper: arXiv:1502.01852, with torch's slope of sqrt(5). Deviation: the paper's gain for ReLU is
    √6 times as large; embeddings are N(0, embedding_std²), where torch has N(0, 1); biases are
    zero, where torch draws them too.
    """

    def __init__(self, dims: Dims, *, embedding_std: StandardDeviation = 0.02) -> None:
        self.embedding_std = embedding_std

    @torch.no_grad()
    def fill(self, tensor: Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        if info.role in EMBEDDINGS:
            tensor.normal_(0.0, self.embedding_std, generator=generator)
        else:
            bound = 1 / math.sqrt(info.fan_in)
            tensor.uniform_(-bound, bound, generator=generator)
