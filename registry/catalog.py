"""Names to specs: lookup, collisions, did-you-mean, and options checked before building."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from packaging.utils import canonicalize_name

from registry.errors import AmbiguousName, UnknownName, nearest
from registry.options import Signature, check_options, signature_of
from registry.records import LeftOut, PluginRecord
from registry.spec import (
    Choice,
    ComponentSpec,
    ExecutorSpec,
    Kind,
    MeasureSpec,
    Option,
    Spec,
    load_target,
)

SHOWN = 3
"""How many plugins that were left out an error names; `ablations plugins` lists all."""

S = TypeVar("S", ComponentSpec, MeasureSpec, ExecutorSpec)


class Catalog:
    """Everything that the plugins registered, the plugins that could not, and those left out."""

    def __init__(self, plugins: Iterable[PluginRecord], left_out: Iterable[LeftOut] = ()) -> None:
        self.plugins = tuple(sorted(plugins, key=lambda record: (record.name, record.version)))
        self.left_out = tuple(sorted(left_out, key=lambda plugin: (plugin.name, plugin.version)))
        specs = [spec for record in self.plugins for spec in record.specs]
        self._specs = sorted(specs, key=lambda spec: (spec.name, spec.provenance.distribution))

    def components(self, kind: Kind | str | None = None) -> list[ComponentSpec]:
        """All components, or those of one kind, sorted by kind, name and distribution."""
        kinds = list(Kind) if kind is None else [Kind(kind)]
        return [spec for kind in kinds for spec in self._of(kind, ComponentSpec)]

    def measures(self) -> list[MeasureSpec]:
        """All measures, sorted by name and distribution."""
        return self._of("measure", MeasureSpec)

    def executors(self) -> list[ExecutorSpec]:
        """All executors, sorted by name and distribution."""
        return self._of("executor", ExecutorSpec)

    def component(self, kind: Kind | str, name: str) -> ComponentSpec:
        """The component of that kind and name (`name` or `distribution/name`).

        Raises: UnknownName, AmbiguousName.
        """
        return self._find(str(Kind(kind)), name, self.components(kind))

    def measure(self, name: str) -> MeasureSpec:
        """The measure of that name. Raises: UnknownName, AmbiguousName."""
        return self._find("measure", name, self.measures())

    def executor(self, name: str) -> ExecutorSpec:
        """The executor of that name. Raises: UnknownName, AmbiguousName."""
        return self._find("executor", name, self.executors())

    def signature(self, spec: Spec) -> Signature:
        """The makers and options of an entry; imports its target.

        Raises: InvalidSpec when the target does not load or its constructor breaks the contract.
        """
        target: type = load_target(spec.reference, spec.provenance.home)
        return signature_of(target, takes_dims=isinstance(spec, ComponentSpec))

    def options(self, spec: Spec) -> tuple[Option, ...]:
        """The options of an entry, in the order of its constructor; imports its target.

        Raises: InvalidSpec when the target does not load or its constructor breaks the contract.
        """
        return self.signature(spec).options

    def name_of(self, spec: Spec) -> str:
        """The name that means this entry alone: with its distribution where others have it too."""
        alike = [other for other in self._specs if _key(other) == _key(spec)]
        return full_name(spec) if len(alike) > 1 else spec.name

    def choose(self, spec: Spec, options: Mapping[str, Any]) -> Choice:
        """An entry with its options checked and the rest at their defaults.

        Raises: InvalidOptions with every fault, InvalidSpec when the target breaks the contract.
        """
        values = check_options(f"{spec.slot} {spec.name!r}", self.signature(spec), options)
        return Choice(
            name=self.name_of(spec),
            target=spec.reference,
            options=values,
            given=frozenset(options),
            home=spec.provenance.home,
        )

    def _of(self, slot: str, cls: type[S]) -> list[S]:
        return [spec for spec in self._specs if isinstance(spec, cls) and spec.slot == slot]

    def _find(self, slot: str, name: str, specs: list[S]) -> S:
        distribution, qualified, plain = name.rpartition("/")
        candidates = [
            spec
            for spec in specs
            if spec.name == plain
            and (not qualified or _same_distribution(spec.provenance.distribution, distribution))
        ]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise AmbiguousName(
                f"{slot} {name!r} is registered by several plugins; "
                f"write {' or '.join(map(full_name, candidates))}"
            )
        raise UnknownName(f"unknown {slot} {name!r}{self._why_unknown(specs, distribution, plain)}")

    def _why_unknown(self, specs: Iterable[Spec], distribution: str, name: str) -> str:
        """What may have kept a name out, its own plugin first, and the nearest names."""
        failed = [record for record in self.plugins if record.state == "failed"]
        theirs = [record for record in failed if _is_of(record.name, distribution)]
        owners = {canonicalize_name(spec.provenance.distribution) for spec in self._specs}
        if theirs and canonicalize_name(distribution) not in owners:
            return f": its plugin failed to load: {_reasons(theirs)}"
        for plugin in self.left_out:
            if _is_of(plugin.name, distribution):
                return f": its plugin {plugin.name} is left out by {plugin.by}"
        words = f"; {nearest(name, [spec.name for spec in specs])}"
        if failed:
            words += f"; plugins that failed to load: {_reasons(failed)}"
        for by in sorted({plugin.by for plugin in self.left_out}):
            names = [plugin.name for plugin in self.left_out if plugin.by == by]
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            words += f"; plugins left out by {by}: {', '.join(names[:SHOWN])}{more}"
        return words


def _key(spec: Spec) -> tuple[str, str]:
    return spec.slot, spec.name


def full_name(spec: Spec) -> str:
    """`distribution/name`."""
    return f"{spec.provenance.distribution}/{spec.name}"


def _reasons(failed: Iterable[PluginRecord]) -> str:
    return "; ".join(f"{record.name}: {record.message}" for record in failed)


def _is_of(plugin: str, distribution: str) -> bool:
    """Whether a plugin, `distribution:entry_point`, is one of that distribution."""
    return bool(distribution) and _same_distribution(plugin.partition(":")[0], distribution)


def _same_distribution(one: str, other: str) -> bool:
    """Whether two spellings name one distribution: `My_Plugin` is `my-plugin`."""
    return canonicalize_name(one) == canonicalize_name(other)
