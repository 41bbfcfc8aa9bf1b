"""Writes the generated tables of README.md, or with --check says whether they are current."""

from __future__ import annotations

import sys
from pathlib import Path

from registry import Catalog, discover
from tests.marks import between

README = Path(__file__).parents[1] / "README.md"
BUILT_IN = "ablations"


def components(catalog: Catalog) -> str:
    """A Markdown table of the built-in components."""
    rows = ["| kind | name | options | what it is |", "|---|---|---|---|"]
    for spec in catalog.components():
        if spec.provenance.distribution != BUILT_IN:
            continue
        options = ", ".join(f"`{option.name}`" for option in catalog.options(spec))
        source = f" ({spec.source})" if spec.source else ""
        rows.append(f"| {spec.kind} | `{spec.name}` | {options} | {spec.summary}{source} |")
    return "\n".join(rows) + "\n"


def measures(catalog: Catalog) -> str:
    """A Markdown table of the built-in measures; metrics that a conclusion may rest on are bold."""
    rows = ["| measure | metrics | options | costs | needs |", "|---|---|---|---|---|"]
    for spec in catalog.measures():
        if spec.provenance.distribution != BUILT_IN:
            continue
        options = ", ".join(f"`{option.name}`" for option in catalog.options(spec))
        named = ", ".join(f"**`{m.name}`**" if m.primary else f"`{m.name}`" for m in spec.metrics)
        rows.append(f"| `{spec.name}` | {named} | {options} | {spec.cost} | {spec.needs} |")
    return "\n".join(rows) + "\n"


TABLES = {"components": components, "measures": measures}


def current(text: str, catalog: Catalog) -> str:
    """The README with its tables as they should be."""
    for name, table in TABLES.items():
        text = between(text, README.name, name, "python -m tests.readme", table(catalog))
    return text


def main() -> int:
    """Write, or with --check compare; 1 when the file is not current."""
    text = README.read_text(encoding="utf-8")
    wanted = current(text, discover())
    if "--check" in sys.argv[1:]:
        if text != wanted:
            print("README.md is not current: run python -m tests.readme", file=sys.stderr)
        return int(text != wanted)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
