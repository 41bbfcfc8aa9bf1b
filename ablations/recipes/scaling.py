"""A recipe at another size: its ratios are kept, or it is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from ablations.grids.document import Fault
from ablations.grids.expected import Expected, Strict
from ablations.grids.faults import Faulty
from ablations.models.model import Depth, Size
from ablations.models.written import entries, is_layers

NARROWEST = 8
"""Features of a head below which it is not halved."""

BROKEN_TO = 8
"""A width that comes out broken is rounded up to a multiple of this, as gated ones are."""


class ScaleTo(Strict):
    """The sizes at which a recipe is built; all that is in proportion to them follows."""

    d_model: Annotated[Size | None, Expected("an integer > 0 or null")] = Field(
        default=None,
        description="width of the model: that of all heads together, the key/value share, the "
        "feed-forward and the embeddings keep their ratios",
    )
    depth: Annotated[Depth | None, Expected("an integer from 1 to 4096 or null")] = Field(
        default=None, description="number of blocks"
    )
    context: Annotated[Size | None, Expected("an integer > 0 or null")] = Field(
        default=None, description="tokens in a sequence: windows keep their share of it"
    )


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """What becomes of a recipe's model; `computed` names the keys and options that followed."""

    model: Mapping[str, Any]
    computed: frozenset[str] = field(default_factory=frozenset)


def scaled(model: Mapping[str, Any], to: ScaleTo, given: Mapping[str, Any]) -> Scaled:
    """A recipe's model at other sizes; what `given` (a grid's `model`) says is left alone.

    A head keeps its features, halved as often as it takes for the width to hold whole groups of
    query heads: two or more where the recipe has several, so that grouped-query attention stays
    apart from multi-query. A feed-forward's width is rounded up to a multiple of 8 where it comes
    out broken.

    Raises: Faulty where no such heads exist; paths are those of the grid.
    """
    made = {key: value for key, value in to.model_dump().items() if value is not None}
    found: dict[str, Any] = {}
    options: list[str] = []
    attention = model["attention"]
    if to.depth is not None:
        _check_turns(model, to.depth, given)
    if to.context is not None:
        share = Fraction(to.context, model["context"])
        attention = _with_option(attention, "window", lambda w: _window(w * share))
        options.append("window")
    if to.d_model is not None:
        ratio = Fraction(to.d_model, model["d_model"])
        n_heads, head_dim = _heads(model, to.d_model, given)
        found |= {"n_heads": n_heads, "head_dim": head_dim}
        heads = Fraction(n_heads, model["n_heads"])
        attention = _with_option(attention, "n_kv_heads", lambda k: int(k * heads))
        options.append("n_kv_heads")
        for key in ("d_ff", "embedding_dim"):
            if model.get(key) is not None:
                found[key] = _width(model[key], ratio)
    found["attention"] = attention
    changed = {key: value for key, value in found.items() if value != model.get(key)}
    found = {key: value for key, value in changed.items() if key not in given}
    computed = set(found)
    if "attention" in computed:
        computed |= {f"attention.{option}" for option in options}
    return Scaled(model={**model, **made, **found}, computed=frozenset(computed))


def _check_turns(model: Mapping[str, Any], depth: int, given: Mapping[str, Any]) -> None:
    """Refuse a depth that cuts a pattern of layers off. Raises: Faulty."""
    for key, value in model.items():
        if is_layers(value) and key not in given and depth % len(value["layers"]):
            turns = len(value["layers"])
            words = f"{depth} is no multiple of {turns}, the layers in which {key} takes turns"
            raise Faulty([Fault(("scale_to", "depth"), words)])


def _window(exact: Fraction) -> int:
    """A window's share of the context, rounded up. Raises: Faulty."""
    if exact <= 1:
        words = "too short: in the recipe's window a token would see itself alone"
        raise Faulty([Fault(("scale_to", "context"), words)])
    return math.ceil(exact)


def _heads(
    model: Mapping[str, Any], d_model: int, given: Mapping[str, Any]
) -> tuple[int, int | None]:
    """`n_heads` and `head_dim` at another width, null where the heads fill it. Raises: Faulty."""
    n_heads = model["n_heads"]
    features = model.get("head_dim") or model["d_model"] // n_heads
    over_model = Fraction(n_heads * features, model["d_model"])  # of all heads together
    kept = [] if "attention" in given else _kv_heads(model["attention"])
    group = math.lcm(*(n_heads // k for k in kept))
    fewest = max([group * min(2, k) for k in kept] or [min(2, n_heads)])
    asked, width = given.get("n_heads"), over_model * d_model
    candidates: list[Fraction]
    if given.get("head_dim") is not None:
        candidates = [Fraction(given["head_dim"])]
    elif asked is not None:
        candidates = [width / asked]
    else:
        candidates = list(_halved(features))
    for candidate in candidates:
        heads = width / candidate
        whole = candidate.denominator == heads.denominator == 1 and not heads % group
        if whole and (heads >= fewest or asked is not None):
            return int(heads), None if width == d_model else int(candidate)
    raise Faulty([_refusal(d_model, given, width, group, candidates[-1], fewest, over_model)])


def _refusal(
    d_model: int,
    given: Mapping[str, Any],
    width: Fraction,
    group: int,
    features: Fraction,
    fewest: int,
    over_model: Fraction,
) -> Fault:
    groups = f", {group} to each key/value head" if group > 1 else ""
    for key in ("head_dim", "n_heads"):
        if given.get(key) is not None:
            words = f"the heads are together {float(width):g} wide at d_model {d_model}{groups}"
            return Fault(("model", key), f"{given[key]} breaks the recipe's ratios: {words}")
    step = (features * group / over_model).numerator
    least = step * math.ceil(features * fewest / over_model / step)
    words = f"{d_model} cannot hold the recipe's heads{groups}: expected a multiple of {step}"
    words += f", at least {least}" if least > step else ""
    other = "n_heads and attention" if group > 1 else "n_heads"
    return Fault(("scale_to", "d_model"), f"{words}; or give {other} in model")


def _halved(features: int) -> Iterator[Fraction]:
    yield Fraction(features)
    while features % 2 == 0 and features // 2 >= NARROWEST:
        features //= 2
        yield Fraction(features)


def _kv_heads(attention: Any) -> list[int]:
    """The key/value heads of each attention that is told how many."""
    told = [(options or {}).get("n_kv_heads") for _, _, options in entries("attention", attention)]
    return [k for k in told if k is not None]


def _with_option(value: Any, option: str, change: Callable[[int], int]) -> Any:
    """A component as written, an option that it is given changed."""
    items: list[Any] = []
    for _, name, options in entries("attention", value):
        if options is not None and options.get(option) is not None:
            options = {**options, option: change(options[option])}
        items.append(name if options is None else {name: options})
    return {"layers": items} if is_layers(value) else items[0]


def _width(value: Any, ratio: Fraction) -> Any:
    """A width in proportion; a rule that follows the model's width already is left alone."""
    if is_layers(value):
        return {"layers": [_width(item, ratio) for item in value["layers"]]}
    if not isinstance(value, int):
        return value
    exact = value * ratio
    return int(exact) if exact.denominator == 1 else BROKEN_TO * math.ceil(exact / BROKEN_TO)
