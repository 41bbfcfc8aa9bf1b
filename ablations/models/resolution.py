"""A model's mapping to its architecture: components chosen, options filled in, widths worked out.

Two forms of a model are told apart. *As written*, values are what a person gave (`rmsnorm`,
`bias: true`), the rest the schema's defaults. *Canonical*, every option of every component stands
there with its value, so that equal models are equal texts; what is inferred only when a decoder is
described (`d_ff`, `head_dim`, `final_norm: auto`) stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ablations.architecture import Architecture, BlockChoices
from ablations.grids.document import Fault, from_mapping
from ablations.grids.faults import Conflict, Faults, Faulty
from ablations.grids.schema import model_faults
from ablations.models.canonical import canonical_json, plain, shortest
from ablations.models.choosing import Chooser
from ablations.models.model import COMPONENT_KINDS, PER_BLOCK, LayerWidths, Model, WidthRule
from ablations.models.sameness import same_block
from ablations.models.widths import feed_forward_width
from ablations.models.written import is_layers
from registry.catalog import Catalog
from registry.spec import Kind


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
        self._canonical: dict[tuple[Kind, str], Any] = {}

    def faults(self, mapping: Mapping[str, Any]) -> list[Fault]:
        """Everything wrong in a model as written; paths are relative to it."""
        faults = Faults(model_faults(mapping))
        for key in COMPONENT_KINDS:
            if key in mapping:
                faults.attempt((key,), partial(self.chooser.components, key, mapping[key]))
        return faults.found

    def canonical(self, mapping: Mapping[str, Any]) -> dict[str, Any]:
        """A faultless model in canonical form."""
        whole = Model.model_validate(mapping).whole()
        return {key: self._canonical_value(key, value) for key, value in whole.items()}

    def canonical_value(self, key: str, value: Any) -> Any:
        """One value in canonical form. Raises: Faulty, paths relative to the value."""
        faults = self.faults({key: value})
        if faults:
            raise Faulty(fault.inside() for fault in faults)
        return self._canonical_value(key, Model.model_validate({key: value}).whole()[key])

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
        embedding_norm = self.chooser.components("embedding_norm", model.embedding_norm)
        bias, dropout = model.biases, model.rates
        return Architecture(
            d_model=model.d_model,
            n_heads=model.n_heads,
            head_dim=head_dim,
            context=model.context,
            vocab_size=model.vocab_size,
            layers=layers,
            initializer=self.chooser.components("initializer", model.initializer)[0],
            embedding_norm=embedding_norm[0] if embedding_norm else None,
            embedding_scale=_embedding_scale(model),
            embedding_dim=None if model.embedding_dim == model.d_model else model.embedding_dim,
            final_norm=None if model.final_norm == "auto" else bool(model.final_norm),
            qkv_bias=bias.qkv,
            out_bias=bias.out,
            feed_forward_bias=bias.feed_forward,
            head_bias=bias.head,
            tie_embeddings=model.tie_embeddings,
            logit_scale=model.logit_scale,
            logit_softcap=model.logit_softcap,
            attention_dropout=dropout.attention,
            residual_dropout=dropout.residual,
            share_layers=model.share_layers,
            d_ff_rule=rule,
        )

    def _canonical_value(self, key: str, value: Any) -> Any:
        if key in COMPONENT_KINDS:
            memo = (COMPONENT_KINDS[key], canonical_json(value))
            if memo not in self._canonical:
                choices = self.chooser.components(key, value)
                self._canonical[memo] = shortest([{c.name: plain(c.options)} for c in choices])
            return self._canonical[memo]
        return shortest(plain(value["layers"])) if is_layers(value) else plain(value)

    def _layers(self, model: Model) -> tuple[tuple[BlockChoices, ...], str]:
        """One entry a block, and the rule of their feed-forward widths in words."""
        depth = model.depth
        chosen = {kind: self.chooser.components(kind, getattr(model, kind)) for kind in PER_BLOCK}
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
            d_ff, rule = feed_forward_width(width, model.d_model, parts["activation"])
            rules[rule] = None
            blocks.append(BlockChoices(**parts, d_ff=d_ff))
        return tuple((blocks * -(-depth // period))[:depth]), "; ".join(rules)


def _embedding_scale(model: Model) -> float:
    scale = model.embedding_scale
    return math.sqrt(model.d_model) if isinstance(scale, str) else scale


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
