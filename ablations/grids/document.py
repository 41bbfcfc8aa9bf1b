"""Plain data that remembers where every key and value stood, and what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from ablations.printable import line, lines

MAX_BYTES = 64 * 1024
MAX_LEVELS = 32

Step = str | int
DataPath = tuple[Step, ...]

_PLAIN_KEY = re.compile(r"[\w.-]{1,100}")
SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Fault:
    """Something wrong at a path inside the data; `on_key` points at the key, not its value."""

    path: DataPath
    message: str
    on_key: bool = False

    def under(self, path: DataPath) -> Fault:
        """The same, told of what holds at `path` the value that this one is told of."""
        return replace(self, path=(*path, *self.path))

    def inside(self) -> Fault:
        """The same, told of the value at the first step of its path."""
        return replace(self, path=self.path[1:])


@dataclass(frozen=True)
class Finding:
    """Something wrong in a grid: what, where (1-based; None without a text), at which key."""

    message: str
    line: int | None = None
    column: int | None = None
    path: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class GridError(ValueError):
    """A grid that cannot be carried out, with every finding; its text is one line for each."""

    def __init__(self, findings: Iterable[Finding], source: str = "") -> None:
        self.findings = tuple(findings)
        self.source = source
        super().__init__(self.findings, source)

    def __str__(self) -> str:
        return lines("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        for finding in self.findings:
            where = [self.source] if self.source else []
            if finding.line is not None:
                where += [str(finding.line), str(finding.column)]
            yield line(f"{':'.join(where)}: {finding}" if where else str(finding))


@dataclass(frozen=True, kw_only=True)
class Document:
    """Plain data (a mapping) and where it stood; without a text there are no positions."""

    data: dict[str, Any]
    source: str = ""
    text: str = ""
    keys: Mapping[DataPath, tuple[int, int]] = field(default_factory=dict)
    values: Mapping[DataPath, tuple[int, int]] = field(default_factory=dict)

    def finding(self, fault: Fault) -> Finding:
        """The fault with its position: of the nearest enclosing part that has one."""
        line, column = self._position(fault.path, fault.on_key)
        return Finding(fault.message, line, column, spell(fault.path))

    def error(self, faults: Iterable[Fault]) -> GridError:
        """All faults, each once, in the order of the text."""
        findings = sorted(
            dict.fromkeys(map(self.finding, faults)),
            key=lambda finding: (finding.line or 0, finding.column or 0),
        )
        return GridError(findings, self.source)

    def _position(self, path: DataPath, on_key: bool) -> tuple[int | None, int | None]:
        first, second = (self.keys, self.values) if on_key else (self.values, self.keys)
        while True:
            position = first.get(path) or second.get(path)
            if position or not path:
                return position or (None, None)
            path = path[:-1]
            # What is absent is missed by the mapping that should hold it, named by its key.
            first, second = self.keys, self.values


def spell(path: DataPath) -> str:
    """`model.attention.layers[1]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if _PLAIN_KEY.fullmatch(step) else f".{show(step)}"
    return text.removeprefix(".")


def show(value: Any) -> str:
    """A value as its author would write it, on one line and never long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind} of {len(value)}" if value else f"an empty {kind}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def too_large(source: str) -> GridError:
    """The error for a document above the limit."""
    return GridError([Finding(f"is larger than {MAX_BYTES // 1024} KiB, the limit")], source)


def from_mapping(mapping: Mapping[str, Any]) -> Document:
    """A mapping from Python, copied to plain data and written out as YAML. Raises: GridError."""
    faults: list[Fault] = []
    data = _copy(mapping, (), faults)
    if faults:
        raise Document(data=data).error(faults)
    text = dump(data)
    if len(text.encode()) > MAX_BYTES:
        raise too_large("")
    return Document(data=data, text=text)


def dump(data: Any) -> str:
    """Plain data as YAML, in its own order."""
    yaml = YAML(typ="safe", pure=True)
    flow: Any = yaml
    flow.default_flow_style = False  # in braces some keys would be written so that they end them
    # Written as they are, these would be read as line breaks, or not at all.
    yaml.allow_unicode = not re.search(
        "[\x85\u2028\u2029\ufeff]", json.dumps(data, ensure_ascii=False)
    )
    representer: Any = yaml.representer
    representer.sort_base_mapping_type_on_output = False  # the order of factors is that of cells
    yaml.width = 100
    stream = StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


def _copy(value: Any, path: DataPath, faults: list[Fault]) -> Any:
    if len(path) > MAX_LEVELS:
        faults.append(Fault(path[:1], f"is nested deeper than {MAX_LEVELS} levels, the limit"))
        return None
    if isinstance(value, Mapping):
        copy = {}
        for key, item in value.items():
            if isinstance(key, str) and not SURROGATE.search(key):
                copy[str.__str__(key)] = _copy(item, (*path, str.__str__(key)), faults)
            else:
                faults.append(Fault(path, f"a key is text, not {show(key)}"))
        return copy
    if isinstance(value, (list, tuple)):
        return [_copy(item, (*path, i), faults) for i, item in enumerate(value)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        faults.append(Fault(path, "an integer has at most 64 bits"))
        return None
    if isinstance(value, str):
        if SURROGATE.search(value):
            faults.append(Fault(path, "a lone surrogate is no character"))
        return str.__str__(value)
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    faults.append(
        Fault(
            path,
            "expected plain data (text, number, true, false, null, list, mapping), "
            f"not {type(value).__name__}",
        )
    )
    return None
