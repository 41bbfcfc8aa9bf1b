"""An exception as the two texts that are kept of it."""

from __future__ import annotations

import traceback


def describe(error: BaseException) -> tuple[str, str]:
    """`TypeName: text`, and the traceback; whatever the exception's own methods do."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be read)"
    message = f"{name}: {text}" if text else name
    return message, "".join(traceback.format_exception(error))
