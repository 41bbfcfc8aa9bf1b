"""A plugin that registers a component and then raises in its second hook."""

from registry import ComponentSpec, hookimpl


class Swallowed:
    """What the plugin would have registered."""


@hookimpl
def register_components():
    """Return what must not be half registered."""
    return [ComponentSpec(kind="norm", name="swallowed", target=Swallowed)]


@hookimpl
def register_measures():
    """Raise."""
    raise RuntimeError("no measure\ntoday")
