"""What is written to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ablations.answers import Answer, answers, say
from registry.errors import UnknownName, nearest
from registry.spec import Kind


@answers
def new_grid(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("grid.yaml"),
) -> Answer:
    """Write a grid to start from, its keys explained; it runs in a minute.

    Example: python -m ablations new grid
    """
    from importlib.resources import files

    text = (files("ablations") / "templates" / "grid.yaml").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        say(f"{path} exists and is left as it is; give another path")
        return Answer("", 2)
    return Answer(str(path))


@answers
def new_plugin(
    name: Annotated[
        str, typer.Argument(help="Of the package: letters, digits, hyphens and underscores.")
    ],
    kind: Annotated[
        str, typer.Option(metavar="KIND", help=f"What its component is: {', '.join(Kind)}.")
    ] = Kind.NORM.value,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder in which to make its own.")
    ] = Path(),
) -> Answer:
    """Write a small package with a component of your own, its tests, and a grid that ablates it.

    It installs, its tests pass and its grid runs as they are; the class is yours to change.

    Example: python -m ablations new plugin my-norm --kind norm
    """
    from ablations.new_plugin import CannotBegin, write_plugin
    from registry.discovery import discover

    wanted = _kind_of(kind)
    built_in = discover(environment={"ABLATIONS_NO_PLUGINS": "1"})
    try:
        folder = write_plugin(name, wanted, out, built_in)
    except CannotBegin as reason:
        say(str(reason))
        return Answer("", 2)
    say(f"next: cd {folder} && python -m pip install -e . && ablations run grid.yaml")
    return Answer(str(folder))


def _kind_of(text: str) -> Kind:
    """Raises: UnknownName for what is no kind."""
    if text not in list(Kind):
        raise UnknownName(
            f"--kind: there is no {text!r}; {nearest(text, [kind.value for kind in Kind])}"
        )
    return Kind(text)
