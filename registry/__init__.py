"""What can be plugged into **ablations**, and how: everything a plugin author imports.

from registry import ComponentSpec, Dims, hookimpl

@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="my_norm", target="my_package:MyNorm")]
"""

from registry.catalog import Catalog
from registry.contracts import (
    Attention,
    Cache,
    Dims,
    Execution,
    Executor,
    HasRoles,
    Initializer,
    Maker,
    Measure,
    Outcome,
    ParameterInfo,
    ParameterRole,
    Placement,
    Position,
    ScalesLearningRate,
)
from registry.discovery import discover
from registry.errors import (
    AmbiguousName,
    Incompatible,
    InvalidOptions,
    InvalidSelection,
    InvalidSpec,
    MissingExtra,
    PluginError,
    RegistryError,
    UnknownName,
)
from registry.events import RunInfo, TrialInfo
from registry.examples import Example
from registry.hookspecs import API_VERSION, hookimpl
from registry.metrics import Metric, Profile
from registry.records import LeftOut, PluginRecord
from registry.spec import (
    Choice,
    ComponentSpec,
    ExecutorSpec,
    Kind,
    MeasureSpec,
    Provenance,
)

ABLATIONS_PACKAGE = "ablations"
"""Marks this package as ours: other distributions also have one named `registry`."""

__all__ = [
    "ABLATIONS_PACKAGE",
    "API_VERSION",
    "AmbiguousName",
    "Attention",
    "Cache",
    "Catalog",
    "Choice",
    "ComponentSpec",
    "Dims",
    "Example",
    "Execution",
    "Executor",
    "ExecutorSpec",
    "HasRoles",
    "Incompatible",
    "Initializer",
    "InvalidOptions",
    "InvalidSelection",
    "InvalidSpec",
    "Kind",
    "LeftOut",
    "Maker",
    "Measure",
    "MeasureSpec",
    "Metric",
    "MissingExtra",
    "Outcome",
    "ParameterInfo",
    "ParameterRole",
    "Placement",
    "PluginError",
    "PluginRecord",
    "Position",
    "Profile",
    "Provenance",
    "RegistryError",
    "RunInfo",
    "ScalesLearningRate",
    "TrialInfo",
    "UnknownName",
    "discover",
    "hookimpl",
]
