"""Blocks viewed: each distinct one once a version, in a worker, never a trial long."""

from __future__ import annotations

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

CODE = ("blocks", "wiring", *ENGINE)
"""Modules of this package that what is seen of a block depends on."""


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """A block as a run uses it, in some `layers` of an architecture, to be seen; plain.

    `device` is where its pass runs if shapes alone do not do.
    """

    key: str
    block: str
    architecture: Architecture
    layers: tuple[int, ...]
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
            architecture = whole
            if not theirs:
                architecture = replace(
                    whole, layers=(choices,), share_layers=1, embedding_norm=None
                )
                layers = (0,)
            viewings.append(
                Viewing(
                    key=_digest(architecture, layers, device, sources),
                    block=f"{placement}, residual {residual}" if several else placement,
                    architecture=architecture,
                    layers=layers,
                    device=device,
                )
            )
        return viewings


def view(viewing: Viewing) -> View:
    """See the block in one pass, in a worker: on shapes alone, with values where that raises.

    Raises: what building and calling it with values does.
    """
    with seeded_process(0, "process/view"):
        try:
            found = wirings(skeleton(viewing.architecture).eval(), viewing.layers)
        except Exception:  # such as a part that looks at what it is given
            decoder = initialized_decoder(viewing.architecture, 0).to(viewing.device)
            found = wirings(decoder.eval(), viewing.layers)
    return View(wirings=found)


def view_of(outcome: Outcome) -> View:
    """What an executor's outcome says: a block that kills its viewing is not seen, and why."""
    if outcome.state == "done":
        result: Any = outcome.result
        assert isinstance(result, View)
        return result
    return View(reason=line(" ".join(outcome.message.split()), LONGEST_REASON) or outcome.state)


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
