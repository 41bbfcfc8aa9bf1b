"""Plugins that a grid brings along: loaded before its names are read, kept with the run's grid."""

from __future__ import annotations

import os
from pathlib import Path

from ablations.grids.document import Document, Fault, GridError, dump
from ablations.grids.parsing import parse
from ablations.grids.schema import file_faults
from registry.catalog import Catalog
from registry.discovery import with_plugins
from registry.errors import PluginError
from registry.records import PluginRecord
from registry.selection import Selection

KEY = "plugins"


def with_own_plugins(document: Document, catalog: Catalog) -> Catalog:
    """The catalog, and in it the plugins that a grid names; paths are relative to its file.

    Raises: GridError with all that is wrong with them and with the grid's form; its names are not
    looked at, since these plugins may have registered them.
    """
    names = document.data.get(KEY)
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        return catalog  # nothing, or what the schema refuses
    selection = Selection.of(os.environ)
    if selection.none:
        words = f"{selection.by} keeps plugins out: unset it, or name them with --plugin"
        raise document.error([*file_faults(document.data), Fault((KEY,), words, True)])
    base = Path(document.source).parent if document.source else Path.cwd()
    try:
        return with_plugins(catalog, names, base)
    except PluginError as error:
        faults = [Fault((KEY, names.index(name)), reason) for name, reason in error.findings]
        raise document.error([*file_faults(document.data), *faults]) from None


def kept_text(document: Document, catalog: Catalog, folder: Path) -> str:
    """A grid's text for a file in `folder`: it names every plugin that was asked for.

    Whether the grid or a command line asked for it, the text in `folder` runs as it is.
    """
    names = sorted(_seen_from(folder, record) for record in catalog.plugins if record.asked)
    if names == sorted(document.data.get(KEY, [])):
        return document.text
    data = {**document.data, KEY: names}
    edited = _with_entry(document, dump({KEY: names}))
    try:
        if parse(edited).data == data:
            return edited
    except GridError:
        pass
    return dump(data)  # braces around all of it, an alias into what was replaced


def _seen_from(folder: Path, record: PluginRecord) -> str:
    if not record.path:
        return record.name
    path = os.path.relpath(os.path.realpath(record.path), os.path.realpath(folder))
    return path if "/" in path else f"./{path}"


def _with_entry(document: Document, entry: str) -> str:
    """The text with another entry for the plugins, all else as it was; it may not be valid."""
    lines = document.text.splitlines(keepends=True)
    starts = sorted(line - 1 for path, (line, _) in document.keys.items() if len(path) == 1)
    position = document.keys.get((KEY,))
    if position is None:
        end = "" if document.text.endswith("\n") else "\n"
        return f"{document.text}{end}{entry}"
    start = position[0] - 1
    stop = next((line for line in starts if line > start), len(lines))
    while stop > start + 1 and not lines[stop - 1].partition("#")[0].strip():
        stop -= 1  # what stands before the next key is about that one
    return "".join([*lines[:start], entry, *lines[stop:]])
