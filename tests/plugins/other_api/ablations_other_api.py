"""A plugin that was made for a later version of the hooks."""

from registry import ComponentSpec, hookimpl

ablations_api = 2


class Later:
    """What the plugin would have registered."""


@hookimpl
def register_components():
    """Never called."""
    return [ComponentSpec(kind="norm", name="later", target=Later)]
