"""A plugin whose import fails, as one does that lacks a dependency."""

import a_module_that_nobody_has  # noqa: F401

from registry import ComponentSpec, hookimpl


@hookimpl
def register_components():
    """Never called."""
    return [ComponentSpec(kind="norm", name="never", target="ablations_import_error:Never")]
