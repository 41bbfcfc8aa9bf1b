"""A plugin whose component has markup in its name."""

from registry import ComponentSpec, hookimpl


class Marked:
    """What the plugin would have registered."""


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="<b>x</b>", target=Marked)]
