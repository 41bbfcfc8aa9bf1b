"""What a part of a decoder comes to: built alone on the meta device, once for all that it asks.

A part is remembered by what its constructor reads, of its sizes, its block's choices and the model,
and by the parts that it makes. So nothing rests on a formula, and a stranger's part is counted as
the built-in ones are; what differs between the two is how far a part can look into those it makes:

- Of ours it is known that they look at no more of a part than its class and whether it is gated.
  They are counted as what they add themselves and, each counted alone, what they make.
- A stranger's may look at anything, or tie the weights of what it makes. It is counted as one, and
  whatever is read within it is read by it.

A stranger's part is built twice: one that is another the second time, or that has a parameter which
any other part has had, does not come to the same beside others as alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from ablations.assembly import Builder
from ablations.decoder import building
from ablations.recall import (
    Reads,
    Recall,
    Situation,
    changes_of,
    getter_of,
    watched_architecture,
    watched_dims,
)
from ablations.strangers import is_ours
from ablations.undrawn import Undrawn
from registry.contracts import Dims
from registry.errors import Incompatible, MissingExtra
from registry.options import signature_of
from registry.spec import Choice

MOST = 50_000
"""Parts with those that they make which are kept at most for each choice and what they read."""

Make = tuple[str, tuple[tuple[str, Any], ...]]
"""A part that another one makes: its kind, and the sizes that it is given beyond the other's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A part that is not built: why it does not fit, or None where its constructor breaks."""

    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What a part comes to, with those that it makes, and what a decoder asks of it."""

    parameters: int = 0
    matrices: int = 0
    seen: tuple[type, bool] = (object, False)
    """Its class, and whether it is gated."""
    mixers: tuple[tuple[bool, bool], ...] = ()
    """Of each attention whether it has position hooks, and whether it has dropout."""
    final_norm: object = None
    embeds: bool = False
    acts: bool = False
    """Whether a position acts on queries, keys or scores."""
    uneven: bool = False
    """Whether some parameter is no real number, so that one is not as large as another."""
    read: frozenset[str] = frozenset()
    """All that it asks of its situation, and those that it makes ask."""
    hides: bool = False
    """Whether a part that it made is not held as a submodule."""

    @property
    def of_its_layer(self) -> bool:
        """Whether it may be another in another layer."""
        return "layer" in self.read


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """The questions that a constructor asked in some situation: what it read, and what it made."""

    read: Reads
    getter: Callable[[Any], Any]
    makes: tuple[tuple[Make, int], ...]
    known: dict[Any, Part | Refused] = field(default_factory=dict)
    """By the answers what the part is alone."""

    def key(self, situation: Situation, made: Iterable[Part | Refused]) -> Any:
        """The answers in a situation."""
        seen = tuple([None if isinstance(part, Refused) else part.seen for part in made])
        return self.getter(situation), seen


class Parts:
    """Counts parts; every choice that it is asked for must outlive it."""

    def __init__(self) -> None:
        self._shapes: dict[int, dict[Any, _Shape]] = {}
        self._whole: dict[int, Recall[Part]] = {}
        """Of parts that make others, what they came to with these."""
        self._owners: dict[int, tuple[nn.Parameter, int]] = {}
        """Strangers' parameters, which are kept so that no other has their `id`, and whose."""
        self.unsteady: set[int] = set()
        """The choices, by `id`, that do not come to the same beside others as alone."""

    def count(
        self, kind: str, choice: Choice, situation: Situation, layer: int = 0
    ) -> Part | Refused:
        """What a part of that situation comes to, `layer` telling whose it is.

        Raises: MissingExtra.
        """
        recall = self._whole.get(id(choice))
        if recall is not None:
            part = recall.find(situation)
            if part is not None:
                return part
        for shape in self._shapes.get(id(choice), {}).values():
            made = [self._made(make, situation, layer) for make, _ in shape.makes]
            found = shape.known.get(shape.key(situation, made))
            if found is not None:
                return self._together(choice, situation, shape, found, made)
        return _Recorder(self, situation, layer).count(kind, choice)

    def _made(self, make: Make, situation: Situation, layer: int) -> Part | Refused:
        kind, sizes = make
        choice = getattr(situation.architecture.layers[layer], kind)
        return self.count(kind, choice, situation.resized(sizes), layer)

    def own(self, choice: Choice, module: nn.Module) -> None:
        """Note whose a stranger's parameters are, and who has them in common."""
        for parameter in module.parameters():
            _, owner = self._owners.setdefault(id(parameter), (parameter, id(choice)))
            if owner != id(choice):
                self.unsteady |= {owner, id(choice)}

    def keep(
        self,
        choice: Choice,
        situation: Situation,
        read: set[str],
        made: list[tuple[Make, Part | Refused]],
        alone: Part | Refused,
    ) -> Part | Refused:
        """Remember what a part is alone that read and made just that; what it is with those."""
        times = Counter(make for make, _ in made)
        parts = dict(made)
        shapes = self._shapes.setdefault(id(choice), {})
        names, makes = tuple(sorted(read)), tuple(times.items())
        if (names, makes) not in shapes:
            shapes[names, makes] = _Shape(read=names, getter=getter_of(names), makes=makes)
        shape = shapes[names, makes]
        shape.known[shape.key(situation, parts.values())] = alone
        return self._together(choice, situation, shape, alone, list(parts.values()))

    def _together(
        self,
        choice: Choice,
        situation: Situation,
        shape: _Shape,
        alone: Part | Refused,
        made: list[Part | Refused],
    ) -> Part | Refused:
        """A part with those that it makes."""
        if not made:
            return alone
        whole = _together(alone, shape, made)
        if isinstance(whole, Part):
            recall = self._whole.setdefault(id(choice), Recall(MOST))
            recall.keep(whole.read, situation, whole)
        return whole


