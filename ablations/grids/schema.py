"""What a grid file may hold: types, defaults, and faults in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError, WithJsonSchema

from ablations.amounts import FORM, WORDS, read_amount
from ablations.grids.document import Fault, show
from ablations.grids.expected import Expected, Strict
from ablations.models.model import (
    NAME_SCHEMA,
    ONE_SCHEMA,
    Bias,
    Dropout,
    LayerWidths,
    Model,
    WidthRule,
)
from ablations.recipes.recipe import recipe_names
from ablations.recipes.scaling import ScaleTo
from registry.errors import nearest

MAX_SEEDS = 10_000
MAX_LEVELS_OF_A_FACTOR = 1_000

Seed = Annotated[int, Field(ge=0, lt=2**63), Expected("an integer ≥ 0")]
Measured = Annotated[
    Any,
    WithJsonSchema(
        {"anyOf": [{**NAME_SCHEMA, "description": "name of a measure"}, ONE_SCHEMA["anyOf"][1]]}
    ),
]
Executed = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {**NAME_SCHEMA, "description": "name of an executor"},
                ONE_SCHEMA["anyOf"][1],
                {"type": "null"},
            ]
        }
    ),
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
_AMOUNT = {"anyOf": [{"type": "string", "pattern": f"^{FORM}$"}, {"type": "integer", "minimum": 1}]}


def _amount(value: int | str) -> int | str:
    """The amount as it is written, once it has been read."""
    read_amount(value)
    return value


_MANY = Field(min_length=1)
_LEVELS = Annotated[
    list[Any],
    Field(min_length=1, max_length=MAX_LEVELS_OF_A_FACTOR),
    Expected(f"a list of 1 to {MAX_LEVELS_OF_A_FACTOR} levels"),
]
_NAME_WORDS = (
    "1 to 100 letters, digits, '-', '_' or '.', starting with neither '-' nor '.', not ending in "
    "'.', and no name of a device on Windows"
)
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE | re.ASCII)


def _no_device(name: str) -> str:
    """Windows opens a device of that name, in whatever folder."""
    if _DEVICES.fullmatch(name):
        raise ValueError
    return name


Name = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?$"),
    AfterValidator(_no_device),
    Expected(_NAME_WORDS),
]


class GridFile(Strict):
    """A grid: one decoder, the factors that vary it, and what is measured."""

    name: Name = Field(description="names the run's directory")
    recipe: Annotated[
        Annotated[str, WithJsonSchema({"type": "string", "enum": list(recipe_names())})] | None,
        Expected("the name of a recipe"),
    ] = Field(default=None, description="a published model to start from, as `recipes` lists them")
    scale_to: Annotated[
        ScaleTo | None, Expected("{d_model, depth, context: an integer}", mapping=lambda _: ScaleTo)
    ] = Field(default=None, description="sizes at which the recipe is built, its ratios kept")
    model: Annotated[Model, Expected("a mapping of the model's keys")] = Field(
        default=Model(),
        description="the decoder that the factors vary; over a recipe, what it changes",
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
    placebo: Annotated[bool, Expected("true or false")] = Field(
        default=False,
        description="whether to add the factor placebo, whose levels differ in their random stream "
        "alone: what chance makes of a comparison",
    )
    measures: Annotated[list[Measured], _MANY, Expected("a list of at least one measure")] = Field(
        description="what is done to each trial"
    )
    design: Annotated[Literal["full", "one_at_a_time"], Expected("full or one_at_a_time")] = Field(
        default="full",
        description="which combinations run; full: all; one_at_a_time: the baseline, and in its "
        "place each other level of each factor",
    )
    exclude: Annotated[list[Excluded], Expected("a list of exclusions")] = Field(
        default=[], description="combinations that are left out"
    )
    plugins: Annotated[
        list[
            Annotated[
                str,
                Field(min_length=1),
                Expected("a module's name, or the path of a .py file or of a package's folder"),
            ]
        ],
        Expected("a list of modules and paths"),
    ] = Field(
        default=[],
        description="plugins that are not installed: modules, .py files or packages' folders, "
        "paths relative to this file",
    )
    requires: Annotated[
        list[Annotated[str, Expected("text such as 'my-plugin>=1.2'")]],
        Expected("a list of plugins with their versions"),
    ] = Field(default=[], description="plugins that must be installed: my-plugin>=1.2")
    device: Annotated[Literal["cpu", "cuda", "auto"], Expected("cpu, cuda or auto")] = Field(
        default="cpu", description="where trials compute; auto: a GPU, where there is one"
    )
    dtype: Annotated[
        Literal["float32", "float64", "bfloat16", "float16"],
        Expected("float32, float64, bfloat16 or float16"),
    ] = Field(default="float32", description="the type that trials compute in")
    timeout: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None,
        Expected("a number of seconds > 0 or null"),
    ] = Field(default=None, description="seconds after which a trial is stopped")
    memory: Annotated[
        Annotated[int | str, AfterValidator(_amount), WithJsonSchema(_AMOUNT)] | None,
        Expected(WORDS),
    ] = Field(
        default=None,
        description="what a trial may use before it is stopped: 4 GiB, or bytes; by default what "
        "the machine has, less a tenth, shared among the workers",
    )
    threads: Annotated[int, Field(ge=1, le=1024), Expected("an integer from 1 to 1024")] = Field(
        default=1, description="compute threads of a worker"
    )
    executor: Executed = Field(
        default=None,
        description="what carries trials out, with its options: {ray: {gpus: 0.5}}; by default "
        "what the command line says, else local",
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
    "scale_to": (ScaleTo,),
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
    if path[:-1] == ("model",) and name in GridFile.model_fields:
        return Fault(path, "is a key of the grid: write it beside model, not in it", on_key=True)
    return Fault(path, f"unknown key; {nearest(name, fields)}", on_key=True)
