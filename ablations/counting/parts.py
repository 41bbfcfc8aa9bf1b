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
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from ablations.counting.part import Make, Part, Refused
from ablations.counting.recording import Recorder
from ablations.recall import Reads, Recall, Situation, getter_of
from registry.spec import Choice

MOST = 8_192
"""Parts with those that they make which are kept at most for each choice and what they read."""


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
        self._reads: dict[frozenset[str], frozenset[str]] = {}
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
        return Recorder(self, situation, layer).count(kind, choice)

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
        whole = _together(alone, shape, made, self._reads)
        if isinstance(whole, Part):
            recall = self._whole.setdefault(id(choice), Recall(MOST))
            recall.keep(whole.read, situation, whole)
        return whole


def _together(
    alone: Part | Refused,
    shape: _Shape,
    made: list[Part | Refused],
    reads: dict[frozenset[str], frozenset[str]],
) -> Part | Refused:
    """A part with those that it makes; equal sets of what is read, of `reads`, are one."""
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
        read=reads.setdefault(read, read),
        hides=hides,
    )
