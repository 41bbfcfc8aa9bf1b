"""Plain data with one form for what is equal, so that equal models are equal texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def canonical_json(value: Any) -> str:
    """The one text of plain data: keys sorted, floats in full, text and numbers kept apart."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def plain(value: Any) -> Any:
    """A copy made of what JSON knows, with one zero. Raises: TypeError."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) + 0.0
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"an option is {value!r:.80}; options are text, numbers, lists and mappings")


def shortest(items: Sequence[Any]) -> Any:
    """One item, or the shortest `layers` that repeat to the same; None for no items."""
    texts = [canonical_json(item) for item in items]
    for period in range(1, len(items) + 1):
        if len(items) % period == 0 and texts == texts[:period] * (len(items) // period):
            return items[0] if period == 1 else {"layers": list(items[:period])}
    return None