def _together(alone: Part | Refused, shape: _Shape, made: list[Part | Refused]) -> Part | Refused:
    """A part with those that it makes."""
    if isinstance(alone, Refused):
        return next((part for part in made if isinstance(part, Refused)), alone)
    parameters, matrices, mixers = alone.parameters, alone.matrices, alone.mixers
    uneven, hides = alone.uneven, alone.hides
    read = alone.read
    for ((kind, sizes), times), part in zip(shape.makes, made, strict=True):
        assert isinstance(part, Part), "what makes a part that is refused is refused"
        parameters += times * part.parameters
        matrices += times * part.matrices
        mixers += part.mixers
        uneven |= part.uneven
        hides |= part.hides
        read |= {kind} | (part.read - dict(sizes).keys())
    return Part(
        parameters=parameters,
        matrices=matrices,
        seen=alone.seen,
        mixers=mixers,
        final_norm=alone.final_norm,
        embeds=alone.embeds,
        acts=alone.acts,
        uneven=uneven,
        read=read,
        hides=hides,
    )


@dataclass(kw_only=True)
class _Record:
    """A part that is being built: what it read, and what it made, with the modules."""

    situation: Situation
    whole: bool
    """Whether what it makes is counted as its own."""
    read: set[str] = field(default_factory=set)
    made: list[tuple[Make, Part | Refused]] = field(default_factory=list)
    modules: list[nn.Module] = field(default_factory=list)


