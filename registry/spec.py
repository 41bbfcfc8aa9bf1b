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
from registry.examples import Example
from registry.importing import check_from, make_importable
from registry.metrics import Metric, Profile, check_scales


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
    """Where an entry comes from: the distribution and version that registered it.

    A plugin that is not installed stands under the name of its module; `home` is the folder in
    which Python finds it.
    """

    distribution: str
    version: str
    entry_point: str = ""
    home: str = ""

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
    `examples` are the options with which conformance tries it; without any it is tried once, with
    its defaults and with values found from their annotations for required options.

    Raises: InvalidSpec for an unknown kind, a name that is not lower_snake or a word of grids, and
    a target that no worker could import.
    """

    kind: Kind | str
    source: str = ""
    examples: tuple[Example, ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        check_word(self.kind, tuple(Kind), f"kind of {self.name!r}")
        object.__setattr__(self, "kind", Kind(self.kind))
        super().__post_init__()
        of = f"{self.slot} {self.name!r}"
        check_text(of, source=self.source)
        examples = tuple_of(Example, self.examples, f"examples of {of}")
        object.__setattr__(self, "examples", examples)

    @property
    def slot(self) -> str:
        """The kind."""
        return str(self.kind)


Mode = Literal["static", "observing", "running"]


@dataclass(frozen=True, kw_only=True)
class MeasureSpec(_Entry):
    """Something that is done to a trial.

    `mode` says what it needs: *static* (shapes alone, so that what it returns for one seed of a
    cell is taken for all), *observing* (one forward and backward pass, shared with the other
    observing measures), *running* (a loop of its own).
    `cost` says in a few words what one trial costs, `needs` what it needs of components beyond
    what every one of their kind does. `against_baseline` says that it builds the grid's baseline
    cell too (`context.baseline_decoder()`), as for ratios of times, which mean nothing across
    processes: its results are measured anew when that cell changes.

    Raises: InvalidSpec as `ComponentSpec` does, for a metric or a profile declared twice (one of
    either may share a name), and for one that scales with what is no metric of this measure.
    """

    mode: Mode
    metrics: tuple[Metric, ...]
    profiles: tuple[Profile, ...] = ()
    cost: str = ""
    needs: str = ""
    against_baseline: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        of = f"measure {self.name!r}"
        check_text(of, cost=self.cost, needs=self.needs)
        check_word(self.mode, get_args(Mode), f"mode of {of}")
        metrics = tuple_of(Metric, self.metrics, f"metrics of {of}")
        profiles = tuple_of(Profile, self.profiles, f"profiles of {of}")
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "profiles", profiles)
        for form, entries in (("metric", metrics), ("profile", profiles)):
            names = [entry.name for entry in entries]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InvalidSpec(f"{of} declares {form} {', '.join(map(repr, twice))} twice")
        check_scales(metrics, profiles, of)

    @property
    def slot(self) -> str:
        """`measure`."""
        return "measure"

    @property
    def declared(self) -> frozenset[str]:
        """The names of its metrics and profiles, the only ones that it may return."""
        entries: tuple[Metric | Profile, ...] = (*self.metrics, *self.profiles)
        return frozenset(entry.name for entry in entries)

    @property
    def infinite(self) -> frozenset[str]:
        """The metrics of which infinity is a value like others."""
        return frozenset(metric.name for metric in self.metrics if metric.may_be_infinite)


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
    home: str = ""
    """The folder in which the target's module lies, where it is not installed."""

    def load(self) -> Any:
        """The class behind the target."""
        return load_target(self.target, self.home)

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


def load_target(target: str, home: str = "") -> type[Any]:
    """Import `module:Class`, from the folder `home` where it is not installed.

    So a worker finds it whatever its own folder is, and never another module of its name.

    Raises: InvalidSpec when the module does not import, or has no class of that name.
    """
    module_name, _, qualname = target.partition(":")
    if home:
        make_importable(home)
        check_from(home, module_name.partition(".")[0])
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
