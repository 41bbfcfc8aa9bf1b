"""What a `model` may hold: its keys, their types and defaults, and what may vary in it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from ablations.grids.expected import Expected, Strict
from registry.spec import Kind

MAX_SIZE = 2**31 - 1
MAX_DEPTH = 4_096

PER_BLOCK = ("norm", "activation", "feed_forward", "attention", "position", "residual", "placement")
"""The kinds that a block holds, and that may therefore differ from block to block."""

COMPONENT_KINDS = {**{str(kind): kind for kind in Kind}, "embedding_norm": Kind.NORM}
"""Keys of `model` that name a component, and of which kind."""

_SIZE = Field(ge=1, le=MAX_SIZE)
Size = Annotated[int, _SIZE, Expected(f"an integer from 1 to {MAX_SIZE}")]
Depth = Annotated[int, Field(ge=1, le=MAX_DEPTH), Expected(f"an integer from 1 to {MAX_DEPTH}")]
Flag = Annotated[bool, Expected("true or false")]
Rate = Annotated[float, Field(ge=0, le=1), Expected("a number from 0 to 1")]
_POSITIVE = Field(gt=0, le=1e6, allow_inf_nan=False)
Positive = Annotated[float, _POSITIVE, Expected("a number > 0, at most 1000000")]

NAME_SCHEMA = {"type": "string", "description": "name of a component"}
ONE_SCHEMA = {
    "anyOf": [
        NAME_SCHEMA,
        {
            "type": "object",
            "description": "one name, with its options",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {"type": "object"},
        },
    ]
}
_LAYERS = {
    "type": "object",
    "description": "one component a block, repeated to the depth",
    "properties": {"layers": {"type": "array", "items": ONE_SCHEMA, "minItems": 1}},
    "required": ["layers"],
    "additionalProperties": False,
}
# What a component is depends on the plugins that are installed: resolution checks it.
Component = Annotated[Any, WithJsonSchema(ONE_SCHEMA)]
BlockComponent = Annotated[Any, WithJsonSchema({"anyOf": [*ONE_SCHEMA["anyOf"], _LAYERS]})]


class Bias(Strict):
    """Which linear maps have a bias; a norm's is that norm's option."""

    qkv: Flag = Field(default=True, description="query, key and value projections")
    out: Flag = Field(default=True, description="the attention's output projection")
    feed_forward: Flag = Field(default=True, description="projections of the feed-forward")
    head: Flag = Field(default=False, description="the projection to the vocabulary")


class Dropout(Strict):
    """Dropout rates while training."""

    attention: Rate = Field(default=0.0, description="on the attention weights")
    residual: Rate = Field(default=0.0, description="after the attention and feed-forward outputs")


class WidthRule(Strict):
    """A feed-forward width in proportion to the model's."""

    multiple_of_d_model: Positive = Field(description="hidden width over d_model")
    round_to: Size = Field(default=1, description="rounded up to a multiple of this")


_WIDTH = "{multiple_of_d_model: number, round_to: integer}"
Width = Annotated[
    Annotated[int, _SIZE] | WidthRule,
    Expected(f"an integer from 1 to {MAX_SIZE} or {_WIDTH}", mapping=lambda _: WidthRule),
]


class LayerWidths(Strict):
    """A feed-forward width a block, repeated to the depth."""

    layers: Annotated[
        list[Width], Field(min_length=1), Expected("a list of at least one width")
    ] = Field(description="one width a block")


def _width_form(value: dict[str, Any]) -> type[Strict]:
    return LayerWidths if "layers" in value else WidthRule


def _component(default: str, description: str) -> Any:
    return Field(default, description=description)


