"""Constructors that leave their matrices undrawn, as an initializer draws them anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import init
from torch.overrides import TorchFunctionMode

_DRAWS = frozenset(
    {Tensor.uniform_, Tensor.normal_, init.uniform_, init.normal_, init.kaiming_uniform_}
)
"""As a mode sees them: of `torch.nn.init` the functions that ask modes, of the rest the methods."""


class Undrawn(TorchFunctionMode):
    """Skips the random draws of torch's modules into parameters of two or more dimensions.

    They get no memory either, which an initializer that shares weights would leave in pieces: what
    `torch.empty` would make of two or more dimensions is one number, expanded. Only within
    `leaving`: a constructor whose other values depend on what is drawn must see it.
    """

    def __init__(self, leaving: bool = True) -> None:
        super().__init__()
        self._leaving = leaving

    @contextmanager
    def leaving(self, leaving: bool) -> Iterator[None]:
        """Whether draws are left out inside, where they are outside; as before afterwards.

        A constructor sees what those that it calls have drawn.
        """
        before, self._leaving = self._leaving, leaving and self._leaving
        try:
            yield
        finally:
            self._leaving = before

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if self._leaving and func is torch.empty:
            device = torch.device(given.get("device") or torch.get_default_device())
            if device.type != "meta":  # where nothing takes memory
                return _without_memory(func(*args, **given | {"device": "meta"}), device)
        if self._leaving and func in _DRAWS:
            drawn = args[0] if args else given["tensor"]
            if isinstance(drawn, nn.Parameter) and drawn.ndim >= 2:
                return drawn
        return func(*args, **given)


def _without_memory(shape: Tensor, device: torch.device) -> Tensor:
    """A tensor of that shape, of one number in memory if it has two or more dimensions."""
    if shape.ndim < 2:
        return torch.empty(shape.shape, dtype=shape.dtype, device=device)
    return torch.empty((), dtype=shape.dtype, device=device).expand(shape.shape)


def lacks_memory(parameter: Tensor) -> bool:
    """Whether it is one number expanded to a shape: left undrawn, or given up."""
    strides = zip(parameter.shape, parameter.stride(), strict=True)
    return parameter.numel() > 1 and all(stride == 0 for length, stride in strides if length > 1)
