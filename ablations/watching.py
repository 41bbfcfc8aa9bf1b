"""Hooks on a decoder that keep what passes through it.

Shapes: B batch, T tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Literal, TypeVar, get_args

from torch import Tensor, nn

from ablations.decoder import Decoder

Source = TypeVar("Source")
Sublayer = Literal["attention", "feed_forward"]
SUBLAYERS: Mapping[str, Sublayer] = {kind: kind for kind in get_args(Sublayer)}

MAX_NODES = 1_000
"""Steps of a computation that are searched for the sublayer behind an update."""


@dataclass(frozen=True, kw_only=True)
class Branch:
    """What a sublayer did to the stream of a block: `before` and `after` its residual, (B, T, D).

    `before` is what the placement handed to the residual, such as the widened stream of DeepNorm.
    """

    layer: int
    sublayer: Sublayer
    before: Tensor
    after: Tensor


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """One call of an attention: what it was handed, x (B, T, D) and the rest by name."""

    layer: int
    module: nn.Module
    x: Tensor
    rest: Mapping[str, Any]


class Watcher:
    """Watches the passes inside the `with` block; layers are counted as a token passes them.

    `embedded` is the token embeddings' output, `summed` what the embedding norm was given (None
    without one), `streams[l]` what enters block l, and `left` what left the last one. An update
    belongs to the sublayer that it was computed from, as autograd knows; one that comes from
    several, or from none, is no branch.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.embedded: list[Tensor] = []
        self.streams: list[Tensor] = []
        self.left: Tensor | None = None
        self.summed: Tensor | None = None
        self.branches: list[Branch] = []
        self.mixings: list[Mixing] = []
        self._decoder = decoder
        self._sublayers: dict[Any, Sublayer] = {}  # by the autograd nodes of their outputs
        self._last_norm: tuple[nn.Module, Tensor, object] | None = None
        self._hooks: list[Any] = []

    def last_norm(self, output: Tensor) -> tuple[nn.Module | None, Tensor | None]:
        """The norm whose result is the stack's output, and what it was given; None without."""
        if self._last_norm is not None and self._last_norm[2] is output:
            return self._last_norm[:2]
        return None, None

    def __enter__(self) -> Watcher:
        decoder = self._decoder
        self._hooks.append(
            decoder.token_embedding.register_forward_hook(
                lambda _module, _args, out: self.embedded.append(out)
            )
        )
        if decoder.embedding_norm is not None:
            self._hooks.append(decoder.embedding_norm.register_forward_pre_hook(self._embedding))
        for block in decoder.blocks:
            self._hooks.append(block.register_forward_pre_hook(self._enter_block))
            self._hooks.append(block.register_forward_hook(self._leave_block))
        for part, module in decoder.with_modules():
            if part.kind == "norm":
                self._hooks.append(module.register_forward_hook(self._norm))
            elif part.kind == "residual":
                self._hooks.append(module.register_forward_hook(self._residual, with_kwargs=True))
            elif part.layer is not None and part.kind in SUBLAYERS:
                hook = partial(self._sublayer, SUBLAYERS[part.kind])
                self._hooks.append(module.register_forward_hook(hook, with_kwargs=True))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _enter_block(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self.streams.append(args[0])
        self._sublayers.clear()

    def _leave_block(self, module: nn.Module, args: tuple[Any, ...], out: Tensor) -> None:
        self.left = out.detach()

    def _embedding(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        self.summed = args[0].detach()

    def _sublayer(
        self,
        kind: Sublayer,
        module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Tensor,
    ) -> None:
        if out.grad_fn is not None:
            self._sublayers[out.grad_fn] = kind
        if kind == "attention":
            rest = dict(kwargs)
            x = args[0] if args else rest.pop("x")
            layer = len(self.streams) - 1
            self.mixings.append(Mixing(layer=layer, module=module, x=x.detach(), rest=rest))

    def _residual(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor
    ) -> None:
        given = dict(zip(("x", "update"), args, strict=False)) | kwargs
        sublayer = self._source_of(given["update"])
        if sublayer is not None:
            self.branches.append(
                Branch(
                    layer=len(self.streams) - 1,
                    sublayer=sublayer,
                    before=given["x"].detach(),
                    after=out.detach(),
                )
            )

    def _source_of(self, update: Tensor) -> Sublayer | None:
        """The one sublayer of this block whose output an update was computed from."""
        found = computed_from([update], self._sublayers, MAX_NODES)
        return found.pop() if len(found) == 1 else None

    def _norm(self, module: nn.Module, args: tuple[Any, ...], out: object) -> None:
        if args:
            self._last_norm = (module, args[0].detach(), out)


def computed_from(tensors: Iterable[Tensor], known: Mapping[Any, Source], most: int) -> set[Source]:
    """Which of the `known` nodes of autograd's graph tensors were computed from.

    What a known node was computed from is not looked at; nor are more than `most` steps.
    """
    found: set[Source] = set()
    seen: set[Any] = set()
    nodes: list[Any] = [tensor.grad_fn for tensor in tensors]
    while nodes and len(seen) < most:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node in known:
            found.add(known[node])
        else:
            nodes += [parent for parent, _ in node.next_functions]
    return found
