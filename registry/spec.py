"""What a plugin says about its parts: plain frozen data, importable without torch."""

from __future__ import annotations

import enum
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from registry.checks import (
    check_name,
    check_readable,
    check_text,
    check_word,
    reference_of,
    tuple_of,
)
from registry.errors import InvalidSpec, describe


class Kind(enum.StrEnum):
    """A slot of the architecture."""

    NORM = "norm"
    ACTIVATION = "activation"
    FEED_FORWARD = "feed_forward"
    ATTENTION = "attention"
    POSITION = "position"
    RESIDUAL = "residual"
    PLACEMENT = "placement"
    INITIALIZER = "initializer"


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where an entry comes from: the distribution and version that registered it."""

    distribution: str
    version: str
    entry_point: str = ""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


UNREGISTERED = Provenance(distribution="", version="")


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """What every entry says of itself.

    `target` is `"package.module:Class"`, imported when it is first used, or the class itself,
    which is kept by its name. `summary` is one sentence.
    """

    name: str
    target: str | type
    summary: str = ""
    provenance: Provenance = UNREGISTERED

    def __post_init__(self) -> None:
        check_name(self.name, self.slot)
        check_readable(self.name, self.slot)
        object.__setattr__(self, "target", reference_of(self.target, self.name))
        check_text(f"{self.slot} {self.name!r}", summary=self.summary)

    @property
    def slot(self) -> str:
        """What is looked up by name: a kind of component, `measure` or `executor`."""
        raise NotImplementedError

    @property
    def reference(self) -> str:
        """The target as `module:Class`."""
        return reference_of(self.target, self.name)


@dataclass(frozen=True, kw_only=True)
class ComponentSpec(_Entry):
    """A named implementation of one kind.

    `target` is `"package.module:Class"`, imported when it is first used, or the class itself.
    `summary` is one sentence, `source` the paper (`arXiv:1607.06450`) or another origin.

    Raises: InvalidSpec for an unknown kind, a name that is not lower_snake or a word of grids, and
    a target that no worker could import.
    """

    kind: Kind | str
    source: str = ""

    def __post_init__(self) -> None:
        check_word(self.kind, tuple(Kind), f"kind of {self.name!r}")
        object.__setattr__(self, "kind", Kind(self.kind))
        super().__post_init__()
        check_text(f"{self.slot} {self.name!r}", source=self.source)

    @property
    def slot(self) -> str:
        """The kind."""
        return str(self.kind)


Better = Literal["higher", "lower", "neither"]
Scale = Literal["linear", "log"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One number that a measure yields for a trial; reported as `measure.name`.

    `scale="log"` compares by ratios, `"linear"` by differences; `primary` metrics are the ones a
    conclusion may rest on (their main effects are Holm-adjusted together).
    """

    name: str
    unit: str
    summary: str
    better: Better = "neither"
    scale: Scale = "linear"
    primary: bool = False
    convention: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "metric")
        of = f"metric {self.name!r}"
        check_text(of, unit=self.unit, summary=self.summary, convention=self.convention)
        check_word(self.better, get_args(Better), f"better end of {of}")
        check_word(self.scale, get_args(Scale), f"scale of {of}")


Axis = Literal["depth", "step", "context"]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A row of numbers along depth, training steps or context; reported as `measure.name`."""

    name: str
    unit: str
    summary: str
    axis: Axis
    scale: Scale = "linear"
    convention: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "profile")
        of = f"profile {self.name!r}"
        check_text(of, unit=self.unit, summary=self.summary, convention=self.convention)
        check_word(self.axis, get_args(Axis), f"axis of {of}")
        check_word(self.scale, get_args(Scale), f"scale of {of}")


Mode = Literal["static", "observing", "running"]


@dataclass(frozen=True, kw_only=True)
class MeasureSpec(_Entry):
    """Something that is done to a trial.

    `mode` says what it needs: *static* (shapes alone), *observing* (one forward and backward pass,
    shared with the other observing measures), *running* (a loop of its own).
    `cost` says in a few words what one trial costs.

    Raises: InvalidSpec as `ComponentSpec` does, and for a metric or profile declared twice.
    """

    mode: Mode
    metrics: tuple[Metric, ...]
    profiles: tuple[Profile, ...] = ()
    cost: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        of = f"measure {self.name!r}"
        check_text(of, cost=self.cost)
        check_word(self.mode, get_args(Mode), f"mode of {of}")
        metrics = tuple_of(Metric, self.metrics, f"metrics of {of}")
        profiles = tuple_of(Profile, self.profiles, f"profiles of {of}")
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "profiles", profiles)
        names = [metric.name for metric in metrics] + [profile.name for profile in profiles]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidSpec(f"{of} declares {', '.join(map(repr, twice))} twice")

    @property
    def slot(self) -> str:
        """`measure`."""
        return "measure"

    @property
    def declared(self) -> frozenset[str]:
        """The names of its metrics and profiles, the only ones that it may return."""
        entries: tuple[Metric | Profile, ...] = (*self.metrics, *self.profiles)
        return frozenset(entry.name for entry in entries)


@dataclass(frozen=True, kw_only=True)
class ExecutorSpec(_Entry):
    """A way of carrying trials out: in this process, in local workers, on a cluster.

    Raises: InvalidSpec as `ComponentSpec` does.
    """

    @property
    def slot(self) -> str:
        """`executor`."""
        return "executor"


Spec = ComponentSpec | MeasureSpec | ExecutorSpec


@dataclass(frozen=True, kw_only=True)
class Option:
    """One keyword-only parameter of a component's or measure's constructor."""

    name: str
    type: str
    default: Any
    required: bool


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An entry chosen, with every one of its options: all that a worker needs to build it."""

    name: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    """The options that a person wrote; the others are defaults."""

    def load(self) -> Any:
        """The class behind the target."""
        return load_target(self.target)

    @property
    def label(self) -> str:
        """`gqa(n_kv_heads=2)`: the name and the options that were given, as a person reads them."""
        given = [f"{key}={plain(self.options[key])}" for key in sorted(self.given)]
        return f"{self.name}({', '.join(given)})" if given else self.name


def plain(value: object) -> str:
    """A value as YAML spells it: `true`, `null`, `[1, 2]`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{plain(key)}: {plain(item)}' for key, item in value.items())}}}"
    return str(value)


def load_target(target: str) -> type[Any]:
    """Import `module:Class`.

    Raises: InvalidSpec when the module does not import, or has no class of that name.
    """
    module_name, _, qualname = target.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in qualname.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a stranger's module may even call sys.exit
        raise InvalidSpec(f"{target} cannot be loaded: {describe(error)}") from error
    if not isinstance(found, type):
        raise InvalidSpec(f"{target} is not a class but of type {type(found).__name__}")
    return found


@dataclass(frozen=True, kw_only=True)
class PluginRecord:
    """One entry point and what came of it."""

    name: str
    version: str
    state: Literal["loaded", "failed"]
    message: str = ""
    specs: tuple[Spec, ...] = ()
