"""Why a reshape does not fit, in named dimensions."""

from __future__ import annotations

import math

from registry.conformance.recording import Operation
from registry.conformance.size_names import SizeNames
from registry.conformance.stages import reshaped


def explain_reshape(operation: Operation, stage: str, names: SizeNames) -> str | None:
    """What was expected of the reshaped tensor; None where its size is not the matter."""
    asked = reshaped(operation)
    if not operation.shapes or asked is None:
        return None
    source = operation.shapes[0]
    got = names.shape(source)
    if math.prod(asked) == math.prod(source):
        if operation.name != "view":
            return None
        return (
            f"{stage}: view to {names.shape(asked)} needs memory in that order, and {got} is "
            "transposed: use reshape or flatten"
        )
    expected = _expected(source, asked)
    if expected is None:
        return f"{stage}: {got} does not fill {names.shape(asked)}"
    return f"{stage}: expected {names.shape(expected)} to make {names.shape(asked)}, got {got}"


def _expected(source: tuple[int, ...], asked: tuple[int, ...]) -> tuple[int, ...] | None:
    """What the source should have been, if all but its last dimension is as asked."""
    lead = source[:-1]
    if asked[: len(lead)] != lead or len(asked) <= len(lead):
        return None
    return (*lead, math.prod(asked[len(lead) :]))
