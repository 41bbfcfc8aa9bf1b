"""A model's mapping to its architecture: components chosen, options filled in, widths worked out.

Two forms of a model are told apart. *As written*, values are what a person gave (`rmsnorm`,
`bias: true`), the rest the schema's defaults. *Canonical*, every option of every component stands
there with its value, so that equal models are equal texts; what is inferred only when a decoder is
described (`d_ff`, `head_dim`, `final_norm: auto`) stays as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel

from ablations.architecture import Architecture, BlockChoices
from ablations.document import DataPath, Fault, from_mapping, scalar, show
from ablations.schema import COMPONENT_KINDS, MAX_SIZE, PER_BLOCK, LayerWidths, Model, WidthRule
from ablations.schema import model_faults as schema_faults
from registry.catalog import Catalog
from registry.errors import Incompatible, InvalidOptions, RegistryError
from registry.spec import Choice, Kind, MeasureSpec, Spec

D_FF_DEFAULT = "4·d_model, gated 8/3·d_model rounded up to a multiple of 8"
PARTS = {"bias": ("qkv", "out", "feed_forward", "head"), "dropout": ("attention", "residual")}
"""Keys of `model` whose parts may be factors of their own (`bias.qkv`)."""


class Conflict(Incompatible):
    """Values of a model that do not go together; `key` is the one to change."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


