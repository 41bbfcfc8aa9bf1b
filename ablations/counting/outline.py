"""What a decoder comes to, put together from its parts; nothing of it is built twice.

The parts are asked in the order in which a decoder is built, so that the first that does not fit is
the one that its builder would name. The first cell with a stranger's part is built whole too; where
that is another, or the part is known to be another beside others, so is every cell with that part.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import torch

from ablations.architecture import Architecture
from ablations.assembly import (
    is_per_layer,
    not_in_every_block,
    placed_by,
    without_dropout,
    without_hooks,
)
from ablations.counting.part import Part, Refused
from ablations.counting.parts import Parts
from ablations.decoder import skeleton
from ablations.recall import Situation, choices_of, situation
from ablations.sizes import Sizes
from ablations.strangers import is_ours
from registry.errors import Incompatible, MissingExtra
from registry.spec import Choice

BROKEN = Refused(reason=None)
ENOUGH = 4
"""Cells with a stranger's part that are built whole, if none of them can be."""

LARGEST = 2**60
"""Numbers in a matrix beyond which torch itself may refuse to make it."""


@dataclass(frozen=True, kw_only=True)
class Outline:
    """A decoder that is known by its sizes alone, with its weights in the type that it runs in."""

    architecture: Architecture
    sizes: Sizes


