"""What was measured as tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shown(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of the same columns."""
    if not rows:
        return ""
    lines = [f"| {' | '.join(rows[0])} |", "|---" * len(rows[0]) + "|"]
    lines += [f"| {' | '.join(map(_written, row.values()))} |" for row in rows]
    return "\n".join(lines)


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