class Faulty(ValueError):
    """A value that cannot be used; paths of its faults are relative to it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.message for fault in self.faults))


@dataclass(frozen=True)
class Setting:
    """One value of a model as a person reads it, and where it comes from."""

    key: str
    value: str
    origin: Literal["given", "default", "factor"]


def resolve(mapping: Mapping[str, Any], catalog: Catalog) -> Architecture:
    """The architecture that a `model` describes.

    Raises: GridError with every fault; Incompatible when its values do not go together.
    """
    document = from_mapping(mapping)
    resolver = Resolver(catalog)
    faults = resolver.faults(document.data)
    if faults:
        raise document.error(faults)
    return resolver.architecture(document.data)


def canonical_json(value: Any) -> str:
    """The one text of plain data: keys sorted, floats in full, text and numbers kept apart."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Resolver:
    """Resolves models of one catalog; remembers each distinct component, width and measure."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._components: dict[tuple[Kind, str], tuple[Choice, ...]] = {}
        self._canonical: dict[tuple[Kind, str], Any] = {}
        self._measures: dict[str, Choice] = {}
        self._gated: dict[str, bool] = {}

    def faults(self, mapping: Mapping[str, Any]) -> list[Fault]:
        """Everything wrong in a model as written; paths are relative to it."""
        faults = schema_faults(mapping)
        for key in COMPONENT_KINDS:
            if key in mapping:
                try:
                    self.components(key, mapping[key])
                except Faulty as error:
                    faults += [
                        Fault((key, *fault.path), fault.message, fault.on_key)
                        for fault in error.faults
                    ]
        return faults

    def components(self, key: str, value: Any) -> tuple[Choice, ...]:
        """The choices that a component key names: one, or one for each entry of `layers`.

        An `embedding_norm` of null is none. Raises: Faulty.
        """
        kind = COMPONENT_KINDS[key]
        if key == "embedding_norm" and value is None:
            return ()
        memo = (kind, canonical_json(value))
        if memo not in self._components:
            parts, faults = _entries(key, value)
            chosen: list[Choice] = []
            for path, name, options in parts:
                try:
                    chosen.append(self._choose(kind, name, options, path))
                except Faulty as error:
                    faults += error.faults
            if faults:
                raise Faulty(faults)
            self._components[memo] = tuple(chosen)
        return self._components[memo]

    def measure(self, spec: MeasureSpec, options: Mapping[str, Any]) -> Choice:
        """A measure with these options. Raises: Faulty, paths relative to the options."""
        memo = canonical_json([spec.provenance.distribution, spec.name, options])
        if memo not in self._measures:
            self._measures[memo] = self.choose(spec, options, ())
        return self._measures[memo]

    def choose(self, spec: Spec, options: Mapping[str, Any], path: DataPath) -> Choice:
        """The catalog's choice, its faults under `path`. Raises: Faulty."""
        try:
            choice = self.catalog.choose(spec, options)
            plain(choice.options)
        except InvalidOptions as error:
            known = {option.name for option in self.catalog.options(spec)}
            raise Faulty(
                Fault((*path, option), message, option not in known)
                if option is not None
                else Fault(path, message)
                for option, message in error.findings
            ) from None
        except RegistryError as error:
            raise Faulty([Fault(path, str(error))]) from None
        except Exception as error:  # reading a stranger's class may fail in any way
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise Faulty([Fault(path, f"{spec.name!r} cannot be read: {reason}")]) from None
        return choice

    def canonical(self, mapping: Mapping[str, Any]) -> dict[str, Any]:
        """A faultless model in canonical form."""
        model = Model.model_validate(mapping)
        return {key: self._canonical_value(model, key) for key in Model.model_fields}

    def canonical_value(self, key: str, value: Any) -> Any:
        """One value in canonical form. Raises: Faulty, paths relative to the value."""
        faults = self.faults({key: value})
        if faults:
            raise Faulty(Fault(f.path[1:], f.message, f.on_key) for f in faults)
        return self._canonical_value(Model.model_validate({key: value}), key)

    def architecture(self, mapping: Mapping[str, Any]) -> Architecture:
        """The architecture of a faultless model.

        Raises: Incompatible when its values do not go together.
        """
        model = Model.model_validate(mapping)
        head_dim = model.head_dim
        if head_dim is None:
            if model.d_model % model.n_heads:
                raise Conflict(
                    "n_heads",
                    f"d_model {model.d_model} is not divisible by n_heads {model.n_heads}; "
                    "give head_dim, or heads that divide",
                )
            head_dim = model.d_model // model.n_heads
        layers, rule = self._layers(model)
        _check_sharing(layers, model.share_layers)
        embedding_norm = self.components("embedding_norm", model.embedding_norm)
        bias, dropout = model.biases, model.rates
        return Architecture(
            d_model=model.d_model,
            n_heads=model.n_heads,
            head_dim=head_dim,
            context=model.context,
            vocab_size=model.vocab_size,
            layers=layers,
            initializer=self.components("initializer", model.initializer)[0],
            embedding_norm=embedding_norm[0] if embedding_norm else None,
            embedding_scale=model.embedding_scale,
            final_norm=None if model.final_norm == "auto" else bool(model.final_norm),
            qkv_bias=bias.qkv,
            out_bias=bias.out,
            feed_forward_bias=bias.feed_forward,
            head_bias=bias.head,
            tie_embeddings=model.tie_embeddings,
            attention_dropout=dropout.attention,
            residual_dropout=dropout.residual,
            share_layers=model.share_layers,
            d_ff_rule=rule,
        )

    def _choose(self, kind: Kind, name: str, options: Any, path: DataPath) -> Choice:
        try:
            spec = self.catalog.component(kind, name)
        except RegistryError as error:
            written = (*path, name) if options is not None else path
            raise Faulty([Fault(written, str(error), options is not None)]) from None
        return self.choose(spec, options or {}, (*path, name))

    def _canonical_value(self, model: Model, key: str) -> Any:
        value = getattr(model, key)
        if key in COMPONENT_KINDS:
            memo = (COMPONENT_KINDS[key], canonical_json(value))
            if memo not in self._canonical:
                choices = self.components(key, value)
                self._canonical[memo] = _shortest([{c.name: plain(c.options)} for c in choices])
            return self._canonical[memo]
        if key == "bias":
            return model.biases.model_dump()
        if key == "dropout":
            return plain(model.rates.model_dump())
        if isinstance(value, LayerWidths):
            return _shortest([_dump(width) for width in value.layers])
        return _dump(value)

    def _layers(self, model: Model) -> tuple[tuple[BlockChoices, ...], str]:
        """One entry a block, and the rule of their feed-forward widths in words."""
        depth = model.depth
        chosen = {kind: self.components(kind, getattr(model, kind)) for kind in PER_BLOCK}
        widths: Sequence[int | WidthRule | None]
        widths = model.d_ff.layers if isinstance(model.d_ff, LayerWidths) else [model.d_ff]
        for key, values in (*chosen.items(), ("d_ff", widths)):
            if len(values) > depth:
                raise Conflict(
                    key, f"{key} names {len(values)} layers, more than the depth of {depth}"
                )
        # What repeats is worked out once: blocks that are alike are one object.
        period = min(depth, math.lcm(len(widths), *map(len, chosen.values())))
        blocks: list[BlockChoices] = []
        rules: dict[str, None] = {}
        for layer in range(period):
            parts = {kind: values[layer % len(values)] for kind, values in chosen.items()}
            width = widths[layer % len(widths)]
            d_ff, rule = self._width(width, model.d_model, parts["activation"])
            rules[rule] = None
            blocks.append(BlockChoices(**parts, d_ff=d_ff))
        return tuple((blocks * -(-depth // period))[:depth]), "; ".join(rules)

    def _width(
        self, width: int | WidthRule | None, d_model: int, activation: Choice
    ) -> tuple[int, str]:
        if isinstance(width, int):
            return width, "given"
        if width is None:
            if self._is_gated(activation):
                rule = f"8/3·d_model rounded up to a multiple of 8 (gated {activation.name})"
                return _round_up(Fraction(8 * d_model, 3), 8), rule
            return 4 * d_model, f"4·d_model (ungated {activation.name})"
        # The multiple is meant as it is written: 1.1 · 10 is 11, whatever 1.1 is in binary.
        d_ff = _round_up(Fraction(repr(width.multiple_of_d_model)) * d_model, width.round_to)
        if d_ff > MAX_SIZE:
            raise Conflict("d_ff", f"the feed-forward width would be {d_ff}, above {MAX_SIZE}")
        rule = f"{_number(width.multiple_of_d_model)}·d_model"
        if width.round_to > 1:
            rule += f" rounded up to a multiple of {width.round_to}"
        return d_ff, rule

    def _is_gated(self, activation: Choice) -> bool:
        if activation.target not in self._gated:
            self._gated[activation.target] = bool(getattr(activation.load(), "gated", False))
        return self._gated[activation.target]


Entry = tuple[DataPath, str, dict[str, Any] | None]
"""Path, name and options of a component; options are None where the name stands alone."""


def entries(key: str, value: Any) -> list[Entry]:
    """Each component that a value names, paths relative to it. Raises: Faulty."""
    parts, faults = _entries(key, value)
    if faults:
        raise Faulty(faults)
    return parts


def _is_layers(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"layers"}


def entry(value: Any) -> tuple[str, dict[str, Any] | None] | None:
    """The name and options of `name` or `{name: {option: value}}`; None for anything else."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, dict) and len(value) == 1:
        ((name, options),) = value.items()
        if isinstance(options, dict):
            return name, options
    return None


def _entries(key: str, value: Any) -> tuple[list[Entry], list[Fault]]:
    forms = "name, {name: {option: value}}"
    where: DataPath = ()
    items = {where: value}
    if key in PER_BLOCK:
        if _is_layers(value):
            layers = value["layers"]
            if not isinstance(layers, list) or not layers:
                words = f"expected a list of at least one component, not {show(layers)}"
                return [], [Fault(("layers",), words)]
            items = {("layers", i): item for i, item in enumerate(layers)}
        else:
            forms += " or {layers: [...]}"
    elif key == "embedding_norm":
        forms += " or null"
    parts: list[Entry] = []
    faults: list[Fault] = []
    for where, item in items.items():
        part = entry(item)
        if part is None:
            words = f"expected {COMPONENT_KINDS[key]} as {forms}, not {show(item)}"
            faults.append(Fault(where, words))
        else:
            parts.append((where, *part))
    return parts, faults


def with_part(key: str, value: Any, part: str, level: Any) -> Any:
    """A value of `model` as written, with one option or part of it set to a level.

    Raises: Faulty for a component that is none.
    """
    if key in PARTS:
        model = Model.model_validate({key: value})
        whole = model.biases if key == "bias" else model.rates
        return {**whole.model_dump(), part: level}
    items = [{name: {**(options or {}), part: level}} for _, name, options in entries(key, value)]
    return {"layers": items} if _is_layers(value) else items[0]


def label(key: str, value: Any) -> str:
    """A value of `model` or of an option as a person reads it: `gqa(n_kv_heads=2)`, `true`."""
    if _is_layers(value) and isinstance(value["layers"], list):
        return f"layers({', '.join(label(key, item) for item in value['layers'])})"
    if key in COMPONENT_KINDS:
        if value is None:
            return "null"
        ((_, name, options),) = entries(key, value)
        return f"{name}({_pairs(options)})" if options else name
    return _pairs(value) if isinstance(value, dict) and value else _text(value)


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
    resolver = Resolver(catalog)
    factors = factors or {}
    rows: list[Setting] = []
    origin: Literal["given", "default", "factor"]
    filled = Model.model_validate(model)
    for key in Model.model_fields:
        values = factors.get(key, [getattr(filled, key)])
        origin = "factor" if key in factors else "given" if key in given else "default"
        if key in PARTS and key not in factors:
            whole = filled.biases if key == "bias" else filled.rates
            for part in PARTS[key]:
                name = f"{key}.{part}"
                levels = factors.get(name)
                origin = "factor" if levels else "given" if name in given else "default"
                rows.append(Setting(name, _choices(name, levels or [getattr(whole, part)]), origin))
            continue
        rows.append(Setting(key, _inferred(key, values) or _choices(key, values), origin))
        if key in COMPONENT_KINDS:
            rows += _option_rows(resolver, key, values, factors)
        rows += [
            Setting(name, _choices(name, levels), "factor")
            for name, levels in factors.items()
            if key in PARTS and key in factors and name.startswith(f"{key}.")
        ]
    return tuple(dict.fromkeys(rows))


def plain(value: Any) -> Any:
    """A copy made of what JSON knows, with one zero. Raises: TypeError."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) + 0.0
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"an option is {value!r:.80}; options are text, numbers, lists and mappings")


def _check_sharing(layers: Sequence[BlockChoices], share: int) -> None:
    depth = len(layers)
    if depth % share:
        raise Conflict("share_layers", f"share_layers {share} does not divide depth {depth}")
    if len(set(map(id, layers))) == 1:
        return
    for start in range(0, depth, share):
        for layer in range(start + 1, start + share):
            if not same_block(layers[start], layers[layer]):
                raise Conflict(
                    "share_layers",
                    f"share_layers {share} shares layers {start} and {layer}, "
                    "whose components differ",
                )


def same_block(one: BlockChoices, other: BlockChoices) -> bool:
    """Whether two blocks are built alike, whoever wrote their options."""
    return one is other or (
        one.d_ff == other.d_ff
        and all(same_choice(getattr(one, kind), getattr(other, kind)) for kind in PER_BLOCK)
    )


def same_choice(one: Choice | None, other: Choice | None) -> bool:
    """Whether two choices build the same, whoever wrote their options."""
    if one is None or other is None:
        return one is other
    return one is other or (
        one.target == other.target
        and canonical_json(plain(one.options)) == canonical_json(plain(other.options))
    )


def _shortest(items: list[Any]) -> Any:
    """One item, or the shortest `layers` that repeat to the same; None for no items."""
    texts = [canonical_json(item) for item in items]
    for period in range(1, len(items) + 1):
        if len(items) % period == 0 and texts == texts[:period] * (len(items) // period):
            return items[0] if period == 1 else {"layers": items[:period]}
    return None


def _round_up(value: Fraction, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _dump(value: Any) -> Any:
    return plain(value.model_dump() if isinstance(value, BaseModel) else value)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _choices(key: str, values: Sequence[Any]) -> str:
    return " | ".join(label(key, _dump(value)) for value in values)


def _inferred(key: str, values: Sequence[Any]) -> str:
    if len(values) == 1 and values[0] is None:
        return {"d_ff": D_FF_DEFAULT, "head_dim": "d_model / n_heads"}.get(key, "")
    return ""


def _option_rows(
    resolver: Resolver, key: str, values: Sequence[Any], factors: Mapping[str, Sequence[Any]]
) -> Iterable[Setting]:
    varied = {name.partition(".")[2]: levels for name, levels in factors.items()}
    varied = {part: levels for part, levels in varied.items() if f"{key}.{part}" in factors}
    for value in values:
        where = key if len(values) == 1 else f"{key}={label(key, value)}"
        for part, levels in varied.items():
            value = with_part(key, value, part, levels[0]) if value is not None else None
        choices = resolver.components(key, value)
        for i, choice in enumerate(choices):
            of = where if len(choices) == 1 else f"{where}[{i}]"
            for option in sorted(choice.options):
                if option in varied:
                    yield Setting(f"{key}.{option}", _choices("", varied[option]), "factor")
                    continue
                origin: Literal["given", "default"]
                origin = "given" if option in choice.given else "default"
                yield Setting(f"{of}.{option}", label("", plain(choice.options[option])), origin)


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={_text(mapping[key])}" for key in sorted(mapping))


def _text(value: Any) -> str:
    """A scalar as YAML would have it, quoted where it would be read as something else."""
    if isinstance(value, dict):
        return f"{{{_pairs(value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if not isinstance(value, str):
        return show(value)
    if isinstance(scalar(value), str) and value.isprintable() and not set(value) & set(',=()[]{}"'):
        return value
    return json.dumps(value, ensure_ascii=False)
