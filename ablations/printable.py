"""Text that a terminal shows as it is: what would move, hide or colour the rest is spelt out."""

from __future__ import annotations

import json
from itertools import islice

from reports.visible import HIDDEN, HIDDEN_BUT_LINES, visible

LONGEST = 1_000
"""Characters of a line that tells of one thing; the middle of a longer one is left out."""


def printable(text: str) -> str:
    """A text of lines, with an escape (`\\x1b`, `\\u202e`) for each character that is not seen."""
    return visible(text)


def json_safe(text: str) -> str:
    """A JSON text of the same value, in which those characters are JSON's own escapes."""
    return HIDDEN_BUT_LINES.sub(lambda found: json.dumps(found[0])[1:-1], text)


def line(text: str, limit: int = LONGEST) -> str:
    """The same on one line of bounded length, line breaks spelt out too."""
    if len(text) > limit:
        told = f" ({len(text):,} characters)"
        kept = max(0, limit - len(" … ") - len(told))  # so that a line is a line of itself
        head = kept * 2 // 3
        text = f"{text[:head]} … {text[len(text) - (kept - head) :]}{told}"
    return visible(text, HIDDEN)


def lines(text: str, limit: int = LONGEST, most: int = 200) -> str:
    """A finding a line, each bounded, and how many more there are."""
    every = text.split("\n")
    told = [line(one, limit) for one in islice(every, most)]
    if len(every) > most:
        told.append(f"… and {len(every) - most:,} more")
    return "\n".join(told)
