"""What part of an attention each operation belongs to: projection, head split, scores …

B batch, T tokens, D d_model, H heads, K key/value heads, C head_dim.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from registry.conformance.recording import Operation, Recorder, Sizes
from registry.conformance.size_names import SizeNames

PRODUCTS = ("matmul", "bmm", "einsum", "baddbmm")
RESHAPES = ("view", "reshape", "flatten", "unflatten")
TRANSPOSES = ("transpose", "permute", "swapaxes", "swapdims", "movedim", "T", "mT", "t")
BROADCASTS = ("add", "sub", "mul", "where", "masked_fill", "rsub", "truediv", "div")
SDPA = "scaled_dot_product_attention"


def stages(recorder: Recorder, *, attention: bool) -> Iterator[tuple[str, Operation]]:
    """Each operation with the stage it belongs to, or with its own name where there is none."""
    phase = "before"  # then scores, weights, mixed
    for operation in recorder.operations:
        yield _stage(recorder, operation, phase if attention else ""), operation
        if operation.name == SDPA:
            phase = "mixed"
        elif operation.name == "softmax" and phase == "scores":
            phase = "weights"
        elif operation.name in PRODUCTS and not is_projection(recorder, operation):
            phase = "scores" if phase == "before" else "mixed"


def stage_of(recorder: Recorder, wanted: Operation, *, attention: bool) -> str:
    """The stage of one operation."""
    found = stages(recorder, attention=attention)
    return next(stage for stage, operation in found if operation is wanted)


def is_projection(recorder: Recorder, operation: Operation) -> bool:
    """Whether it multiplies by a parameter."""
    return operation.name in ("linear", "addmm") or (
        operation.name in PRODUCTS and any(map(recorder.name, operation.inputs))
    )


def reshaped(operation: Operation) -> Sizes | None:
    """The shape that a reshape makes, or was asked for; None for what asks in another way."""
    if operation.outputs:
        return operation.shape
    given = operation.arguments[1:] or tuple(operation.keywords.values())
    if operation.name in ("view", "reshape"):
        asked = given[0] if given and isinstance(given[0], (list, tuple)) else given
        return _filled(asked, math.prod(operation.shapes[0]))
    if operation.name == "unflatten" and len(given) == 2 and operation.shapes:
        source, dim = operation.shapes[0], int(given[0])
        dim %= len(source)
        return (*source[:dim], *_filled(given[1], source[dim]), *source[dim + 1 :])
    return None


def scrambled(recorder: Recorder, names: SizeNames, *, attention: bool) -> str | None:
    """The first reshape that puts numbers of one token into another's place, in words."""
    for stage, operation in stages(recorder, attention=attention):
        if operation.name == SDPA:
            q = operation.shapes[0]
            expected = names.shape((*q[:-3], q[-2], q[-3], q[-1])) if len(q) > 2 else ""
            if expected and names.name(q[-2]) == "H" and names.name(q[-3]) == "T":
                return f"transpose: {SDPA} needs q as {expected}, got {names.shape(q)}"
        if operation.name not in RESHAPES or not operation.outputs:
            continue
        source, result = operation.shapes[0], operation.shape
        before, after = names.factors(source), names.factors(result)
        if before != after and sorted(before) == sorted(after):
            return (
                f"{stage}: {names.shape(source)} was reshaped to {names.shape(result)}, which "
                "mixes tokens: transpose the dimensions instead"
            )
    return None


def _stage(recorder: Recorder, operation: Operation, phase: str) -> str:
    name = operation.name
    if is_projection(recorder, operation):
        return "projection" if phase in ("before", "") else "output projection"
    if not phase:
        return "reshape" if name in RESHAPES else name
    if name in PRODUCTS:
        return "scores" if phase == "before" else "weighted sum"
    if name in TRANSPOSES:
        return "transpose"
    if name in RESHAPES:
        return _reshape_stage(operation, phase)
    if name in BROADCASTS and phase in ("scores", "weights"):
        return "mask broadcast"
    return name


def _reshape_stage(operation: Operation, phase: str) -> str:
    shape = reshaped(operation)
    difference = len(shape) - len(operation.shapes[0]) if shape is not None else 0
    if phase == "before":
        return "head split" if difference > 0 else "reshape"
    return "head merge" if phase == "mixed" else "reshape"


def _filled(asked: object, whole: int) -> Sizes:
    """Sizes with a −1 among them worked out."""
    sizes = [int(size) for size in asked] if isinstance(asked, (list, tuple)) else []
    if -1 in sizes:
        others = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = whole // others if others else 0
    return tuple(sizes)
