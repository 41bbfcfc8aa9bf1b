"""Text that a terminal shows as it is: what would move, hide or colour the rest is spelt out."""

from __future__ import annotations

import json
import re
from itertools import islice

LONGEST = 1_000
"""Characters of a line that tells of one thing; the middle of a longer one is left out."""

# Control characters, the marks that turn the direction of what follows, what breaks lines
# elsewhere, invisible ones that hide in names, and halves of characters. The joiners U+200C and
# U+200D stay: scripts and emoji are written with them.
_HIDDEN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
    "\\ufff9-\\ufffb\\U000e0000-\\U000e007f\\ud800-\\udfff]"
)
_HIDDEN_BUT_LINES = re.compile(rf"(?![\n\t]){_HIDDEN.pattern}")


def printable(text: str) -> str:
    """A text of lines, with an escape (`\\x1b`, `\\u202e`) for each character that is not seen."""
    return _HIDDEN_BUT_LINES.sub(_spelt, text)


def json_safe(text: str) -> str:
    """A JSON text of the same value, in which those characters are JSON's own escapes."""
    return _HIDDEN_BUT_LINES.sub(lambda found: json.dumps(found[0])[1:-1], text)


def line(text: str, limit: int = LONGEST) -> str:
    """The same on one line of bounded length, line breaks spelt out too."""
    if len(text) > limit:
        head = limit * 2 // 3
        text = f"{text[:head]} … {text[len(text) - (limit - head) :]} ({len(text):,} characters)"
    return _HIDDEN.sub(_spelt, text)


def lines(text: str, limit: int = LONGEST, most: int = 200) -> str:
    """A finding a line, each bounded, and how many more there are."""
    every = text.split("\n")
    told = [line(one, limit) for one in islice(every, most)]
    if len(every) > most:
        told.append(f"… and {len(every) - most:,} more")
    return "\n".join(told)


def _spelt(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
