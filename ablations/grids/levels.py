"""The levels of factors, each checked, told apart by its value and found again by it."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from ablations.grids.document import DataPath, Fault
from ablations.grids.factors import Subject
from ablations.grids.faults import Faulty
from ablations.grids.reading import Reading
from ablations.models.canonical import canonical_json, plain
from ablations.models.labels import level_label
from ablations.models.model import COMPONENT_KINDS, PARTS
from ablations.models.written import entries
from registry.errors import nearest


class Levels:
    """The levels of the factors that refer to something."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.subjects: dict[str, Subject] = {}
        self.texts: dict[str, list[str | None]] = {}
        """The canonical text of each level, defaults filled in; None where it is faulty."""

    def add(self, subject: Subject) -> None:
        """Take a factor up; faults of its levels that are wrong or repeated."""
        name = subject.name
        texts: list[str | None] = []
        for i, value in enumerate(self.reading.levels[name]):
            path: DataPath = ("factors", name, i)
            if not subject.part:
                self._check_overriding(subject.key, value, path)
            text = self.reading.faults.attempt(path, partial(self._text, subject, value))
            if text is not None and text in texts:
                first = level_label(name, self.reading.levels[name][texts.index(text)])
                words = f"{level_label(name, value)} is the same level as {first}"
                self.reading.faults.add(path, words)
            texts.append(text)
        self.subjects[name] = subject
        self.texts[name] = texts

    def labels(self, name: str) -> list[str]:
        """The labels of a factor's levels."""
        return [level_label(name, value) for value in self.reading.levels[name]]

    def holds(self, name: str, value: Any) -> bool:
        """Whether a value is one of a factor's levels. Raises: Faulty."""
        return self._text(self.subjects[name], value) in self.texts[name]

    def find(self, name: str, value: Any) -> str | None:
        """The label of the level that a value or a label names."""
        labels = self.labels(name)
        if isinstance(value, str) and value in labels:
            return value
        try:
            text = self._text(self.subjects[name], value)
        except Faulty:
            return None
        texts = self.texts[name]
        return labels[texts.index(text)] if text in texts else None

    def named(self, name: str, value: Any, path: DataPath) -> str | None:
        """The label of a level that the baseline or an exclusion names; else None and a fault."""
        reading = self.reading
        if name not in reading.levels:
            if "factors" in reading.data and name not in reading.document.data["factors"]:
                words = f"is not a factor; {nearest(name, reading.levels)}"
                reading.faults.add(path, words, True)
            return None
        if name not in self.subjects:
            return None
        found = self.find(name, value)
        if found is None and None not in self.texts[name]:
            words = level_label(name, value)
            hint = nearest(words, self.labels(name))
            reading.faults.add(path, f"{words} is not a level of {name}; {hint}")
        return found

    def _text(self, subject: Subject, value: Any) -> str:
        """A level's value, defaults filled in, as a text. Raises: Faulty."""
        key, part = subject.key, subject.part
        if subject.scope == "stream":
            return canonical_json(value)
        if subject.is_option:
            return self._option_text(subject, value)
        if part:
            try:
                whole = self.reading.resolver.canonical_value(key, {part: value})
            except Faulty as error:
                raise Faulty(fault.inside() for fault in error.faults) from None
            return canonical_json(whole[part])
        if key in COMPONENT_KINDS:
            value = self.reading.check_component(key, value)
        return canonical_json(self.reading.resolver.canonical_value(key, value))

    def _option_text(self, subject: Subject, value: Any) -> str:
        """Of an option, checked against everyone who takes it. Raises: Faulty."""
        part = subject.part
        text: str | None = None
        faults: list[Fault] = []
        for taker in subject.takers:
            try:
                choice = self.reading.resolver.chooser.choose(
                    taker.spec, {**taker.options, part: value}
                )
            except Faulty as error:
                faults += [fault.inside() for fault in error.faults if fault.path == (part,)]
            else:
                text = text or canonical_json(plain(choice.options[part]))
        if text is None or faults:
            raise Faulty(faults)
        return text

    def _check_overriding(self, key: str, value: Any, path: DataPath) -> None:
        """A level may not give an option or a part that is a factor of its own."""
        places: list[tuple[DataPath, Any]] = []
        if key in PARTS:
            places = [((), value)]
        elif key in COMPONENT_KINDS:
            with contextlib.suppress(Faulty):
                places = [((*where, name), options) for where, name, options in entries(key, value)]
        for where, options in places:
            named = set(options) if isinstance(options, dict) else set()
            for part in sorted(named & set(self.reading.varied(key))):
                words = f"has no effect: factor {key}.{part} sets it"
                self.reading.faults.add((*path, *where, part), words, True)
