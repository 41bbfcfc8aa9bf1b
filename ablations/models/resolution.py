"""A model's mapping to its architecture: components chosen, options filled in, widths worked out.

Two forms of a model are told apart. *As written*, values are what a person gave (`rmsnorm`,
`bias: true`), the rest the schema's defaults. *Canonical*, every option of every component stands
there with its value, so that equal models are equal texts; what is inferred only when a decoder is
described (`d_ff`, `head_dim`, `final_norm: auto`) stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ablations.architecture import Architecture, BlockChoices
from ablations.grids.document import Fault, from_mapping
from ablations.grids.faults import Conflict, Faults, Faulty
from ablations.grids.schema import model_faults
from ablations.models.canonical import canonical_json, plain, shortest
from ablations.models.choosing import Chooser
from ablations.models.model import (
    COMPONENT_KINDS,
    PER_BLOCK,
    Bias,
    Dropout,
    LayerWidths,
    Model,
    WidthRule,
)
from ablations.models.sameness import same_block
from ablations.models.widths import feed_forward_width
from registry.catalog import Catalog
from registry.spec import Choice


@dataclass(frozen=True, kw_only=True, eq=False)
class Value:
    """One value of a model: what it stands for when a decoder is described, and its canonical form.

    `meant` holds the choices of a component, one for each entry of `layers`, the widths of `d_ff`
    likewise, of biases and dropout rates each part, and of all else the value itself.
    """

    meant: Any
    plain: Any


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


class Resolver:
    """Resolves models of one catalog; remembers each distinct component."""

    def __init__(self, catalog: Catalog) -> None:
        self.chooser = Chooser(catalog)
        self._values: dict[tuple[str, str], Value] = {}
        self._widths: dict[tuple[int | WidthRule | None, int, str, str], tuple[int, str]] = {}

    def faults(self, mapping: Mapping[str, Any]) -> list[Fault]:
        """Everything wrong in a model as written; paths are relative to it."""
        faults = Faults(model_faults(mapping))
        for key in COMPONENT_KINDS:
            if key in mapping:
                faults.attempt((key,), partial(self.chooser.components, key, mapping[key]))
        return faults.found

    def canonical(self, mapping: Mapping[str, Any]) -> dict[str, Any]:
        """A faultless model in canonical form."""
        return {key: value.plain for key, value in self.values(mapping).items()}

    def canonical_value(self, key: str, value: Any) -> Any:
        """One value in canonical form. Raises: Faulty, paths relative to the value."""
        faults = self.faults({key: value})
        if faults:
            raise Faulty(fault.inside() for fault in faults)
        return self.value(key, value).plain

    def values(self, mapping: Mapping[str, Any]) -> dict[str, Value]:
        """Every value of a faultless model, given or default."""
        return {
            key: self.value(key, mapping.get(key, field.default))
            for key, field in Model.model_fields.items()
        }

    def value(self, key: str, value: Any) -> Value:
        """One value of a faultless model; keys are validated one by one, as none asks of others."""
        memo = (key, canonical_json(value))
        if memo not in self._values:
            meant = self._meant(key, Model.model_validate({key: value}))
            self._values[memo] = Value(meant=meant, plain=_canonical(key, meant))
        return self._values[memo]

    def architecture(self, mapping: Mapping[str, Any]) -> Architecture:
        """The architecture of a faultless model.

        Raises: Incompatible when its values do not go together.
        """
        return self.described({key: value.meant for key, value in self.values(mapping).items()})

    def described(self, meant: Mapping[str, Any]) -> Architecture:
        """The architecture of a model of which every value is known, each as it is meant.

        Raises: Incompatible when they do not go together.
        """
        d_model, head_dim = meant["d_model"], meant["head_dim"]
        if head_dim is None:
            n_heads = meant["n_heads"]
            if d_model % n_heads:
                raise Conflict(
                    "n_heads",
                    f"d_model {d_model} is not divisible by n_heads {n_heads}; "
                    "give head_dim, or heads that divide",
                )
            head_dim = d_model // n_heads
        layers, rule = self._layers(meant)
        _check_sharing(layers, meant["share_layers"])
        embedding_norm, embedding_dim = meant["embedding_norm"], meant["embedding_dim"]
        scale, final_norm = meant["embedding_scale"], meant["final_norm"]
        bias: Bias = meant["bias"]
        dropout: Dropout = meant["dropout"]
        return Architecture(
            d_model=d_model,
            n_heads=meant["n_heads"],
            head_dim=head_dim,
            context=meant["context"],
            vocab_size=meant["vocab_size"],
            layers=layers,
            initializer=meant["initializer"][0],
            embedding_norm=embedding_norm[0] if embedding_norm else None,
            embedding_scale=math.sqrt(d_model) if isinstance(scale, str) else scale,
            embedding_dim=None if embedding_dim == d_model else embedding_dim,
            final_norm=None if final_norm == "auto" else bool(final_norm),
            qkv_bias=bias.qkv,
            out_bias=bias.out,
            feed_forward_bias=bias.feed_forward,
            head_bias=bias.head,
            tie_embeddings=meant["tie_embeddings"],
            logit_scale=meant["logit_scale"],
            logit_softcap=meant["logit_softcap"],
            attention_dropout=dropout.attention,
            residual_dropout=dropout.residual,
            share_layers=meant["share_layers"],
            d_ff_rule=rule,
        )

    def _meant(self, key: str, model: Model) -> Any:
        value = getattr(model, key)
        if key in COMPONENT_KINDS:
            return self.chooser.components(key, value)
        if key == "bias":
            return model.biases
        if key == "dropout":
            return model.rates
        if key == "d_ff":
            return tuple(value.layers) if isinstance(value, LayerWidths) else (value,)
        return value

    def _layers(self, meant: Mapping[str, Any]) -> tuple[tuple[BlockChoices, ...], str]:
        """One entry a block, and the rule of their feed-forward widths in words."""
        depth: int = meant["depth"]
        chosen: dict[str, tuple[Choice, ...]] = {kind: meant[kind] for kind in PER_BLOCK}
        widths: tuple[int | WidthRule | None, ...] = meant["d_ff"]
        if len(widths) == 1 and sum(map(len, chosen.values())) == len(PER_BLOCK):  # as most are
            parts = {kind: one for kind, (one,) in chosen.items()}
            d_ff, rule = self._width(widths[0], meant["d_model"], parts["activation"])
            return (BlockChoices(**parts, d_ff=d_ff),) * depth, rule
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
            d_ff, rule = self._width(width, meant["d_model"], parts["activation"])
            rules[rule] = None
            blocks.append(BlockChoices(**parts, d_ff=d_ff))
        return tuple((blocks * -(-depth // period))[:depth]), "; ".join(rules)

    def _width(
        self, width: int | WidthRule | None, d_model: int, activation: Choice
    ) -> tuple[int, str]:
        memo = (width, d_model, activation.target, activation.name)
        if memo not in self._widths:
            self._widths[memo] = feed_forward_width(width, d_model, activation)
        return self._widths[memo]


def _canonical(key: str, meant: Any) -> Any:
    """The canonical form of a value."""
    if key in COMPONENT_KINDS:
        return shortest([{choice.name: plain(choice.options)} for choice in meant])
    if key in ("bias", "dropout"):
        return plain(meant.model_dump())
    if key == "d_ff":
        return shortest(plain([w.model_dump() if isinstance(w, WidthRule) else w for w in meant]))
    return plain(meant)


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
