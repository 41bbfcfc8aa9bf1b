"""What a grid file and its `model` may hold: types, defaults, and faults in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ablations.document import Fault, show
from registry.errors import nearest
from registry.spec import Kind

MAX_SIZE = 2**31 - 1
MAX_DEPTH = 4_096
MAX_SEEDS = 10_000
MAX_LEVELS_OF_A_FACTOR = 1_000

PER_BLOCK = ("norm", "activation", "feed_forward", "attention", "position", "residual", "placement")
"""The kinds that a block holds, and that may therefore differ from block to block."""

COMPONENT_KINDS = {**{str(kind): kind for kind in Kind}, "embedding_norm": Kind.NORM}
"""Keys of `model` that name a component, and of which kind."""


_OURS = {"expected", "extra_forbidden", "missing"}


@dataclass(frozen=True)
class Expected:
    """Says in words what a value is; a fault of its type or range is told with them.

    `mapping` and `items` are for unions: a mapping, or the items of a list, is validated as they
    say, so that its faults are told where they are and not once for every alternative.
    """

    words: str
    mapping: Callable[[dict[str, Any]], type[BaseModel]] | None = None
    items: Any = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The source's schema, wrapped."""
        return core_schema.no_info_wrap_validator_function(self._validate, handler(source))

    def _validate(self, value: Any, handler: Callable[[Any], Any]) -> Any:
        if isinstance(value, dict) and self.mapping:
            return self.mapping(value).model_validate(value)
        if isinstance(value, list) and value and self.items:
            items: Any = GenericAlias(list, (self.items,))
            return TypeAdapter(items, config=ConfigDict(strict=True)).validate_python(value)
        try:
            return handler(value)
        except ValidationError as error:
            if all(fault["loc"] and fault["type"] in _OURS for fault in error.errors()):
                raise  # told in our words already, where it is
            words = {"words": self.words}
            raise PydanticCustomError("expected", "{words}", words) from None


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


_SIZE = Field(ge=1, le=MAX_SIZE)
Size = Annotated[int, _SIZE, Expected(f"an integer from 1 to {MAX_SIZE}")]
Depth = Annotated[int, Field(ge=1, le=MAX_DEPTH), Expected(f"an integer from 1 to {MAX_DEPTH}")]
Flag = Annotated[bool, Expected("true or false")]
Rate = Annotated[float, Field(ge=0, le=1), Expected("a number from 0 to 1")]
Positive = Annotated[
    float, Field(gt=0, le=1e6, allow_inf_nan=False), Expected("a number > 0, at most 1000000")
]

_NAME = {"type": "string", "description": "name of a component"}
_ONE = {
    "anyOf": [
        _NAME,
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
    "properties": {"layers": {"type": "array", "items": _ONE, "minItems": 1}},
    "required": ["layers"],
    "additionalProperties": False,
}
# What a component is depends on the plugins that are installed: resolution checks it.
Component = Annotated[Any, WithJsonSchema(_ONE)]
BlockComponent = Annotated[Any, WithJsonSchema({"anyOf": [*_ONE["anyOf"], _LAYERS]})]


class Bias(_Strict):
    """Which linear maps have a bias; a norm's is that norm's option."""

    qkv: Flag = Field(default=True, description="query, key and value projections")
    out: Flag = Field(default=True, description="the attention's output projection")
    feed_forward: Flag = Field(default=True, description="projections of the feed-forward")
    head: Flag = Field(default=False, description="the projection to the vocabulary")


class Dropout(_Strict):
    """Dropout rates while training."""

    attention: Rate = Field(default=0.0, description="on the attention weights")
    residual: Rate = Field(default=0.0, description="after the attention and feed-forward outputs")


class WidthRule(_Strict):
    """A feed-forward width in proportion to the model's."""

    multiple_of_d_model: Positive = Field(description="hidden width over d_model")
    round_to: Size = Field(default=1, description="rounded up to a multiple of this")


_WIDTH = "{multiple_of_d_model: number, round_to: integer}"
Width = Annotated[
    Annotated[int, _SIZE] | WidthRule,
    Expected(f"an integer from 1 to {MAX_SIZE} or {_WIDTH}", mapping=lambda _: WidthRule),
]


class LayerWidths(_Strict):
    """A feed-forward width a block, repeated to the depth."""

    layers: Annotated[
        list[Width], Field(min_length=1), Expected("a list of at least one width")
    ] = Field(description="one width a block")


def _width_form(value: dict[str, Any]) -> type[_Strict]:
    return LayerWidths if "layers" in value else WidthRule


def _component(default: str, description: str) -> Any:
    return Field(default, description=description)


class Model(_Strict):
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
        Any, WithJsonSchema({"anyOf": [*_ONE["anyOf"], {"type": "null"}]})
    ] = Field(default=None, description="a norm on the embeddings")
    embedding_scale: Positive = Field(default=1.0, description="factor on the token embeddings")
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