class Outlines:
    """Outlines of the cells of a grid, in one type; every choice in them must outlive it."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._parts = Parts()
        self._last: tuple[Architecture, Outline | Refused] | None = None
        """That of the cell before, which may differ in how it is measured alone."""
        self._ours: set[int] = set()
        self._alone: dict[int, bool] = {}
        self._places: dict[tuple[str, str], int] = {}
        self._place_of: dict[int, int] = {}
        self._checked: Counter[int] = Counter()
        """By a stranger's choice, how well it is known that it is what it seems alone."""

    def of(self, architecture: Architecture) -> Outline | Refused:
        """The outline of a decoder. Raises: MissingExtra."""
        if self._last is None or self._last[0] is not architecture:
            self._last = architecture, self._outline(architecture)
        return self._last[1]

    def _outline(self, architecture: Architecture) -> Outline | Refused:
        strangers = self._strangers(architecture)
        if not strangers:
            return self._composed(architecture)
        found = self._composed(architecture) if strangers.isdisjoint(self._parts.unsteady) else None
        if found is None or not strangers.isdisjoint(self._parts.unsteady):
            return self._built(architecture)
        if any(self._checked[stranger] < ENOUGH for stranger in strangers):
            built = self._built(architecture)
            if built != found:
                self._parts.unsteady |= strangers
                return built
            # One that is refused may not have come to all of its parts.
            times = ENOUGH if isinstance(built, Outline) else 1
            self._checked.update(dict.fromkeys(strangers, times))
        return found

    def _strangers(self, architecture: Architecture) -> set[int]:
        """The strangers' choices that it is built from."""
        layers = architecture.layers
        blocks = [layers[0]] if layers[0] is layers[-1] else []
        if not blocks or len(set(map(id, layers))) > 1:
            blocks = list({id(block): block for block in layers}.values())
        choices = {id(choice): choice for block in blocks for choice in choices_of(block)}
        if architecture.embedding_norm is not None:
            choices[id(architecture.embedding_norm)] = architecture.embedding_norm
        if choices.keys() <= self._ours:
            return set()
        self._ours |= {number for number, choice in choices.items() if is_ours(choice.target)}
        return choices.keys() - self._ours

    def _built(self, architecture: Architecture) -> Outline | Refused:
        """The same of the whole decoder, built."""
        try:
            decoder = skeleton(architecture)
        except MissingExtra:
            raise
        except Incompatible as reason:
            return Refused(reason=str(reason))
        except (Exception, SystemExit):
            return BROKEN
        return Outline(architecture=architecture, sizes=decoder.to(self._dtype).sizes)

    def _composed(self, architecture: Architecture) -> Outline | Refused:
        width = architecture.embedding_dim or architecture.d_model
        embedding = architecture.vocab_size * width
        if max(embedding, width * architecture.d_model) > LARGEST:
            return self._built(architecture)
        total = embedding
        if not architecture.tie_embeddings:
            total += embedding
        if architecture.head_bias:
            total += architecture.vocab_size
        if architecture.embedding_dim:
            total += 2 * width * architecture.d_model
        first = situation(architecture, 0)
        parts: list[tuple[Part, int]] = []
        norm = architecture.embedding_norm
        if norm is not None:
            found = self._parts.count("norm", norm, first)
            if isinstance(found, Refused):
                return found
            parts.append((found, 1))
        layers = architecture.layers
        alike = layers[0] is layers[-1] and len(set(map(id, layers))) == 1
        placed = self._positions(architecture, first, alike)
        if isinstance(placed, Refused):
            return placed
        blocks = self._blocks(architecture, first, alike)
        if isinstance(blocks, Refused):
            return blocks
        parts += [(position, 1) for position in {id(p): p for p in placed}.values()]
        parts += blocks
        wanted = architecture.final_norm
        if wanted is None:
            asked = blocks[-1][0].final_norm
            if not isinstance(asked, bool):
                return BROKEN
            wanted = asked
        if wanted:
            last = architecture.depth - 1
            own = first.resized((("layer", last),)) if alike else situation(architecture, last)
            found = self._parts.count("norm", layers[-1].norm, own, last)
            if isinstance(found, Refused):
                return found
            parts.append((found, 1))
        if any(part.hides for part, _ in parts):
            return BROKEN
        reason = _misfit(architecture, placed, blocks)
        if reason:
            return Refused(reason=reason)
        if any(part.uneven for part, _ in parts):
            return self._built(architecture)
        total += sum([times * part.parameters for part, times in parts])
        passes = architecture.share_layers
        size = self._dtype.itemsize
        return Outline(
            architecture=architecture,
            sizes=Sizes(
                parameters=total,
                matrices=sum([passes * times * block.matrices for block, times in blocks]),
                weight_bytes=size * total,
                wide_bytes=max(4, size) * total,
                number_bytes=size,
            ),
        )

    def _positions(
        self, architecture: Architecture, first: Situation, alike: bool
    ) -> list[Part] | Refused:
        """The position of each layer, as `assembly.place_positions` has them; one where all have
        the same."""
        layers = architecture.layers
        if alike and not self._is_alone(layers[0].position):
            found = self._parts.count("position", layers[0].position, first)
            return found if isinstance(found, Refused) else [found]
        made: dict[tuple[int, int | None], Part] = {}
        placed = []
        for layer, block in enumerate(layers):
            choice = block.position
            key = self._same(choice), layer if self._is_alone(choice) else None
            if key not in made:
                found = self._parts.count("position", choice, situation(architecture, layer), layer)
                if isinstance(found, Refused):
                    return found
                made[key] = replace(found)  # one of its own, however like another
            placed.append(made[key])
        if len(made) > 1:
            for block, part in zip(layers, placed, strict=True):
                if part.embeds:
                    return Refused(reason=not_in_every_block(block.position))
        return placed

    def _blocks(
        self, architecture: Architecture, first: Situation, alike: bool
    ) -> list[tuple[Part, int]] | Refused:
        """What each block comes to, with how many there are of it in a row."""
        layers, share = architecture.layers, architecture.share_layers
        blocks: list[tuple[Part, int]] = []
        known: dict[int, Part] = {}
        for layer in range(0, len(layers), share):
            block = layers[layer]
            part = known.get(id(block))
            if part is None:
                own = situation(architecture, layer) if layer else first
                found = self._parts.count("placement", block.placement, own, layer)
                if isinstance(found, Refused):
                    return found
                part = found
                if not part.of_its_layer:
                    if alike:
                        return [(part, len(layers) // share)]
                    known[id(block)] = part
            blocks.append((part, 1))
        return blocks

    def _is_alone(self, position: Choice) -> bool:
        """Whether each layer has one of its own."""
        alone = self._alone.get(id(position))
        if alone is None:
            alone = self._alone[id(position)] = is_per_layer(position)
        return alone

    def _same(self, position: Choice) -> int:
        """A number that equal positions have in common."""
        if id(position) not in self._place_of:
            place = self._places.setdefault(placed_by(position), len(self._places))
            self._place_of[id(position)] = place
        return self._place_of[id(position)]


def _misfit(
    architecture: Architecture, placed: list[Part], blocks: list[tuple[Part, int]]
) -> str | None:
    """Why an attention cannot be handed its position, or lacks dropout, of the first layer with
    such a one."""
    if len(placed) == len(blocks) == 1:  # all layers are alike
        pairs = [(0, placed[0], blocks[0][0])]
    else:
        built = [block for block, times in blocks for _ in range(times)]
        share = architecture.share_layers
        pairs = [
            (layer, placed[layer if len(placed) > 1 else 0], built[layer // share])
            for layer in range(architecture.depth)
        ]
    for layer, position, block in pairs:
        choices = architecture.layers[layer]
        for hooks, dropout in block.mixers:
            if position.acts and not hooks:
                return without_hooks(choices.position, choices.attention.name)
            if architecture.attention_dropout and not dropout:
                return without_dropout(choices.attention.name)
    return None
