"""Writes the generated tables of README.md, or with --check says whether they are current."""

from __future__ import annotations

import sys
from pathlib import Path

from registry import Catalog, discover

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- components: written by `python -m tests.readme` -->\n"
END = "<!-- /components -->"


def table(catalog: Catalog) -> str:
    """A Markdown table of the built-in components."""
    rows = ["| kind | name | options | what it is |", "|---|---|---|---|"]
    for spec in catalog.components():
        if spec.provenance.distribution != "ablations":
            continue
        options = ", ".join(f"`{option.name}`" for option in catalog.options(spec))
        source = f" ({spec.source})" if spec.source else ""
        rows.append(f"| {spec.kind} | `{spec.name}` | {options} | {spec.summary}{source} |")
    return "\n".join(rows) + "\n"


def current(text: str, catalog: Catalog) -> str:
    """The README with its tables as they should be."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit("README.md has lost the marks around its component table")
    return before + BEGIN + table(catalog) + END + after


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
