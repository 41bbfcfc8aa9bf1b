"""Why a call went wrong, told by its stage and in named dimensions.

B batch, T tokens, D d_model, H heads, K key/value heads, C head_dim, F hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from registry.conformance.products import SWAP, explain_attention, explain_product
from registry.conformance.raising import raised, source_line
from registry.conformance.recording import Operation, Recorder
from registry.conformance.reshapes import explain_reshape
from registry.conformance.size_names import SizeNames, tell
from registry.conformance.stages import (
    BROADCASTS,
    PRODUCTS,
    RESHAPES,
    SDPA,
    is_projection,
    stage_of,
    stages,
)
from registry.errors import describe


def explain_error(
    recorder: Recorder, error: BaseException, names: SizeNames, *, attention: bool
) -> str:
    """Why a call raised; an error that no operation on tensors raised is told as it is."""
    operation = recorder.failed(error)
    if operation is None:
        return raised(error)
    told = _dtypes(recorder, operation, error, attention=attention)
    if told is None and attention:
        told = first_deviation(recorder, names)
    if told is None:
        told = _shapes(recorder, operation, error, names, attention=attention)
    return told + source_line(error)


def explain_shape(
    recorder: Recorder,
    outcome: Any,
    expected: Sequence[tuple[str, ...]],
    names: SizeNames,
    *,
    attention: bool,
) -> str:
    """Why what a call returned is not what its kind returns."""
    outputs = outcome if isinstance(outcome, tuple) and len(expected) > 1 else (outcome,)
    if len(outputs) != len(expected) or not all(isinstance(part, Tensor) for part in outputs):
        many = isinstance(outcome, tuple)
        got = f"a tuple of {len(outcome)}" if many else f"what is of type {type(outcome).__name__}"
        return f"output: expected {' and '.join(map(tell, expected))}, got {got}"
    got = " and ".join(names.shape(part.shape) for part in outputs)
    deviation = first_deviation(recorder, names) if attention else None
    if deviation:
        return deviation
    hint = ": project it back to D" if attention and got == "(B, T, H·C)" else ""
    wanted = " and ".join(names.wanted(shape, got) for shape in expected)
    return f"output: expected {wanted}, got {got}{hint}"


def first_deviation(recorder: Recorder, names: SizeNames) -> str | None:
    """The first stage of an attention whose result has not the shape that it should have."""
    for stage, operation in stages(recorder, attention=True):
        if not operation.outputs:
            continue
        got = names.shape(operation.shape)
        if stage == "scores" and got in ("(B, T, H, H)", "(B, T, H, K)"):
            return f"transpose: expected scores (B, H, T, T), got {got}: {SWAP}"
        if stage == "head merge" and got in ("(B, H, T·C)", "(B, H, T, C)"):
            return f"head merge: expected (B, T, H·C), got {got}: transpose heads and tokens first"
    return None


def _dtypes(
    recorder: Recorder, operation: Operation, error: BaseException, *, attention: bool
) -> str | None:
    kinds = [str(x.dtype).removeprefix("torch.") for x in operation.inputs if _is_real(x)]
    if len(set(kinds)) < 2 or "type" not in str(error):
        return None
    stage = stage_of(recorder, operation, attention=attention)
    return (
        f"{stage}: {' and '.join(dict.fromkeys(kinds))} meet: cast the one to the other, and "
        "register tensors that are no parameters as buffers"
    )


def _shapes(
    recorder: Recorder,
    operation: Operation,
    error: BaseException,
    names: SizeNames,
    *,
    attention: bool,
) -> str:
    stage = stage_of(recorder, operation, attention=attention)
    told = None
    if operation.name in RESHAPES:
        told = explain_reshape(operation, stage, names)
    elif is_projection(recorder, operation):
        told = _explain_projection(recorder, operation, stage, names)
    elif operation.name == SDPA:
        told = explain_attention(operation, names)
    elif operation.name in PRODUCTS:
        told = explain_product(operation, stage, names)
    elif operation.name in BROADCASTS and stage == "mask broadcast":
        told = _explain_mask(operation, names)
    if told is not None:
        return told
    shapes = " and ".join(map(names.shape, operation.shapes))
    if operation.name in BROADCASTS:
        return f"{stage}: {shapes} do not broadcast"
    return f"{stage} of {shapes or 'no tensor'} {raised_in_short(error)}"


def raised_in_short(error: BaseException) -> str:
    """Torch's own words, the first sentence."""
    return f"raised {describe(error)}".partition(". ")[0]


def _explain_projection(
    recorder: Recorder, operation: Operation, stage: str, names: SizeNames
) -> str | None:
    if len(operation.inputs) < 2:
        return None
    x, weight = operation.inputs[:2]
    width = weight.shape[-1 if operation.name == "linear" else 0]
    if x.ndim < 1 or weight.ndim < 2 or x.shape[-1] == width:
        return None
    got, features = names.shape(x.shape), names.name(width)
    merged = recorder.made(x)
    if (
        stage == "output projection"
        and merged is not None
        and merged.name in RESHAPES
        and got != "(B, T, H·C)"
    ):
        wanted = names.wanted(("B", "T", features), got)
        return f"head merge: expected {wanted}, got {got}"
    name = recorder.name(weight)
    of = f" by {name!r}" if name else ""
    expected = names.wanted([*map(names.name, x.shape[:-1]), features], got)
    return f"{stage}{of}: expected {expected}, got {got}"


def _explain_mask(operation: Operation, names: SizeNames) -> str | None:
    if len(operation.inputs) < 2:
        return None
    scores = max(operation.inputs, key=lambda x: (x.ndim, x.is_floating_point(), x.numel()))
    others = [x for x in operation.inputs if x is not scores]
    got = names.shape(scores.shape)
    mask = " and ".join(names.shape(x.shape) for x in others)
    return f"mask broadcast: expected what broadcasts to {got}, as (T, T) does, got {mask}"


def _is_real(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()
