"""The levels to compare with: those that a grid names, else what its model says, else the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ablations.grids.asked_measures import WrittenMeasure
from ablations.grids.document import DataPath
from ablations.grids.factors import Subject
from ablations.grids.faults import Faulty
from ablations.grids.levels import Levels
from ablations.grids.placebo import PLACEBO
from ablations.grids.reading import Reading
from ablations.models.canonical import plain
from ablations.models.labels import level_label
from ablations.models.model import PARTS, Model
from ablations.models.written import entries
from registry.errors import nearest


def check_said(reading: Reading, measures: Mapping[str, WrittenMeasure], levels: Levels) -> None:
    """What is given for a key that a factor sets must be one of its levels."""
    for name, subject in levels.subjects.items():
        if None in levels.texts[name]:
            continue
        for path, value in _said(reading, measures, subject):
            try:
                if levels.holds(name, value):
                    continue
            except Faulty:
                continue  # told where it stands, or by the factor
            words = level_label(name, value)
            hint = nearest(words, levels.labels(name))
            reason = f"it is not a level of factor {name}; {hint}"
            reading.faults.add(path, f"{words} has no effect: {reason}", True)


def read_baseline(
    reading: Reading, measures: Mapping[str, WrittenMeasure], levels: Levels
) -> dict[str, str]:
    """The label of one level for every factor."""
    written = dict(reading.data.get("baseline", {}))
    if PLACEBO in written:
        del written[PLACEBO]
        words = "is not for a grid to choose: it is always first; leave it out"
        reading.faults.add(("baseline", PLACEBO), words, True)
    named = {name: levels.named(name, value, ("baseline", name)) for name, value in written.items()}
    baseline = {}
    for name, subject in levels.subjects.items():
        label = named.get(name)
        if name not in named:
            said = [value for _, value in _said(reading, measures, subject)]
            key, part = subject.key, subject.part
            if not said and part and key in PARTS and key in reading.start.given:
                said = [reading.resolver.canonical_value(key, reading.model[key])[part]]
            if not said and subject.scope == "model" and reading.start.recipe is not None:
                said = _recipe_says(reading, subject)
                _check_recipe(reading, levels, name, said)
            label = levels.find(name, said[0]) if said else None
        baseline[name] = label or levels.labels(name)[0]
    return baseline


def _recipe_says(reading: Reading, subject: Subject) -> list[Any]:
    """What a recipe's model has for a factor, defaults among it; nothing of an option whose
    component varies too."""
    key, part = subject.key, subject.part
    value = reading.model.get(key, Model.model_fields[key].default)
    if not part:
        return [value]
    if key in reading.levels or value is None:
        return []
    if key in PARTS:
        return [reading.resolver.canonical_value(key, value)[part]]
    try:
        choices = reading.resolver.chooser.components(key, value)
    except Faulty:
        return []  # told where it stands
    return [choice.options[part] for choice in choices if part in choice.options]


def _check_recipe(reading: Reading, levels: Levels, name: str, said: list[Any]) -> None:
    """A baseline that nobody names is the recipe's own, or the comparison is with another model."""
    if not said or None in levels.texts[name]:
        return
    assert reading.start.recipe is not None, "asked of grids with a recipe alone"
    distinct = list(dict.fromkeys(level_label(name, plain(value)) for value in said))
    if len(distinct) == 1 and levels.find(name, said[0]) is not None:
        return
    one = len(distinct) == 1
    words = distinct[0] if one else f"{' and '.join(distinct)} in turn, layer by layer"
    remedy = "add it, or name in baseline what to compare with" if one else "name a baseline"
    reading.faults.add(
        ("factors", name),
        f"recipe {reading.start.recipe.name} has {words}, which is no level here: {remedy}; "
        f"known: {', '.join(sorted(levels.labels(name)))}",
        True,
    )


def _said(
    reading: Reading, measures: Mapping[str, WrittenMeasure], subject: Subject
) -> list[tuple[DataPath, Any]]:
    """What `model` or `measures` gives for a factor, where it does so in so many words."""
    key, part = subject.key, subject.part
    if subject.scope == "measure":
        measure = measures[key]
        return [((*measure.path, part), measure.options[part])] if part in measure.options else []
    given = reading.start.given
    if key not in given:
        return []
    value = given[key]
    if not part:
        return [(("model", key), value)]
    if key in PARTS:
        named = isinstance(value, dict) and part in value
        return [(("model", key, part), value[part])] if named else []
    if key in reading.levels:  # judged whole, by that factor
        return []
    try:
        return [
            (("model", key, *where, component, part), options[part])
            for where, component, options in entries(key, value)
            if options and part in options
        ]
    except Faulty:
        return []
