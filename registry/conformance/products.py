"""Why scores or a weighted sum cannot be computed, in named dimensions.

B batch, T tokens, H heads, K key/value heads, C head_dim.
"""

from __future__ import annotations

from torch import Tensor

from registry.conformance.recording import Operation, Sizes
from registry.conformance.size_names import SizeNames

REPEAT = "repeat each key/value head for the query heads that it serves, repeat_interleave(dim=1)"
SWAP = "transpose heads and tokens after the head split"


def explain_product(operation: Operation, stage: str, names: SizeNames) -> str | None:
    """What the second factor should have been; None for what is no product of two by heads."""
    if operation.name not in ("matmul", "bmm") or len(operation.inputs) != 2:
        return None
    first, second = operation.shapes
    if len(first) < 3 or len(second) < 3:
        return None
    tokens, head_dim = names.atoms["T"], names.atoms["C"]
    is_scores = stage == "scores"
    what = ("q", "k") if is_scores else ("weights", "v")
    if is_scores and _swapped(first, names):
        wanted = (*first[:-3], first[-2], first[-3], first[-1])
        return f"transpose: expected q {names.shape(wanted)}, got {names.shape(first)}: {SWAP}"
    end = (first[-1], tokens) if is_scores else (tokens, head_dim)
    wanted = (*first[:-2], *end)
    hint = ""
    if second[-2:] == end and second[:-2] != wanted[:-2]:
        hint = f": {REPEAT}"
    elif is_scores and second == (*wanted[:-2], end[1], end[0]):
        hint = ": transpose its last two dimensions"
    elif _swapped(second, names) or _swapped(second, names, last=-2, first=-1):
        hint = f": {SWAP}"
    return (
        f"{stage}: expected {what[1]} as {names.shape(wanted)} for {what[0]} "
        f"{names.shape(first)}, got {names.shape(second)}{hint}"
    )


def explain_attention(operation: Operation, names: SizeNames) -> str | None:
    """Which argument of `scaled_dot_product_attention` does not fit the query."""
    given = dict(zip(("query", "key", "value", "attn_mask"), operation.arguments, strict=False))
    given.update(operation.keywords)
    q, k, v = (given.get(name) for name in ("query", "key", "value"))
    if not all(isinstance(x, Tensor) and x.ndim >= 3 for x in (q, k, v)):
        return None
    assert isinstance(q, Tensor)
    for name, x in (("k", k), ("v", v)):
        assert isinstance(x, Tensor)
        wanted = (*q.shape[:-2], names.atoms["T"], q.shape[-1])
        if x.shape == wanted:
            continue
        grouped = x.ndim == 4 and x.shape[-2:] == wanted[-2:] and x.shape[1] != q.shape[1]
        hint = f": {REPEAT}, or enable_gqa=True" if grouped else ""
        stage = "scores" if name == "k" else "weighted sum"
        if not (grouped and given.get("enable_gqa")):
            return (
                f"{stage}: expected {name} as {names.shape(wanted)} for q {names.shape(q.shape)}, "
                f"got {names.shape(x.shape)}{hint}"
            )
    mask = given.get("attn_mask")
    if isinstance(mask, Tensor):
        assert isinstance(k, Tensor)
        scores = (*q.shape[:-1], k.shape[-2])
        return (
            f"mask broadcast: expected what broadcasts to {names.shape(scores)}, as (T, T) does, "
            f"got {names.shape(mask.shape)}"
        )
    return None


def _swapped(shape: Sizes, names: SizeNames, last: int = -2, first: int = -3) -> bool:
    """Whether heads stand where tokens should, and tokens where heads should."""
    return (
        len(shape) == 4
        and names.name(shape[first]) == "T"
        and names.name(shape[last]) in ("H", "K")
    )
