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

    def __init__(self) -> None:
        super().__init__()
        self._leaving = False

    @contextmanager
    def leaving(self, leaving: bool) -> Iterator[None]:
        """Whether draws are left out inside; as before outside."""
        before, self._leaving = self._leaving, leaving
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
            return _without_memory(func(*args, **given | {"device": "meta"}), given.get("device"))
        if self._leaving and func in _DRAWS:
            drawn = args[0] if args else given["tensor"]
            if isinstance(drawn, nn.Parameter) and drawn.ndim >= 2:
                return drawn
        return func(*args, **given)


def _without_memory(shape: Tensor, device: Any) -> Tensor:
    """A tensor of that shape, of one number in memory if it has two or more dimensions."""
    if shape.ndim < 2:
        return torch.empty(shape.shape, dtype=shape.dtype, device=device)
    return torch.empty((), dtype=shape.dtype, device=device).expand(shape.shape)
