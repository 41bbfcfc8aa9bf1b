"""One of two runs that are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.frames import Frames


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """A run, and what its store knows beyond its frames.

    Attributes:
        name: What the comparison calls it; that of the other run differs.
        frames: Its frames.
        code: By kind, name and options of a component a digest of its source files, of the
            contracts that it was held to, and of torch's version.
        identities: By cell and measure what its results depend on, as one digest.
    """

    name: str
    frames: Frames
    code: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    identities: Mapping[tuple[str, str], str] = field(default_factory=dict)
