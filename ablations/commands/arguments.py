"""Arguments that several commands take, and the catalog that they speak of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ablations.answers import NotInstalled

if TYPE_CHECKING:
    from registry.catalog import Catalog

GridArgument = Annotated[Path, typer.Argument(help="A grid, as `new grid` writes one.")]
DirectoryArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
PluginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE_OR_FILE",
        help="A plugin that is not installed: a module, a .py file or a package's folder; "
        "may be given again.",
    ),
]


def installed(plugins: list[str] | None) -> Catalog:
    """What is installed, and the plugins asked for beside it.

    Raises: NotInstalled when our own components are not; InvalidSelection; PluginError.
    """
    from registry.clashes import BUILTIN
    from registry.discovery import discover

    catalog = discover(plugins=plugins or ())
    if not any(spec.provenance.distribution == BUILTIN for spec in catalog.components()):
        raise NotInstalled(
            "ablations is not installed here, so its own components are not registered: "
            "python -m pip install ablations"
        )
    return catalog
