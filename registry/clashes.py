"""Names that plugins cannot share: a built-in's, and one within a distribution."""

from __future__ import annotations

from dataclasses import replace

from packaging.utils import canonicalize_name

from registry.records import PluginRecord
from registry.spec import Spec

BUILTIN = "ablations"
"""The distribution whose names no other may take."""


def refuse_clashes(records: list[PluginRecord]) -> list[PluginRecord]:
    """Fail the plugins whose names nobody could tell apart, or that are built in.

    One name in two distributions is no clash: `distribution/name` tells them apart.
    """
    return _refuse_taken(_refuse_shared(records))


def failed(record: PluginRecord, message: str) -> PluginRecord:
    """A plugin that contributes nothing, for that reason."""
    return replace(record, state="failed", message=message, specs=(), follows={})


def _refuse_shared(records: list[PluginRecord]) -> list[PluginRecord]:
    """Fail the plugins of one distribution that share a name: nothing could tell them apart."""
    owners: dict[tuple[str, str, str], list[str]] = {}
    for record in records:
        for spec in record.specs:
            owners.setdefault(_full_name(spec), []).append(record.name)
    kept = []
    for record in records:
        clashes = [
            f"{spec.slot} {spec.name!r} is registered by {' and by '.join(names)}"
            for spec in record.specs
            if len(names := owners[_full_name(spec)]) > 1
        ]
        kept.append(failed(record, "; ".join(clashes)) if clashes else record)
    return kept


def _refuse_taken(records: list[PluginRecord]) -> list[PluginRecord]:
    """A stranger's entry may not take a built-in's name: every default would become ambiguous."""
    taken = {
        (slot, name)
        for record in records
        for distribution, slot, name in map(_full_name, record.specs)
        if distribution == BUILTIN
    }
    kept = []
    for record in records:
        clashes = [
            f"{slot} {name!r} is built in: choose another name"
            for distribution, slot, name in map(_full_name, record.specs)
            if distribution != BUILTIN and (slot, name) in taken
        ]
        kept.append(failed(record, "; ".join(clashes)) if clashes else record)
    return kept


def _full_name(spec: Spec) -> tuple[str, str, str]:
    return canonicalize_name(spec.provenance.distribution), spec.slot, spec.name
