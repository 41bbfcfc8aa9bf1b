"""Components examined: each once a version, in a worker, never a trial long."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from ablations.conformity import Conformity
from ablations.identity import components_by_kind
from ablations.planning import Plan
from ablations.sources import Sources
from ablations.strangers import strangers_of
from registry.catalog import Catalog
from registry.contracts import Dims, Outcome
from registry.errors import RegistryError
from registry.spec import Choice, ComponentSpec


@dataclass(frozen=True, kw_only=True)
class Examination:
    """A component as a run uses it, to be held to the contracts of its kind; plain.

    `dims` are those of a model that uses it, for a component that serves no smaller ones.
    """

    key: str
    kind: str
    choice: Choice
    dims: Dims
    expected_failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def strangers(self) -> frozenset[str]:
        """Whose code this examination runs beside this project's own."""
        return strangers_of([self.choice.target])


def examinations(
    plan: Plan, sources: Sources
) -> tuple[dict[str, Examination], dict[str, tuple[str, ...]]]:
    """What is to be examined, by key, and the keys of each cell's components.

    Raises: StaleSource.
    """
    specs = {(str(spec.kind), spec.reference): spec for spec in plan.catalog.components()}
    found: dict[str, Examination] = {}
    keys: dict[tuple[str, str, str], str] = {}
    of_cells: dict[str, tuple[str, ...]] = {}
    for planned in plan.running:
        architecture = planned.cell.architecture
        if architecture is None:
            continue
        of_cell = []
        for kind, choice, layer in components_by_kind(architecture):
            options = json.dumps(dict(choice.options), sort_keys=True, default=repr)
            place = (kind, choice.target, options)
            if place not in keys:
                keys[place] = _key(place, sources)
                found[keys[place]] = Examination(
                    key=keys[place],
                    kind=kind,
                    choice=choice,
                    dims=architecture.dims(layer),
                    expected_failures=_expected(plan.catalog, specs.get(place[:2]), choice),
                )
            of_cell.append(keys[place])
        of_cells[planned.cell.cell] = tuple(sorted(set(of_cell)))
    return found, of_cells


def _key(place: tuple[str, str, str], sources: Sources) -> str:
    document = [*place, sources.of(place[1]), sources.of("registry"), version("torch")]
    return hashlib.sha256(json.dumps(document).encode()).hexdigest()[:16]


def _expected(catalog: Catalog, spec: ComponentSpec | None, choice: Choice) -> Mapping[str, str]:
    """The failures that a spec's example with just these options says are to be expected."""
    if spec is not None:
        for example in spec.examples:
            with contextlib.suppress(RegistryError):  # an example with faults of its own
                whole = catalog.choose(spec, example.options).options
                if dict(whole) == dict(choice.options):
                    return example.expected_failures
    return {}


def examine(examination: Examination) -> Conformity:
    """Run the checks, in a worker."""
    from registry.conformance import check_component
    from registry.conformance.report import not_run

    report = check_component(
        examination.kind,
        examination.choice.target,
        options=examination.choice.options,
        expected_failures=examination.expected_failures,
        dims=examination.dims,
    )
    faults = [f"{r.name}: {r.message}" for r in report.results if r.bad]
    if not report.passed:
        faults += not_run(r.message for r in report.results)
    if report.too_few and not faults:
        faults.append(report.too_few)
    return Conformity(
        passed=report.passed, leaks=report.leaks, n_run=report.n_run, faults=tuple(faults)
    )


def conformity_of(outcome: Outcome) -> Conformity:
    """What an executor's outcome says: a component that kills its examination has failed it."""
    if outcome.state == "done":
        result: Any = outcome.result
        assert isinstance(result, Conformity)
        return result
    fault = f"the examination {outcome.state}: {outcome.message}"
    return Conformity(passed=False, leaks=False, n_run=0, faults=(fault,))
