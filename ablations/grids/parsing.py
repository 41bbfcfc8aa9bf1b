"""YAML text to a document: plain data, and where every key and value stood."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ablations.grids.document import (
    MAX_BYTES,
    MAX_LEVELS,
    SURROGATE,
    DataPath,
    Document,
    Finding,
    GridError,
    show,
    spell,
    too_large,
)

MAX_NODES = 50_000
"""Values in a document once its aliases are written out; 64 KiB without aliases hold fewer."""

# The scalars of YAML 1.2's core schema; everything else is text (`yes`, `on`, `1_000`, dates).
_NULL = re.compile(r"(?:null|Null|NULL|~|)")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)


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
        raise too_large(source)
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
        raise too_large(source)
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
            if SURROGATE.search(key):
                self._note(key_node, path, "an escape names no character")
                continue
            self.keys[(*path, key)] = position
            data[key] = self.convert(value_node, (*path, key), inside)
        return data

    def _scalar(self, node: ScalarNode, path: DataPath) -> Any:
        if node.style is not None:
            if SURROGATE.search(node.value):
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
