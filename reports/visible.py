"""Characters that act on the text around them, or hide in it, spelt out."""

import re

# Control characters, the marks that turn the direction of what follows, what breaks lines
# elsewhere, invisible ones that hide in names, and halves of characters. The joiners U+200C and
# U+200D stay: scripts and emoji are written with them.
HIDDEN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
    "\\ufff9-\\ufffb\\U000e0000-\\U000e007f\\ud800-\\udfff]"
)
HIDDEN_BUT_LINES = re.compile(rf"(?![\n\t]){HIDDEN.pattern}")


def visible(text: str, hidden: re.Pattern[str] = HIDDEN_BUT_LINES) -> str:
    """A text with an escape (`\\x1b`, `\\u202e`) for each character that is not seen.

    Line breaks and tabs stay, unless ``hidden`` is `HIDDEN`.
    """
    return hidden.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
