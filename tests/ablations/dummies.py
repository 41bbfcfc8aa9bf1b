"""Small torch-free components and measures, of which the tests of grids make catalogs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Gt

from ablations.architecture import Architecture
from registry import (
    Catalog,
    ComponentSpec,
    Dims,
    Kind,
    MeasureSpec,
    Metric,
    PluginRecord,
    Provenance,
)


class LayerNorm:
    def __init__(self, dims: Dims, *, eps: Annotated[float, Gt(0)] = 1e-5) -> None: ...


class RMSNorm:
    def __init__(self, dims: Dims, *, eps: Annotated[float, Gt(0)] = 1e-5) -> None: ...


class Ungated:
    def __init__(self, dims: Dims) -> None: ...


class Silu:
    def __init__(self, dims: Dims) -> None: ...


class Gated:
    gated = True

    def __init__(self, dims: Dims) -> None: ...


class Mlp:
    def __init__(self, dims: Dims, activation: Any) -> None: ...


class OwnActivation:
    def __init__(self, dims: Dims) -> None: ...


class Attention:
    def __init__(self, dims: Dims, *, window: Annotated[int, Gt(0)] | None = None) -> None: ...


class Grouped:
    def __init__(
        self,
        dims: Dims,
        *,
        n_kv_heads: Annotated[int, Gt(0)],
        scale: Literal["none"] | float | None = None,
    ) -> None: ...

    @classmethod
    def unsupported(cls, dims: Dims, model: Architecture) -> str | None:
        if dims.n_heads % dims.n_kv_heads:
            return f"n_kv_heads {dims.n_kv_heads} does not divide n_heads {dims.n_heads}"
        return None


class Broken:
    def __init__(self, dims: Dims) -> None: ...

    @classmethod
    def unsupported(cls, dims: Dims, model: Architecture) -> str | None:
        raise RuntimeError("broken")


class Unannotated:
    def __init__(self, dims: Dims, *, size=3) -> None: ...  # type: ignore[no-untyped-def]


class Odd:
    def __init__(
        self, dims: Dims, *, sizes: tuple[int, ...] = (1,), kind: Any = object
    ) -> None: ...


class Placement:
    final_norm = True

    def __init__(
        self, dims: Dims, attention: Any, feed_forward: Any, residual: Any, norm: Any
    ) -> None: ...


class Normal:
    def __init__(self, dims: Dims, *, std: Annotated[float, Gt(0)] = 0.02) -> None: ...


class Shapes: ...


class Flow:
    def __init__(self, *, batch: Annotated[int, Gt(0)] = 2) -> None: ...


class Training:
    def __init__(self, *, steps: int, learning_rate: float = 1e-3) -> None: ...


def component(kind: Kind, name: str, target: type | str) -> ComponentSpec:
    """A component of the distribution `ablations`."""
    home = Provenance(distribution="ablations", version="0.1")
    return ComponentSpec(kind=kind, name=name, target=target, provenance=home)


def measure(
    name: str, target: type, mode: Literal["static", "observing", "running"]
) -> MeasureSpec:
    """A measure of the distribution `ablations`."""
    return MeasureSpec(
        name=name,
        target=target,
        mode=mode,
        metrics=(Metric(name="value", unit="1", summary="A number."),),
        provenance=Provenance(distribution="ablations", version="0.1"),
    )


BUILTIN = PluginRecord(
    name="ablations:parts",
    version="0.1",
    state="loaded",
    specs=(
        component(Kind.NORM, "layernorm", LayerNorm),
        component(Kind.NORM, "rmsnorm", RMSNorm),
        component(Kind.NORM, "unannotated", Unannotated),
        component(Kind.NORM, "absent", "nowhere.at_all:Norm"),
        component(Kind.NORM, "odd", Odd),
        component(Kind.ACTIVATION, "gelu", Ungated),
        component(Kind.ACTIVATION, "silu", Silu),
        component(Kind.ACTIVATION, "swiglu", Gated),
        component(Kind.FEED_FORWARD, "mlp", Mlp),
        component(Kind.FEED_FORWARD, "own", OwnActivation),
        component(Kind.ATTENTION, "mha", Attention),
        component(Kind.ATTENTION, "gqa", Grouped),
        component(Kind.POSITION, "learned", Ungated),
        component(Kind.POSITION, "broken", Broken),
        component(Kind.RESIDUAL, "add", Ungated),
        component(Kind.PLACEMENT, "pre", Placement),
        component(Kind.PLACEMENT, "post", Placement),
        component(Kind.INITIALIZER, "normal", Normal),
        measure("parameters", Shapes, "static"),
        measure("gradient_flow", Flow, "observing"),
        measure("training", Training, "running"),
    ),
)


def parts(*others: PluginRecord) -> Catalog:
    """A fresh catalog of the parts above."""
    return Catalog([BUILTIN, *others])
