"""How a command answers: what it prints, its exit status, and every error in a line on stderr."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, ParamSpec

import typer

from ablations.printable import json_safe, lines, printable

PIECE = 10_000
"""Tokens of a JSON document that are written together."""


@dataclass(frozen=True)
class Answer:
    """What a command prints on stdout, whole or piece by piece, and its exit status."""

    text: str | Iterable[str]
    status: int = 0


Parameters = ParamSpec("Parameters")


def answers(command: Callable[Parameters, Answer]) -> Callable[Parameters, int]:
    """Print a command's answer when it is complete; whatever else prints goes to stderr.

    A plugin that prints while it is imported would otherwise spoil a JSON document.
    """

    @functools.wraps(command)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> int:
        with redirect_stdout(sys.stderr):
            answer = command(*args, **kwargs)
        if isinstance(answer.text, str):
            if answer.text:
                print(printable(answer.text))
            return answer.status
        for piece in answer.text:
            sys.stdout.write(printable(piece))
        print()
        return answer.status

    return call


class NotInstalled(Exception):
    """The code is here, but not the metadata through which built-ins are found."""


def status_of(error: Exception) -> int | None:
    """The exit status that a known error stands for; None for a fault of ours."""
    from ablations.executors import ExecutorError
    from ablations.grids.document import GridError
    from ablations.store import NoRun, StoreError
    from registry.errors import MissingExtra

    if isinstance(error, (GridError, NoRun)):
        return 2
    if isinstance(error, (StoreError, ExecutorError, MissingExtra, NotInstalled, OSError)):
        return 3
    return None


def told(error: Exception) -> str:
    """What is said of a known error: of the system's own, the file and why, without its number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def show_conflicts(context: typer.Context) -> None:
    """Say so where the command line overrides the environment."""
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        variable = parameter.envvar
        if not isinstance(variable, str) or variable not in os.environ or given is None:
            continue
        value = context.params[parameter.name or ""]
        if given.name == "COMMANDLINE" and str(value) != os.environ[variable]:
            say(f"{parameter.opts[0]} {value} overrides {variable}={os.environ[variable]}")


def say(message: str) -> None:
    """Tell a person something on stderr: a line a finding, each bounded, nothing in it hidden."""
    print(lines(message), file=sys.stderr)


def as_json_text(document: Any) -> str:
    """A document as --json prints it."""
    return json_safe(json.dumps(document, indent=2, ensure_ascii=False))


class Listed(list[Any]):
    """A list of a JSON document, whose items are made while it is written, once."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__()
        self._items = iter(items)
        self._first = list(islice(self._items, 1))

    def __len__(self) -> int:
        """Not how many there are, but whether there are any."""
        return len(self._first)

    def __iter__(self) -> Iterator[Any]:
        return chain(self._first, self._items)


def as_json_pieces(document: Any) -> Iterator[str]:
    """A document with lists that are `Listed`, as --json prints it, piece by piece."""
    tokens = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(document)
    while piece := "".join(islice(tokens, PIECE)):
        yield json_safe(piece)
