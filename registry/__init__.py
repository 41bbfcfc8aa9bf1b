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
)
from registry.discovery import discover
from registry.errors import (
    AmbiguousName,
    Incompatible,
    InvalidOptions,
    InvalidSpec,
    RegistryError,
    UnknownName,
)
from registry.hookspecs import API_VERSION, hookimpl
from registry.spec import (
    Choice,
    ComponentSpec,
    ExecutorSpec,
    Kind,
    MeasureSpec,
    Metric,
    PluginRecord,
    Profile,
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
    "Execution",
    "Executor",
    "ExecutorSpec",
    "HasRoles",
    "Incompatible",
    "Initializer",
    "InvalidOptions",
    "InvalidSpec",
    "Kind",
    "Maker",
    "Measure",
    "MeasureSpec",
    "Metric",
    "Outcome",
    "ParameterInfo",
    "ParameterRole",
    "Placement",
    "PluginRecord",
    "Position",
    "Profile",
    "Provenance",
    "RegistryError",
    "UnknownName",
    "discover",
    "hookimpl",
]
