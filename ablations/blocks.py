"""How blocks are wired, as one pass through each was seen to go, or why none was.

Seen once a block and version of its code, it stands in the run directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

STREAM, OUT, UNSEEN = 0, "out", "unseen"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a part; `inputs` are the numbers of the calls that it was computed from.

    Calls are numbered from 1; 0 is the stream as it enters the block. The last, whose part is
    `OUT`, is what leaves it.
    """

    part: str
    inputs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """The calls of a block, and the `layers`, from 0, in which it makes them."""

    layers: tuple[int, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, kw_only=True)
class View:
    """What was seen of a block: its wirings, of which layers may have several, or why nothing."""

    wirings: tuple[Wiring, ...] = ()
    reason: str = ""


NOT_YET = View(reason="not looked at yet")


def block_rows(block: str, view: View) -> Iterator[dict[str, Any]]:
    """The rows of `reports.frames.Frames.blocks` for a block of that name."""
    if view.reason:
        yield _row(block, 1, Call(part=UNSEEN, inputs=()), view.reason)
    for wiring in view.wirings:
        alone = len(view.wirings) == 1
        name = block if alone else f"{block}, {_in_words(wiring.layers)}"
        for number, call in enumerate(wiring.calls, start=1):
            yield _row(name, number, call)


def as_document(view: View) -> dict[str, Any]:
    """As plain data."""
    return asdict(view)


def from_document(document: Mapping[str, Any]) -> View:
    """From plain data."""
    wirings = [
        Wiring(layers=tuple(wiring["layers"]), calls=tuple(map(_call, wiring["calls"])))
        for wiring in document["wirings"]
    ]
    return View(wirings=tuple(wirings), reason=document["reason"])


def _call(document: Mapping[str, Any]) -> Call:
    return Call(part=document["part"], inputs=tuple(document["inputs"]))


def _row(block: str, number: int, call: Call, reason: str = "") -> dict[str, Any]:
    inputs = ", ".join(map(str, call.inputs))
    return {"block": block, "call": number, "part": call.part, "inputs": inputs, "reason": reason}


def _in_words(layers: Sequence[int]) -> str:
    """`block 3`, `blocks 0 to 2, 5`."""
    spans: list[list[int]] = []
    for layer in layers:
        if spans and layer == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], layer]
        else:
            spans.append([layer])
    told = ", ".join(" to ".join(map(str, span)) for span in spans)
    return f"block {told}" if len(layers) == 1 else f"blocks {told}"
