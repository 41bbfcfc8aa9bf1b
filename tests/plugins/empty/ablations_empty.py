"""A plugin that registers nothing."""

from registry import hookimpl


@hookimpl
def register_components():
    return []
