"""The tool from Python: a decoder from a mapping, and the results of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry.catalog import Catalog
from registry.discovery import discover

if TYPE_CHECKING:
    from ablations.decoder import Decoder
    from ablations.storage.overview import Overview
    from reports.frames import Frames


def build(model: Mapping[str, Any], seed: int = 0, *, catalog: Catalog | None = None) -> Decoder:
    """A decoder from what `model` of a grid may hold, with its initial weights for that seed.

    It maps token ids (B, T) to logits (B, T, vocabulary); `ablations.Decoder` says how its
    parameters are named.

    >>> decoder = build({"norm": "rmsnorm", "attention": {"gqa": {"n_kv_heads": 2}}, "depth": 2})

    Raises: GridError for keys, names and options that do not exist, all of them at once;
    Incompatible for parts that do not fit each other or the sizes.
    """
    from ablations.initialization import initialized_decoder
    from ablations.models.resolution import resolve

    return initialized_decoder(resolve(model, catalog or discover()), seed)


class Run:
    """A run directory, opened for reading; a run may be going on in it."""

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out)

    def __repr__(self) -> str:
        return f"Run({str(self.out)!r})"

    def _repr_html_(self) -> str:
        """How a notebook shows it. Raises: NoRun."""
        from ablations.notebook import run_html

        return run_html(self.overview(), self.out)

    def overview(self) -> Overview:
        """What was asked for and how far it got, without reading figures.

        Raises: NoRun.
        """
        from ablations.store import Store

        with Store.open_readonly(self.out) as store:
            return store.overview()

    def frames(self) -> Frames:
        """Tidy pandas frames of everything measured; see `reports.Frames`.

        Raises: NoRun.
        """
        from ablations.store import Store

        with Store.open_readonly(self.out) as store:
            return store.frames()

    def report(self) -> Path:
        """Write report.html and tables/ again; returns the page's path."""
        return write_report(self.out)


def open_run(out: str | Path) -> Run:
    """The run in a directory. Raises: NoRun."""
    from ablations.store import Store

    with Store.open_readonly(Path(out)):
        return Run(out)


def write_report(out: str | Path, *, whole: bool = True) -> Path:
    """Write report.html and tables/ from the store of a run directory; returns the page's path.

    `whole` is as of `ablations.store.Store.open_readonly`.

    Raises: NoRun.
    """
    import reports
    from ablations.store import Store

    with Store.open_readonly(out, whole=whole) as store:
        frames = store.frames()
    return reports.write(frames, Path(out))


def write_as(out: str | Path, formats: Sequence[str]) -> list[Path]:
    """Write some of `reports.formats.FORMATS` from the store of a run directory.

    Returns the files, and the folder tables/ if anything was written there.

    Raises: NoRun.
    """
    from reports.formats import write_formats

    return write_formats(open_run(out).frames(), Path(out), formats)
