"""Every value of a grid as a person reads it, and where it comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablations.grids.starting import Origin
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
    origin: Origin


def settings(
    model: Mapping[str, Any],
    catalog: Catalog,
    *,
    given: Collection[str] = (),
    factors: Mapping[str, Sequence[Any]] | None = None,
    origins: Mapping[str, Origin] | None = None,
) -> tuple[Setting, ...]:
    """Every value of a faultless model as written, and every option of its components.

    `given` holds the keys (and parts: `bias.qkv`) that a person wrote, `factors` the values of
    those that vary, `origins` says where keys, parts and options come from that nobody wrote.
    """
    chooser = Chooser(catalog)
    factors = factors or {}
    told: Mapping[str, Origin] = {**(origins or {}), **dict.fromkeys(given, "given")}
    rows: list[Setting] = []
    for key, value in Model.model_validate(model).whole().items():
        varied = parts_of(key, factors)
        if key in PARTS and key not in factors:
            rows += [_setting(f"{key}.{part}", own, told, factors) for part, own in value.items()]
            continue
        rows.append(_setting(key, value, told, factors))
        if key in COMPONENT_KINDS:
            rows += _options(
                chooser, key, factors.get(key, [value]), varied, {} if key in factors else told
            )
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
            {f"{choice.name}.{name}": "given" for name in choice.given},
            factors,
        )
        for choice in measures
        for option in sorted(choice.options)
    ]
    told: Mapping[str, Origin] = dict.fromkeys(given, "given")
    return (*rows, *(_setting(key, plain(value), told, {}) for key, value in run.items()))


def _setting(
    name: str, value: Any, told: Mapping[str, Origin], factors: Mapping[str, Sequence[Any]]
) -> Setting:
    levels = factors.get(name, [value])
    words = _INFERRED.get(name) if list(levels) == [None] else None
    origin: Origin = "factor" if name in factors else told.get(name, "default")
    return Setting(name, words or _alternatives(name, levels), origin)


def _options(
    chooser: Chooser,
    key: str,
    values: Sequence[Any],
    varied: Mapping[str, Sequence[Any]],
    told: Mapping[str, Origin],
) -> Iterator[Setting]:
    """The options of the components that a key names at its levels, those that vary as factors."""
    # One that a recipe wrote, and not a person: at other sizes it may have been worked out.
    written: Origin = "recipe" if told.get(key) in ("recipe", "scaled") else "given"
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
                named = f"{key}.{option}"
                origin = told.get(named, written) if option in choice.given else "default"
                yield Setting(f"{of}.{option}", label("", plain(choice.options[option])), origin)


def _alternatives(key: str, values: Sequence[Any]) -> str:
    return " | ".join(label(key, plain(value)) for value in values)
