"""YAML text to plain data that remembers where every key and value stood."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_BYTES = 64 * 1024
MAX_LEVELS = 32
MAX_NODES = 50_000
"""Values in a document once its aliases are written out; 64 KiB without aliases hold fewer."""

Step = str | int
DataPath = tuple[Step, ...]

# The scalars of YAML 1.2's core schema; everything else is text (`yes`, `on`, `1_000`, dates).
_NULL = re.compile(r"(?:null|Null|NULL|~|)")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)
_PLAIN_KEY = re.compile(r"[\w.-]{1,100}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Fault:
    """Something wrong at a path inside the data; `on_key` points at the key, not its value."""

    path: DataPath
    message: str
    on_key: bool = False


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
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for finding in self.findings:
            where = [self.source] if self.source else []
            if finding.line is not None:
                where += [str(finding.line), str(finding.column)]
            yield f"{':'.join(where)}: {finding}" if where else str(finding)


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


def scalar(text: str) -> Any:
    """The value of an unquoted scalar by YAML 1.2's core schema."""
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return None if _NULL.fullmatch(text) else text


def read(path: str | os.PathLike[str]) -> Document:
    """The document in a file. Raises: GridError."""
    source = os.fspath(path)
    try:
        with Path(source).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise GridError([Finding("no such file")], source) from None
    except IsADirectoryError:
        raise GridError([Finding("is a directory; expected a grid file")], source) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GridError([Finding(f"cannot be read: {reason}")], source) from None
    if len(content) > MAX_BYTES:
        raise _too_large(source)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", errors="replace").splitlines() or [""]
        message = f"is not UTF-8 text: byte 0x{content[error.start]:02x}"
        finding = Finding(message, len(before), len(before[-1]) + 1)
        raise GridError([finding], source) from None
    return parse(text, source)


def parse(text: str, source: str = "") -> Document:
    """The document in a text. Raises: GridError; of syntax errors it tells the first."""
    if len(text.encode("utf-8", errors="surrogatepass")) > MAX_BYTES:
        raise _too_large(source)
    root, composer = _compose(text, source)
    faults = [
        Finding(f"tag {_tag(name)} is not allowed: plain YAML only", mark.line + 1, mark.column + 1)
        for name, mark in composer.tags
    ]
    directive = re.match(r"(?:\ufeff?[ \t]*(?:#.*)?\r?\n)*\ufeff?(%.*)", text)
    if directive:
        line = text.count("\n", 0, directive.start(1)) + 1
        faults.append(Finding("directives are not allowed: YAML 1.2 is understood", line, 1))
    if root is None:
        faults.append(Finding("is empty; expected a mapping with name, factors and measures"))
        raise GridError(faults, source)
    plain = _Plain()
    data = plain.convert(root, (), ())
    if not isinstance(root, MappingNode):
        line, column = _position(root)
        kind = "a list" if isinstance(root, SequenceNode) else show(data)
        message = f"expected a mapping with name, factors and measures, not {kind}"
        plain.findings.append(Finding(message, line, column))
    faults += plain.findings
    if faults:
        faults.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
        raise GridError(faults, source)
    return Document(data=data, source=source, text=text, keys=plain.keys, values=plain.values)


def from_mapping(mapping: Mapping[str, Any]) -> Document:
    """A mapping from Python, copied to plain data and written out as YAML. Raises: GridError."""
    faults: list[Fault] = []
    data = _copy(mapping, (), faults)
    if faults:
        raise Document(data=data).error(faults)
    text = dump(data)
    if len(text.encode()) > MAX_BYTES:
        raise _too_large("")
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


def _too_large(source: str) -> GridError:
    return GridError([Finding(f"is larger than {MAX_BYTES // 1024} KiB, the limit")], source)


class _TooDeepError(Exception):
    """Stops the composer before nesting can exhaust the stack."""


