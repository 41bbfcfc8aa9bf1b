"""Figures, one a file: a pure ``…_table`` of what is drawn, then a ``plot_…`` of that table.

The names here draw on one axes of matplotlib, given or new, and return it, for notebooks and
papers. They load when first used. A report's own figures are in the modules beside them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.plots.effects import effects_table
    from reports.plots.on_axes.effects import interactions_table, plot_effects
    from reports.plots.on_axes.losses import losses_table, plot_losses
    from reports.plots.on_axes.profiles import plot_profile, profile_table

__all__ = [
    "effects_table",
    "interactions_table",
    "losses_table",
    "plot_effects",
    "plot_losses",
    "plot_profile",
    "profile_table",
]

_HOMES = {
    "effects_table": "effects",
    "interactions_table": "on_axes.effects",
    "losses_table": "on_axes.losses",
    "plot_effects": "on_axes.effects",
    "plot_losses": "on_axes.losses",
    "plot_profile": "on_axes.profiles",
    "profile_table": "on_axes.profiles",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"reports.plots.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