class _Recorder(Builder):
    """Builds parts as a decoder's builder does, and notes what each asks for."""

    def __init__(self, parts: Parts, situation: Situation, layer: int) -> None:
        super().__init__(situation.architecture, 0, Undrawn())
        self._parts = parts
        self._situation = situation
        self._layer = layer
        self._open: list[_Record] = []

    def count(self, kind: str, choice: Choice) -> Part | Refused:
        """What a part comes to. Raises: MissingExtra."""
        with torch.device("meta"), building(self.architecture, self.seed) as self._undrawn:
            return self._count(kind, choice, self._situation)[0]

    def make(
        self, kind: str, choice: Choice, layer: int, slot: str, dims: Dims | None = None
    ) -> nn.Module:
        """Build a part that another one makes, and note it there."""
        record = self._open[-1]
        assert dims is not None, "a maker hands on the sizes of its own part"
        if record.whole:
            record.read.add(kind)  # its choice
            return super().make(kind, choice, layer, slot, dims)
        make = kind, changes_of(dims)
        part, built = self._count(kind, choice, record.situation.resized(make[1]))
        record.made.append((make, part))
        if isinstance(built, BaseException):
            raise built
        record.modules.append(built)
        return built

    def _count(
        self, kind: str, choice: Choice, situation: Situation
    ) -> tuple[Part | Refused, nn.Module | BaseException]:
        """What a part comes to, and the part; what it raised where it is refused."""
        record = _Record(situation=situation, whole=True)
        self._open.append(record)
        before = len(self._made)
        alone: Part | Refused
        built: nn.Module | BaseException
        try:
            makers = signature_of(choice.load(), takes_dims=True).makers
            record.whole = not (makers and is_ours(choice.target))
            dims = watched_dims(situation.dims, record.read)
            built = super().make(kind, choice, self._layer, kind, dims)
            alone = self._alone(kind, built, record, before)
            if not is_ours(choice.target):
                self._check_steady(kind, choice, situation, built, alone)
        except MissingExtra:
            raise
        except Incompatible as reason:
            alone, built = Refused(reason=str(reason)), reason
        except (Exception, SystemExit) as error:
            alone, built = Refused(reason=None), error
        finally:
            self._open.pop()
        part = self._parts.keep(choice, situation, record.read, record.made, alone)
        return part, built

    def _check_steady(
        self, kind: str, choice: Choice, situation: Situation, built: nn.Module, alone: Part
    ) -> None:
        """Build a stranger's part once more, and note where that is another or has its weights."""
        again = _Record(situation=situation, whole=True)
        before = len(self._made)
        self._open.append(again)
        try:
            twin = super().make(kind, choice, self._layer, kind, situation.dims)
            same = replace(self._alone(kind, twin, again, before), read=alone.read)
        finally:
            self._open.pop()
        shared = {id(p) for p in built.parameters()} & {id(p) for p in twin.parameters()}
        if shared or same != alone:
            self._parts.unsteady.add(id(choice))
        self._parts.own(choice, built)

    def _unsupported(self, component: Any, dims: Dims) -> Any:
        ask = getattr(component, "unsupported", None)
        view = watched_architecture(self.architecture, self._open[-1].read)
        return ask(dims, view) if ask else None

    def _alone(self, kind: str, module: nn.Module, record: _Record, before: int) -> Part:
        """What a part is without those that it made, unless these are counted as its own."""
        others = {id(p) for made in record.modules for p in made.parameters()}
        own = [p for p in module.parameters() if id(p) not in others]
        made = self._made[before:] if record.whole else self._made[-1:]
        within = {id(part): path for path, part in module.named_modules()}
        alive = [(part, kind_of) for ref, _, kind_of, _, _ in made if (part := ref()) is not None]
        mixers = sorted(
            (within[id(part)], part)
            for part, kind_of in alive
            if kind_of == "attention" and id(part) in within
        )
        return Part(
            parameters=sum(p.numel() for p in own),
            matrices=sum(p.numel() for p in own if p.ndim >= 2),
            seen=(type(module), kind == "activation" and bool(getattr(module, "gated", False))),
            mixers=tuple(
                (
                    bool(getattr(part, "position_hooks", False)),
                    bool(getattr(part, "attention_dropout", False)),
                )
                for _, part in mixers
            ),
            final_norm=getattr(module, "final_norm", None) if kind == "placement" else None,
            embeds=kind == "position" and hasattr(module, "embed"),
            acts=kind == "position" and any(hasattr(module, hook) for hook in ("rotate", "bias")),
            uneven=not all(p.is_floating_point() for p in own),
            read=frozenset(record.read),
            hides=any(id(part) not in within for part, _ in alive),
        )
