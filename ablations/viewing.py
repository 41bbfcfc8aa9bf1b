"""Blocks viewed: each distinct one once a version, in a worker, never a trial long."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from typing import Any

from ablations.architecture import Architecture, BlockChoices
from ablations.blocks import View
from ablations.decoder import skeleton
from ablations.identity import ENGINE, components_of, described
from ablations.initialization import initialized_decoder
from ablations.printable import line
from ablations.sources import Sources
from ablations.strangers import is_ours, strangers_of
from ablations.streams import seeded_process
from ablations.wiring import wirings
from registry.contracts import Outcome
from registry.spec import Choice

LONGEST_REASON = 200
"""Characters of the line that says why a block was not seen."""

MOST_VALUES = 20_000_000
"""Parameters of a model that is looked at with values: of a larger one shapes alone are quicker,
though a first pass on the meta device takes a second."""

FEW_TOKENS = 8
"""Enough for a block of ours, whose wiring does not depend on their number."""

CODE = ("blocks", "wiring", *ENGINE)
"""Modules of this package that what is seen of a block depends on."""


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """A block as a run uses it, in some `layers` of an architecture, to be seen; plain.

    `tokens` is the length of its pass, and `device` where that runs.
    """

    key: str
    block: str
    architecture: Architecture
    layers: tuple[int, ...]
    tokens: int
    device: str = "cpu"

    @property
    def strangers(self) -> frozenset[str]:
        """Whose code this viewing runs beside this project's own."""
        return strangers_of(choice.target for choice in components_of(self.architecture))


class Blocks:
    """The distinct blocks of a run: each placement with each residual once.

    Of the cells that have it the first with the fewest strangers' parts in it stands for all, so
    that a placement does not go unseen for what another part does.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, Architecture, BlockChoices]] = {}

    def add(self, architecture: Architecture) -> None:
        """Take in the blocks of a cell."""
        for choices in {id(choices): choices for choices in architecture.layers}.values():
            key = _key(choices)
            held = self._found.get(key)
            if held is not None and held[0] == 0:
                continue
            theirs = _strangers_parts(choices)
            if held is None or theirs < held[0]:
                self._found[key] = theirs, architecture, choices

    def viewings(self, sources: Sources, device: str = "cpu") -> list[Viewing]:
        """What is to be seen, in the order in which cells have it.

        What a stranger makes of a layer may depend on which one it is, so that all are looked at.

        Raises: StaleSource.
        """
        several = len({residual for _, residual in self._found}) > 1
        viewings = []
        for (placement, residual), (theirs, whole, choices) in self._found.items():
            layers = tuple(n for n, of in enumerate(whole.layers) if _key(of) == _key(choices))
            architecture, tokens = whole, whole.context
            if not theirs:
                architecture, layers = _alone(whole, choices), (0,)
                tokens = min(tokens, FEW_TOKENS)
            viewings.append(
                Viewing(
                    key=_digest(architecture, layers, device, sources),
                    block=f"{placement}, residual {residual}" if several else placement,
                    architecture=architecture,
                    layers=layers,
                    tokens=tokens,
                    device=device,
                )
            )
        return viewings


def view(viewing: Viewing) -> View:
    """See the block in one pass, in a worker.

    With values; that of a large model on shapes alone, unless a part of it needs values.

    Raises: what building and calling it does.
    """
    with seeded_process(0, "process/view"):
        shapes = skeleton(viewing.architecture).eval()
        if shapes.sizes.parameters > MOST_VALUES:
            with contextlib.suppress(Exception):
                return View(wirings=wirings(shapes, viewing.layers, viewing.tokens))
        decoder = initialized_decoder(viewing.architecture, 0).to(viewing.device).eval()
        return View(wirings=wirings(decoder, viewing.layers, viewing.tokens))


def view_of(outcome: Outcome) -> View:
    """What an executor's outcome says: a block that kills its viewing is not seen, and why."""
    if outcome.state == "done":
        result: Any = outcome.result
        assert isinstance(result, View)
        return result
    return View(reason=line(" ".join(outcome.message.split()), LONGEST_REASON) or outcome.state)


def _alone(architecture: Architecture, choices: BlockChoices) -> Architecture:
    """One block with little around it."""
    return replace(
        architecture,
        layers=(choices,),
        share_layers=1,
        vocab_size=1,
        embedding_dim=None,
        embedding_norm=None,
    )


def _key(choices: BlockChoices) -> tuple[str, str]:
    return choices.placement.label, choices.residual.label


def _strangers_parts(choices: BlockChoices) -> int:
    values = (getattr(choices, field.name) for field in fields(choices))
    return sum(not is_ours(value.target) for value in values if isinstance(value, Choice))


def _digest(
    architecture: Architecture, layers: Iterable[int], device: str, sources: Sources
) -> str:
    targets = sorted({choice.target for choice in components_of(architecture)})
    code = [f"ablations.{module}" for module in CODE] + targets + ["registry"]
    document = [
        described(architecture), [*layers], device, [*map(sources.of, code)], version("torch"),
    ]  # fmt: skip
    text = json.dumps(document, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
