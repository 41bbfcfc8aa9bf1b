"""Texts of which a part is written by a command, between marks."""

from __future__ import annotations


def between(text: str, page: str, name: str, command: str, written: str) -> str:
    """The text of a page with what is `written` between the marks of a name.

    Raises: SystemExit where the marks are gone.
    """
    begin = f"<!-- {name}: written by `{command}` -->\n"
    end = f"<!-- /{name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} has lost the marks around its table of {name}")
    return before + begin + written + end + after