Seed = Annotated[int, Field(ge=0, lt=2**63), Expected("an integer ≥ 0")]
Measured = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{**_NAME, "description": "name of a measure"}, _ONE["anyOf"][1]]}),
]
Excluded = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "object",
            "description": "a level for some factors, and why these cells are left out",
            "properties": {"because": {"type": "string"}},
            "required": ["because"],
            "minProperties": 2,
        }
    ),
]
_MANY = Field(min_length=1)
_LEVELS = Annotated[
    list[Any],
    Field(min_length=1, max_length=MAX_LEVELS_OF_A_FACTOR),
    Expected(f"a list of 1 to {MAX_LEVELS_OF_A_FACTOR} levels"),
]
_NAME_WORDS = "1 to 100 letters, digits, '-', '_' or '.', not starting with '.'"


class GridFile(_Strict):
    """A grid: one decoder, the factors that vary it, and what is measured."""

    name: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$"), Expected(_NAME_WORDS)
    ] = Field(description="names the run's directory")
    model: Annotated[Model, Expected("a mapping of the model's keys")] = Field(
        default=Model(), description="the decoder that the factors vary"
    )
    factors: Annotated[
        dict[str, _LEVELS], _MANY, Expected("a mapping with at least one factor")
    ] = Field(
        description="what varies: a key of model, an option of its component "
        "(attention.n_kv_heads) or of a measure, each with its levels"
    )
    baseline: Annotated[dict[str, Any], Expected("a mapping of factors to their levels")] = Field(
        default={},
        description="the level to compare with; by default what model says, else the first",
    )
    seeds: Annotated[
        Annotated[int, Field(ge=1, le=MAX_SEEDS)] | Annotated[list[Seed], _MANY],
        Expected(f"an integer from 1 to {MAX_SEEDS} or a list of integers ≥ 0", items=Seed),
    ] = Field(default=3, description="how many (5: 0 to 4), or which")
    measures: Annotated[list[Measured], _MANY, Expected("a list of at least one measure")] = Field(
        description="what is done to each trial"
    )
    design: Annotated[Literal["full"], Expected("full")] = Field(
        default="full", description="which combinations run; full: all"
    )
    exclude: Annotated[list[Excluded], Expected("a list of exclusions")] = Field(
        default=[], description="combinations that are left out"
    )
    requires: Annotated[
        list[Annotated[str, Expected("text such as 'my-plugin>=1.2'")]],
        Expected("a list of plugins with their versions"),
    ] = Field(default=[], description="plugins that must be installed: my-plugin>=1.2")
    device: Annotated[Literal["cpu", "auto"], Expected("cpu or auto")] = Field(
        default="cpu", description="where trials compute; auto: cpu"
    )
    dtype: Annotated[
        Literal["float32", "float64", "bfloat16"], Expected("float32, float64 or bfloat16")
    ] = Field(default="float32", description="the type that trials compute in")
    timeout: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None,
        Expected("a number of seconds > 0 or null"),
    ] = Field(default=None, description="seconds after which a trial is stopped")
    threads: Annotated[int, Field(ge=1, le=1024), Expected("an integer from 1 to 1024")] = Field(
        default=1, description="compute threads of a worker"
    )


def json_schema() -> dict[str, Any]:
    """JSON Schema of a grid file, for editors."""
    schema = GridFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "grid"}


def file_faults(data: Mapping[str, Any]) -> list[Fault]:
    """Everything in a grid file that does not fit its schema."""
    return _faults(GridFile, data)


def model_faults(data: Mapping[str, Any]) -> list[Fault]:
    """Everything in a `model` that does not fit its schema; paths are relative to it."""
    return _faults(Model, data)


_OWNERS: dict[str | int, tuple[type[BaseModel], ...]] = {
    "model": (Model,),
    "bias": (Bias,),
    "dropout": (Dropout,),
    "d_ff": (WidthRule, LayerWidths),
}


def _faults(root: type[BaseModel], data: Mapping[str, Any]) -> list[Fault]:
    try:
        root.model_validate(dict(data))
    except ValidationError as error:
        return [_fault(root, fault) for fault in error.errors()]
    return []


def _fault(root: type[BaseModel], fault: Any) -> Fault:
    path: tuple[str | int, ...] = tuple(fault["loc"])
    if fault["type"] == "expected":
        return Fault(path, f"expected {fault['msg']}, not {show(fault['input'])}")
    name = str(fault["loc"][-1])
    # A width inside `layers` stands under its number, every other mapping under its key.
    owners = _OWNERS.get(path[-2], (WidthRule,)) if len(path) > 1 else (root,)
    fields = {name: field for owner in owners for name, field in owner.model_fields.items()}
    if fault["type"] == "missing":
        return Fault(path[:-1], f"missing key {name!r}: {fields[name].description}")
    return Fault(path, f"unknown key; {nearest(name, fields)}", on_key=True)
