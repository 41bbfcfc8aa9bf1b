# mup.py: initial weights that mean the same at every width (arXiv:2203.03466)
from typing import Annotated

import torch
from annotated_types import Gt

from registry import ComponentSpec, Dims, ParameterInfo, hookimpl


class MuP:
    """w ~ N(0, 1 / fan_in), the head N(0, base / fan_in²), embeddings N(0, embedding_std²).

    At width `base` the head is drawn as the others are. Deviation from the paper: the initial
    weights alone; learning rates, and the scale 1 / C of attention (`mha`'s option `scale`), are
    left to the grid.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        base: Annotated[int, Gt(0)] = 64,
        embedding_std: Annotated[float, Gt(0)] = 1.0,
    ) -> None:
        self.base, self.embedding_std = base, embedding_std

    def fill(self, tensor: torch.Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        std = info.fan_in**-0.5
        if info.role == "head":
            std = self.base**0.5 / info.fan_in
        elif info.role in ("token_embedding", "position_embedding"):
            std = self.embedding_std
        tensor.normal_(0.0, std, generator=generator)


@hookimpl
def register_components():
    return [
        ComponentSpec(
            kind="initializer",
            name="mup",
            target=MuP,
            summary="each weight by its fan-in, the head by its square",
            source="arXiv:2203.03466",
        )
    ]
