"""What is registered, as JSON documents and as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from registry.catalog import Catalog
from registry.errors import InvalidSpec
from registry.spec import ComponentSpec, Option, plain


def component_documents(catalog: Catalog) -> list[dict[str, Any]]:
    """What `components --json` prints."""
    return [
        {
            "kind": str(spec.kind),
            "name": spec.name,
            "plugin": spec.provenance.distribution,
            "version": spec.provenance.version,
            "options": [
                {
                    "name": option.name,
                    "type": f"{option.type}, required" if option.required else option.type,
                    "default": option.default,
                }
                for option in _options(catalog, spec)
            ],
            "summary": spec.summary,
            "source": spec.source,
        }
        for spec in catalog.components()
    ]


def _options(catalog: Catalog, spec: ComponentSpec) -> tuple[Option, ...]:
    """None for a component that does not load: `check` and a grid that uses it say why."""
    try:
        return catalog.options(spec)
    except InvalidSpec as error:
        print(f"{spec.provenance.distribution}/{spec.name}: {error}", file=sys.stderr)
        return ()


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
        origin = f"{document['plugin']} {document['version']}"
        lines.append(f"  {document['name']}: {document['summary']}{source} [{origin}]")
        for option in document["options"]:
            default = plain(option["default"])
            required = option["type"].endswith("required")
            told = option["type"] if required else f"{option['type']}, default {default}"
            lines.append(f"      {option['name']}: {told}")
    return "\n".join(lines)


def plugin_text(documents: Iterable[dict[str, Any]]) -> str:
    """A line a plugin, with what it registers or why it did not load."""
    return "\n".join(
        f"{document['name']} {document['version']}: "
        + (
            f"failed: {document['message']}"
            if document["state"] == "failed"
            else f"loaded, {len(document['components'])} entries: "
            + ", ".join(document["components"])
        )
        for document in documents
    )