class Model(Strict):
    """One decoder, described whole."""

    norm: BlockComponent = _component("layernorm", "normalization in the blocks and at the end")
    activation: BlockComponent = _component("gelu", "nonlinearity of the feed-forward")
    feed_forward: BlockComponent = _component("mlp", "what each token passes by itself")
    attention: BlockComponent = _component("mha", "causal token mixer")
    position: BlockComponent = _component("learned", "position encoding")
    residual: BlockComponent = _component("add", "how a block's update joins the stream")
    placement: BlockComponent = _component("pre", "where the norms stand in a block")
    initializer: Component = _component("normal", "how weights are drawn")
    depth: Depth = Field(default=12, description="number of blocks")
    d_model: Size = Field(default=256, description="width of the residual stream")
    n_heads: Size = Field(default=4, description="query heads of the attention")
    context: Size = Field(default=64, description="tokens in a sequence")
    vocab_size: Size = Field(default=256, description="number of tokens")
    head_dim: Annotated[
        Annotated[int, _SIZE] | None, Expected(f"an integer from 1 to {MAX_SIZE} or null")
    ] = Field(default=None, description="width of a head; by default d_model / n_heads")
    d_ff: Annotated[
        Annotated[int, _SIZE] | WidthRule | LayerWidths | None,
        Expected(
            f"an integer from 1 to {MAX_SIZE}, {_WIDTH}, {{layers: [widths]}} or null",
            mapping=_width_form,
        ),
    ] = Field(
        default=None,
        description="width of the feed-forward; by default 4·d_model, and with a gated activation "
        "8/3·d_model rounded up to a multiple of 8",
    )
    bias: Annotated[
        bool | Bias,
        Expected(
            "true, false or {qkv, out, feed_forward, head: true or false}", mapping=lambda _: Bias
        ),
    ] = Field(
        default=True, description="biases of the linear maps; true or false leave the head without"
    )
    tie_embeddings: Flag = Field(
        default=False, description="the head shares the token embedding's weight"
    )
    final_norm: Annotated[Literal["auto"] | bool, Expected("auto, true or false")] = Field(
        default="auto", description="a norm after the last block; auto: as the placement asks"
    )
    embedding_norm: Annotated[
        Any, WithJsonSchema({"anyOf": [*ONE_SCHEMA["anyOf"], {"type": "null"}]})
    ] = Field(default=None, description="a norm on the embeddings")
    embedding_scale: Annotated[
        Annotated[float, _POSITIVE] | Literal["sqrt_d_model"],
        Expected("a number > 0, at most 1000000, or sqrt_d_model"),
    ] = Field(default=1.0, description="factor on the token embeddings")
    embedding_dim: Annotated[
        Annotated[int, _SIZE] | None, Expected(f"an integer from 1 to {MAX_SIZE} or null")
    ] = Field(
        default=None,
        description="width of the token embeddings, projected to the model's and back before the "
        "head; by default d_model, without projections",
    )
    logit_scale: Positive = Field(default=1.0, description="factor on the logits")
    logit_softcap: Annotated[
        Annotated[float, _POSITIVE] | None, Expected("a number > 0, at most 1000000, or null")
    ] = Field(
        default=None, description="bounds the scaled logits z to c · tanh(z / c); null: unbounded"
    )
    dropout: Annotated[
        Annotated[float, Field(ge=0, le=1)] | Dropout,
        Expected(
            "a number from 0 to 1 or {attention, residual: a number from 0 to 1}",
            mapping=lambda _: Dropout,
        ),
    ] = Field(default=0.0, description="dropout while training; a number sets both")
    share_layers: Depth = Field(
        default=1, description="so many consecutive blocks share their weights"
    )

    @property
    def biases(self) -> Bias:
        """The four flags: true and false set the linears', not the head's."""
        if isinstance(self.bias, Bias):
            return self.bias
        return Bias(qkv=self.bias, out=self.bias, feed_forward=self.bias)

    @property
    def rates(self) -> Dropout:
        """Both dropout rates."""
        if isinstance(self.dropout, Dropout):
            return self.dropout
        return Dropout(attention=self.dropout, residual=self.dropout)

    def whole(self) -> dict[str, Any]:
        """Every value as plain data, of biases and dropout rates each part."""
        parts = {"bias": self.biases.model_dump(), "dropout": self.rates.model_dump()}
        return {**self.model_dump(), **parts}


PARTS = {"bias": tuple(Bias.model_fields), "dropout": tuple(Dropout.model_fields)}
"""Keys of `model` whose parts may be factors of their own (`bias.qkv`)."""
