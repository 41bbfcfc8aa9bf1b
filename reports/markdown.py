"""A run in Markdown: its findings and the tables of a paper, for a page that renders it."""

import re
from collections.abc import Iterable, Iterator, Sequence

from reports.finding import Finding
from reports.paper import PaperTable
from reports.paper_entries import Entry
from reports.visible import HIDDEN, visible

_MARKUP = re.compile(r"[\\`*_\[\]<>#|~&!$@]")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\b(www)(?=\.)")  # linked as it is
_OPENING = re.compile(r"^(\s*\d*)([-+=.)])(?=[\s=-]|$)")
"""What begins a list or a heading where it begins a line."""


def markdown_text(text: str) -> str:
    """Any text as Markdown that shows it, on one line: no link, no markup, no row or line ended."""
    line = visible(text.replace("\n", " ").replace("\t", " "), HIDDEN)
    line = _MARKUP.sub(r"\\\g<0>", line)
    return _OPENING.sub(r"\1\\\2", _ADDRESS.sub(r"\g<0>\\", line))


def markdown(
    *,
    title: str,
    lead: str,
    alerts: Iterable[str],
    findings: Sequence[Finding],
    tables: Sequence[PaperTable],
) -> str:
    """The file.

    Args:
        title: The run's name.
        lead: How far it got, in a sentence.
        alerts: What a reader must know first.
        findings: What it shows.
        tables: What to show; the text says so if there is nothing.
    """
    lines = [f"# {markdown_text(title)}", "", markdown_text(lead), ""]
    for alert in alerts:
        lines += [f"> **{markdown_text(alert)}**", ""]
    lines += ["## Findings", ""]
    lines += [f"{n}. {markdown_text(one.text)}" for n, one in enumerate(findings, start=1)]
    if not findings:
        lines.append("Nothing to compare on a primary metric.")
    lines += ["", "## Levels against their baselines", ""]
    for table in tables:
        lines += [*_table(table), ""]
    if not tables:
        lines += ["No primary metric was compared.", ""]
    return "\n".join(lines)


def _table(table: PaperTable) -> Iterator[str]:
    yield _cells(["", *map(markdown_text, table.columns)])
    yield _cells(["---", *["---:" for _ in table.columns]])
    for factor, rows in table.groups.items():
        yield _cells([f"*{markdown_text(factor)}*", *["" for _ in table.columns]])
        for row in rows:
            yield _cells([markdown_text(row.name), *map(_entry, row.entries)])
    yield ""
    yield markdown_text(table.caption)
    yield ""
    for note in table.notes:
        yield f"- {markdown_text(note)}"


def _cells(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _entry(entry: Entry) -> str:
    value = markdown_text(" ".join(filter(None, [entry.value, entry.width])))
    if entry.best:
        value = f"**{value}**"
    return f"{value}{markdown_text(entry.sign)}{f' ({entry.lost})' if entry.lost else ''}"
