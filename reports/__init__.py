"""From results to something a person reads: paired effects, findings, tables, one HTML page.

Names load when first used, so that importing this package imports neither pandas nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.effects import paired_effects
    from reports.finding import Finding
    from reports.findings import state_findings
    from reports.formats import write
    from reports.frames import Frames
    from reports.tables import write_tables
    from reports.variance import share_of_variance

ABLATIONS_PACKAGE = "ablations"

__all__ = [
    "ABLATIONS_PACKAGE",
    "Finding",
    "Frames",
    "paired_effects",
    "share_of_variance",
    "state_findings",
    "write",
    "write_tables",
]

_HOMES = {
    "Finding": "reports.finding",
    "Frames": "reports.frames",
    "paired_effects": "reports.effects",
    "share_of_variance": "reports.variance",
    "state_findings": "reports.findings",
    "write": "reports.formats",
    "write_tables": "reports.tables",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
