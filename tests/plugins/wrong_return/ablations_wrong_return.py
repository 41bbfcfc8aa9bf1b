"""A plugin whose hook returns a mapping of names to specs, not a list of specs."""

from registry import ComponentSpec, hookimpl


class Mapped:
    """What the plugin would have registered."""


@hookimpl
def register_components():
    return {"mapped": ComponentSpec(kind="norm", name="mapped", target=Mapped)}
