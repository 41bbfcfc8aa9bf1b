"""Parts built on the meta device, each noting what its constructor reads and what it makes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import nn

from ablations.assembly import Builder
from ablations.counting.part import Make, Part, Refused
from ablations.decoder import building
from ablations.recall import Situation, changes_of, watched_architecture, watched_dims
from ablations.strangers import is_ours
from ablations.undrawn import Undrawn
from registry.contracts import Dims
from registry.errors import Incompatible, MissingExtra
from registry.options import signature_of
from registry.spec import Choice


class Keeper(Protocol):
    """What remembers the parts that are built."""

    unsteady: set[int]

    def keep(
        self,
        choice: Choice,
        situation: Situation,
        read: set[str],
        made: list[tuple[Make, Part | Refused]],
        alone: Part | Refused,
    ) -> Part | Refused:
        """Take what a part is alone that read and made just that; gives it with those."""
        ...

    def own(self, choice: Choice, module: nn.Module) -> None:
        """Note whose the parameters of a stranger's part are."""
        ...


@dataclass(kw_only=True)
class _Record:
    """A part that is being built: what it read, and what it made, with the modules."""

    situation: Situation
    whole: bool
    """Whether what it makes is counted as its own."""
    read: set[str] = field(default_factory=set)
    made: list[tuple[Make, Part | Refused]] = field(default_factory=list)
    modules: list[nn.Module] = field(default_factory=list)


class Recorder(Builder):
    """Builds parts as a decoder's builder does, and notes what each asks for."""

    def __init__(self, parts: Keeper, situation: Situation, layer: int) -> None:
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
