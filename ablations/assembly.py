"""Building components: makers, slots, and where each component hangs in a decoder."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from ablations.architecture import Architecture, BlockChoices
from ablations.strangers import is_ours
from ablations.streams import global_stream
from ablations.undrawn import Undrawn
from registry.contracts import Dims, Maker
from registry.errors import Incompatible, InvalidSpec
from registry.options import signature_of
from registry.spec import Choice


@dataclass(frozen=True, kw_only=True)
class Part:
    """One component inside a decoder.

    `path` is where it hangs in the module tree. `slot` names its place independently of how a
    placement calls its attributes, so that streams of initial weights keep their names when a
    placement is swapped. `layer` is None outside the blocks.
    """

    path: str
    slot: str
    kind: str
    name: str
    layer: int | None
    ours: bool


class Builder:
    """Makes the components of one decoder and remembers what it made, and for which slot."""

    def __init__(self, architecture: Architecture, seed: int, undrawn: Undrawn) -> None:
        self.architecture = architecture
        self.seed = seed
        self._undrawn = undrawn
        self._made: list[tuple[weakref.ref[nn.Module], str, str, Choice, int]] = []

    def block(self, layer: int, slot: str) -> nn.Module:
        """The block of that layer, as its placement wires it."""
        return self.make("placement", self.architecture.layers[layer].placement, layer, slot)

    def make(
        self, kind: str, choice: Choice, layer: int, slot: str, dims: Dims | None = None
    ) -> nn.Module:
        """Build one component; what its constructor draws depends on seed and slot alone."""
        dims = dims or self.architecture.dims(layer)
        cls = choice.load()
        reason = self._unsupported(cls, dims)
        if reason:
            raise Incompatible(f"{kind} {choice.name!r}: {reason}")
        made: Counter[str] = Counter()
        makers = [
            self._maker(part, layer, slot, dims, made)
            for part in signature_of(cls, takes_dims=True).makers
        ]
        leaving = is_ours(choice.target) and is_ours(self.architecture.initializer.target)
        with global_stream(self.seed, f"{slot}/constructor"), self._undrawn.leaving(leaving):
            module = cls(dims, *makers, **choice.options)
        if not isinstance(module, nn.Module):
            raise InvalidSpec(
                f"{kind} {choice.name!r} must be a torch.nn.Module, not {type(module).__name__}"
            )
        if kind in ("attention", "feed_forward") and self.architecture.residual_dropout:
            module.register_forward_hook(_ResidualDropout(self.architecture.residual_dropout))
        self._made.append((weakref.ref(module), slot, kind, choice, layer))
        return module

    def _unsupported(self, component: Any, dims: Dims) -> Any:
        """What a component says against being built so, where it has something to say."""
        ask = getattr(component, "unsupported", None)
        return ask(dims, self.architecture) if ask else None

    def _maker(self, kind: str, layer: int, parent: str, own: Dims, made: Counter[str]) -> Maker:
        choices: BlockChoices = self.architecture.layers[layer]

        def maker(dims: Dims | None = None) -> nn.Module:
            slot = f"{parent}.{kind}" + (f".{made[kind]}" if made[kind] else "")
            made[kind] += 1
            return self.make(kind, getattr(choices, kind), layer, slot, dims or own)

        return maker

    def parts_of(self, decoder: nn.Module) -> tuple[Part, ...]:
        """Everything made, by its path.

        Raises: InvalidSpec when a component keeps a part that it asked for otherwise than as a
        submodule: its parameters would be neither trained nor counted. One given up is nobody's.
        """
        paths = {id(module): path for path, module in decoder.named_modules()}
        parts = []
        for made, slot, kind, choice, layer in self._made:
            module = made()
            if module is None:
                continue
            if id(module) not in paths:
                raise InvalidSpec(
                    f"{kind} {choice.name!r} of {slot} was made but is not held as a submodule"
                )
            inside = slot.startswith("blocks.")
            parts.append(
                Part(
                    path=paths[id(module)],
                    slot=slot,
                    kind=kind,
                    name=choice.name,
                    layer=layer if inside else None,
                    ours=is_ours(choice.target),
                )
            )
        return tuple(sorted(parts, key=lambda part: part.path))


class _ResidualDropout:
    """Forward hook on a sublayer: drops elements of its output while training."""

    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, module: nn.Module, args: object, output: Tensor) -> Tensor:
        return F.dropout(output, self.p, module.training)


def place_positions(
    architecture: Architecture, builder: Builder, modules: nn.ModuleList
) -> list[int]:
    """Build the positions, one for all layers that agree or one a layer; return layer → index."""
    index_of: dict[Any, int] = {}
    places = []
    for layer, choices in enumerate(architecture.layers):
        choice = choices.position
        alone = is_per_layer(choice)
        key = (placed_by(choice), layer if alone else None)
        if key not in index_of:
            index_of[key] = len(modules)
            slot = f"positions.layer.{layer}" if alone else f"positions.{len(modules)}"
            modules.append(builder.make("position", choice, layer, slot))
        places.append(index_of[key])
    if len({id(modules[place]) for place in places}) > 1:
        for choices, place in zip(architecture.layers, places, strict=True):
            if hasattr(modules[place], "embed"):
                raise Incompatible(not_in_every_block(choices.position))
    return places


def is_per_layer(position: Choice) -> bool:
    """Whether each layer has a position of its own."""
    return bool(getattr(position.load(), "per_layer", False))


def placed_by(position: Choice) -> tuple[str, str]:
    """What layers with one and the same position have in common."""
    return position.target, repr(sorted(position.options.items()))


def not_in_every_block(position: Choice) -> str:
    """Why layers cannot have different positions."""
    return (
        f"position {position.name!r} is added to the embedding, so it must be the same in every "
        "block"
    )


def without_hooks(position: Choice, attention: str) -> str:
    """Why an attention without hooks cannot be handed a position that acts."""
    return (
        f"position {position.name!r} acts on queries, keys or scores; attention {attention!r} "
        "supports only positions added to the embedding"
    )


def without_dropout(attention: str) -> str:
    """Why an attention cannot be asked for dropout."""
    return f"attention {attention!r} has no attention dropout"