class _Composer(Composer):
    """Notes explicit tags, which the nodes no longer show, and bounds the depth."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False
        self.tags: list[tuple[str, Any]] = []
        self.levels = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if not isinstance(event, AliasEvent) and event.ctag is not None:
            self.tags.append((str(event.ctag), event.start_mark))
        self.levels += 1
        if self.levels > MAX_LEVELS + 1:  # scalars in the innermost collection count one more
            raise _TooDeepError(event.start_mark)
        node = super().compose_node(parent, index)
        self.levels -= 1
        return node


def _compose(text: str, source: str) -> tuple[Node | None, _Composer]:
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    try:
        root = yaml.compose(text)
    except _TooDeepError as error:
        mark = error.args[0]
        message = f"is nested deeper than {MAX_LEVELS} levels, the limit"
        raise GridError([Finding(message, mark.line + 1, mark.column + 1)], source) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = _plain_words(error)
        finding = Finding(message, mark.line + 1, mark.column + 1) if mark else Finding(message)
        raise GridError([finding], source) from None
    except Exception as error:  # the parser lets some faults of a text out as they come
        position = getattr(error, "position", None)
        line: int | None = None
        column: int | None = None
        if isinstance(position, int):
            line = text.count("\n", 0, position) + 1
            column = position - text.rfind("\n", 0, position)
        reason = getattr(error, "reason", None) or "an escape names no character"
        raise GridError([Finding(f"is not valid YAML: {reason}", line, column)], source) from None
    return root, yaml.composer


def _tag(name: str) -> str:
    return show(name.replace("tag:yaml.org,2002:", "!!", 1))


def _plain_words(error: MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem or error.context).split())
    if "found character '\\t'" in problem:
        return "a tab cannot indent YAML: use spaces"
    if "found another document" in problem:
        return "a second document begins here; a grid file holds one"
    problem = problem.replace("'<stream end>'", "the end of the file")
    problem = problem.replace(r"'\x00'", "the end of the file")
    context = " ".join(str(error.context or "").split())
    return f"is not valid YAML: {f'{context}, ' if context else ''}{problem}"


def _position(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


class _Plain:
    """Turns nodes into data, noting positions and what is not allowed."""

    def __init__(self) -> None:
        self.keys: dict[DataPath, tuple[int, int]] = {}
        self.values: dict[DataPath, tuple[int, int]] = {}
        self.findings: list[Finding] = []
        self._nodes = 0

    def convert(self, node: Node, path: DataPath, parents: tuple[Node, ...]) -> Any:
        self._nodes += 1
        if self._nodes >= MAX_NODES:
            if self._nodes == MAX_NODES:
                self._note(node, path, f"aliases expand to more than {MAX_NODES} values")
            return None
        if any(node is parent for parent in parents):
            self._note(node, path, "an alias refers to what contains it")
            return None
        if len(parents) > MAX_LEVELS:
            self._note(node, path, f"aliases nest deeper than {MAX_LEVELS} levels, the limit")
            return None
        empty = isinstance(node, ScalarNode) and node.style is None and not node.value
        # An absent value is marked wherever the parser noticed: its key tells better.
        self.values[path] = self.keys.get(path, _position(node)) if empty else _position(node)
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        inside = (*parents, node)
        if isinstance(node, SequenceNode):
            return [self.convert(item, (*path, i), inside) for i, item in enumerate(node.value)]
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._note(key_node, path, "a key is text, not a list or a mapping")
                continue
            key = key_node.value
            position = _position(key_node)
            if key in data:
                line, column = self.keys[(*path, key)]
                message = f"duplicate key {show(key)}, first given at {line}:{column}"
                self._note(key_node, path, message)
                continue
            if _SURROGATE.search(key):
                self._note(key_node, path, "an escape names no character")
                continue
            self.keys[(*path, key)] = position
            data[key] = self.convert(value_node, (*path, key), inside)
        return data

    def _scalar(self, node: ScalarNode, path: DataPath) -> Any:
        if node.style is not None:
            if _SURROGATE.search(node.value):
                self._note(node, path, "an escape names no character")
            return node.value
        value = self._number(node.value)
        if isinstance(value, int) and abs(value) >= 2**63:
            self._note(node, path, "an integer has at most 64 bits")
            return None
        return value

    @staticmethod
    def _number(text: str) -> Any:
        try:
            return scalar(text)
        except ValueError:  # Python refuses to read integers of thousands of digits
            return 2**63

    def _note(self, node: Node, path: DataPath, message: str) -> None:
        self.findings.append(Finding(message, *_position(node), spell(path)))


def _copy(value: Any, path: DataPath, faults: list[Fault]) -> Any:
    if len(path) > MAX_LEVELS:
        faults.append(Fault(path[:1], f"is nested deeper than {MAX_LEVELS} levels, the limit"))
        return None
    if isinstance(value, Mapping):
        copy = {}
        for key, item in value.items():
            if isinstance(key, str) and not _SURROGATE.search(key):
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
        if _SURROGATE.search(value):
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
