"""A table of the page, ready for its template."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a page.

    Attributes:
        caption: What it shows, with n.
        columns: Headings.
        rows: Cells as text; the first of a row is its heading.
        numeric: For each column whether it holds numbers, which are set flush right.
        classes: For each row ``""``, ``base`` (a baseline) or ``faint`` (inside noise, or lost).
        note: What is left out, or ``""``.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    classes: Sequence[str]
    note: str = ""
    groups: Sequence[str] = ()
    """A heading for each row, shown where it changes; none if empty."""


def make_table(
    caption: str,
    columns: dict[str, bool],
    rows: Sequence[Sequence[str]],
    classes: Sequence[str] | None = None,
    note: str = "",
    groups: Sequence[str] = (),
) -> Table:
    """A `Table` from its headings, each with whether its column holds numbers."""
    return Table(
        caption=caption,
        columns=list(columns),
        rows=rows,
        numeric=list(columns.values()),
        classes=[""] * len(rows) if classes is None else classes,
        note=note,
        groups=groups,
    )
