"""Every value of a grid as a person reads it, and where it comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ablations.models.canonical import plain
from ablations.models.choosing import Chooser
from ablations.models.labels import label
from ablations.models.model import COMPONENT_KINDS, PARTS, Model
from ablations.models.widths import DEFAULT_WORDS
from ablations.models.written import parts_of, with_part
from registry.catalog import Catalog
from registry.spec import Choice

_INFERRED = {"d_ff": DEFAULT_WORDS, "head_dim": "d_model / n_heads", "embedding_dim": "d_model"}
"""What null stands for."""


@dataclass(frozen=True)
class Setting:
    """One value of a grid as a person reads it, and where it comes from."""

    key: str
    value: str
    origin: Literal["given", "default", "factor"]


def settings(
    model: Mapping[str, Any],
    catalog: Catalog,
    *,
    given: Collection[str] = (),
    factors: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Setting, ...]:
    """Every value of a faultless model as written, and every option of its components.

    `given` holds the keys (and parts: `bias.qkv`) that a person wrote, `factors` the values of
    those that vary.
    """
    chooser = Chooser(catalog)
    factors = factors or {}
    rows: list[Setting] = []
    for key, value in Model.model_validate(model).whole().items():
        varied = parts_of(key, factors)
        if key in PARTS and key not in factors:
            rows += [_setting(f"{key}.{part}", own, given, factors) for part, own in value.items()]
            continue
        rows.append(_setting(key, value, given, factors))
        if key in COMPONENT_KINDS:
            rows += _options(chooser, key, factors.get(key, [value]), varied)
        else:
            names = [f"{key}.{part}" for part in varied]
            rows += [Setting(name, _alternatives(name, factors[name]), "factor") for name in names]
    return tuple(dict.fromkeys(rows))


def run_settings(
    measures: Sequence[Choice],
    run: Mapping[str, Any],
    *,
    given: Collection[str] = (),
    factors: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Setting, ...]:
    """Every option of the measures, and the keys of a grid beside its model and factors.

    `given` holds the keys of the grid that a person wrote, `factors` the options that vary.
    """
    factors = factors or {}
    rows = [
        _setting(
            f"{choice.name}.{option}",
            choice.options[option],
            {f"{choice.name}.{name}" for name in choice.given},
            factors,
        )
        for choice in measures
        for option in sorted(choice.options)
    ]
    return (*rows, *(_setting(key, plain(value), given, {}) for key, value in run.items()))


def _setting(
    name: str, value: Any, given: Collection[str], factors: Mapping[str, Sequence[Any]]
) -> Setting:
    levels = factors.get(name, [value])
    words = _INFERRED.get(name) if list(levels) == [None] else None
    origin: Literal["given", "default", "factor"]
    origin = "factor" if name in factors else "given" if name in given else "default"
    return Setting(name, words or _alternatives(name, levels), origin)


def _options(
    chooser: Chooser, key: str, values: Sequence[Any], varied: Mapping[str, Sequence[Any]]
) -> Iterator[Setting]:
    """The options of the components that a key names at its levels, those that vary as factors."""
    for value in values:
        where = key if len(values) == 1 else f"{key}={label(key, value)}"
        for part, levels in varied.items():
            value = with_part(key, value, part, levels[0]) if value is not None else None
        choices = chooser.components(key, value)
        for i, choice in enumerate(choices):
            of = where if len(choices) == 1 else f"{where}[{i}]"
            for option in sorted(choice.options):
                if option in varied:
                    yield Setting(f"{key}.{option}", _alternatives("", varied[option]), "factor")
                    continue
                origin: Literal["given", "default"]
                origin = "given" if option in choice.given else "default"
                yield Setting(f"{of}.{option}", label("", plain(choice.options[option])), origin)


def _alternatives(key: str, values: Sequence[Any]) -> str:
    return " | ".join(label(key, plain(value)) for value in values)
