"""What is registered, as JSON documents and as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ablations.printable import line
from registry.catalog import Catalog
from registry.errors import describe
from registry.records import PluginRecord
from registry.spec import ComponentSpec, MeasureSpec, plain


def component_documents(catalog: Catalog) -> list[dict[str, Any]]:
    """What `components --json` prints."""
    return [
        {
            "kind": str(spec.kind),
            "name": spec.name,
            "plugin": spec.provenance.distribution,
            "version": spec.provenance.version,
            "options": _options(catalog, spec),
            "summary": spec.summary,
            "source": spec.source,
        }
        for spec in catalog.components()
    ]


def _options(catalog: Catalog, spec: ComponentSpec | MeasureSpec) -> list[dict[str, Any]]:
    """None for an entry that does not load: `check` and a grid that uses it say why."""
    try:
        options = catalog.options(spec)
    except Exception as error:  # a stranger's class may be broken in any way
        print(
            line(f"{spec.provenance.distribution}/{spec.name}: {describe(error)}"), file=sys.stderr
        )
        return []
    return [
        {
            "name": option.name,
            "type": f"{option.type}, required" if option.required else option.type,
            "default": option.default,
        }
        for option in options
    ]


def plugin_documents(catalog: Catalog) -> list[dict[str, Any]]:
    """What `plugins --json` prints."""
    return [
        {
            "name": record.name,
            "version": record.version,
            "state": record.state,
            "message": record.message,
            "components": [f"{spec.slot} {spec.name}" for spec in record.specs],
        }
        for record in catalog.plugins
    ]


def component_text(documents: Iterable[dict[str, Any]]) -> str:
    """A paragraph a kind, a line a component, its options below."""
    lines: list[str] = []
    kind = None
    for document in documents:
        if document["kind"] != kind:
            kind = document["kind"]
            lines += ["", kind] if lines else [kind]
        source = f" ({document['source']})" if document["source"] else ""
        origin = f"{document['plugin']} {document['version']}".strip()
        lines.append(f"  {document['name']}: {line(document['summary'])}{line(source)} [{origin}]")
        lines += _option_lines(document["options"])
    return "\n".join(lines)


def measure_text(catalog: Catalog) -> str:
    """A paragraph like a kind's: below each measure its cost, needs, options and metrics."""
    lines = ["measure"]
    for spec in catalog.measures():
        lines.append(f"  {spec.name}: {line(spec.summary)} [{spec.provenance}]")
        lines += [
            f"      {word}: {line(text)}"
            for word, text in (("cost", spec.cost), ("needs", spec.needs))
            if text
        ]
        lines += _option_lines(_options(catalog, spec))
        names = [
            f"{metric.name} (primary)" if metric.primary else metric.name for metric in spec.metrics
        ]
        lines.append(f"      metrics: {', '.join(names) or 'none'}")
    return "\n".join(lines)


def _option_lines(options: Iterable[dict[str, Any]]) -> list[str]:
    lines = []
    for option in options:
        required = option["type"].endswith("required")
        default = "" if required else f", default {plain(option['default'])}"
        lines.append(f"      {option['name']}: {option['type']}{default}")
    return lines


def plugin_text(catalog: Catalog) -> str:
    """A line a plugin, with what it registers or why it did not load."""
    return "\n".join([*map(_plugin_line, catalog.plugins), *left_out_lines(catalog)])


def _plugin_line(record: PluginRecord) -> str:
    name = f"{record.name} {record.version}".strip()
    if record.state == "failed":
        return f"{name}: failed: {line(record.message)}"
    entries = [f"{spec.slot} {spec.name}" for spec in record.specs]
    count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    told = [f"{count}: {', '.join(entries)}"] if entries else []
    told += [f"follows runs: {', '.join(sorted(record.follows))}"] if record.follows else []
    place = f" from {record.path}" if record.path else ""
    return f"{name}: loaded{place}, {'; '.join(told)}"


def left_out_lines(catalog: Catalog) -> list[str]:
    """A line for each plugin that a setting keeps out, none of which is imported."""
    return [
        f"{plugin.name} {plugin.version}".strip() + f": left out by {plugin.by}"
        for plugin in catalog.left_out
    ]
