"""What a spec may say; everything else is refused when the spec is made."""

from __future__ import annotations

import re
from typing import TypeVar

from registry.errors import InvalidSpec

NAME = re.compile(r"[a-z][a-z0-9_]*")
TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
WORDS_OF_GRIDS = ("false", "layers", "null", "true")
"""What a grid reads as something else than a name."""

T = TypeVar("T")


def check_name(name: object, what: str) -> None:
    """Refuse a name that is not lower_snake."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidSpec(
            f"the name of a {what} is lower_snake (letters a to z, digits, underscores, a letter "
            f"first), not {name!r:.80}"
        )


def check_readable(name: str, what: str) -> None:
    """Refuse a name that a grid could not say."""
    if name in WORDS_OF_GRIDS:
        raise InvalidSpec(f"{name!r} cannot name a {what}: a grid reads it otherwise")


def check_word(value: object, words: tuple[str, ...], what: str) -> None:
    """Refuse a value that is none of the words."""
    if value not in words:
        raise InvalidSpec(f"the {what} is one of {', '.join(words)}, not {value!r:.80}")


def check_text(of: str, **texts: object) -> None:
    """Refuse a field, given by name, that is not text."""
    for field_name, text in texts.items():
        if not isinstance(text, str):
            raise InvalidSpec(f"the {field_name} of {of} is text, not {text!r:.80}")


def reference_of(target: str | type, name: str) -> str:
    """`module:Class` of a target, so that every entry can be named to a worker.

    Raises: InvalidSpec for anything but such a text or a class at module level.
    """
    found = f"{target.__module__}:{target.__qualname__}" if isinstance(target, type) else target
    if not isinstance(found, str) or not TARGET.fullmatch(found):
        raise InvalidSpec(
            f"the target of {name!r} is a class at module level or 'module:Class', "
            f"not {found!r:.80}"
        )
    return found


def tuple_of(cls: type[T], values: object, what: str) -> tuple[T, ...]:
    """The values as a tuple; anything but a list or tuple of that class is refused."""
    if isinstance(values, (list, tuple)) and all(isinstance(value, cls) for value in values):
        return tuple(values)
    raise InvalidSpec(f"the {what} are a list of {cls.__name__}, not {values!r:.80}")
