"""A plugin whose one hook lacks a letter."""

from registry import ComponentSpec, hookimpl


class Unheard:
    """What the plugin would have registered."""


@hookimpl
def register_component():
    """Never called."""
    return [ComponentSpec(kind="norm", name="unheard", target=Unheard)]
