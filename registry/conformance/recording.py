"""Every operation on tensors while a component runs, and what it was done to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name

Sizes = tuple[int, ...]


@dataclass(kw_only=True)
class Operation:
    """One call of a torch function or method; `error` if it raised.

    The tensors themselves are held, so that none is taken for another that has its place in memory.
    """

    name: str
    inputs: list[Tensor]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    outputs: list[Tensor] = field(default_factory=list)
    error: Exception | None = None

    @property
    def shapes(self) -> list[Sizes]:
        """Those of the inputs."""
        return [tuple(x.shape) for x in self.inputs]

    @property
    def shape(self) -> Sizes:
        """That of the first output."""
        return tuple(self.outputs[0].shape)


class Recorder(TorchFunctionMode):
    """Records what is done inside, in order, but for questions about a tensor's form."""

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.operations: list[Operation] = []
        self._names = {id(parameter): name for name, parameter in parameters.items()}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the function as it is, and keep what went in and out."""
        keywords = dict(kwargs or {})
        operation = Operation(
            name=operation_name(func),
            inputs=[*_tensors(args), *_tensors(keywords.values())],
            arguments=args,
            keywords=keywords,
        )
        try:
            returned = func(*args, **keywords)
        except Exception as error:
            operation.error = error
            self.operations.append(operation)
            raise
        operation.outputs = list(_tensors([returned]))
        if operation.outputs:
            self.operations.append(operation)
        return returned

    def name(self, tensor: Tensor) -> str | None:
        """The name of a parameter, or of the one that a tensor is a view of."""
        for held in (tensor, tensor._base):
            if held is not None and id(held) in self._names:
                return self._names[id(held)]
        return None

    def failed(self, error: BaseException) -> Operation | None:
        """The operation that raised this very exception."""
        for operation in reversed(self.operations):
            if operation.error is error:
                return operation
        return None

    def made(self, tensor: Tensor) -> Operation | None:
        """The operation whose output the tensor is."""
        for operation in reversed(self.operations):
            if any(output is tensor for output in operation.outputs):
                return operation
        return None


def operation_name(func: Callable[..., Any]) -> str:
    """`linear`, `view`, `matmul`, `add` for `__add__` and `add_`, `mT` for the attribute."""
    name = str(resolve_name(func) or getattr(func, "__name__", func))
    *_, owner, last = ["", *name.split(".")]
    plain = (owner if last == "__get__" else last).strip("_")
    reflected = ("radd", "rsub", "rmul", "rtruediv", "rmatmul")
    return plain[1:] if plain in reflected else plain


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
