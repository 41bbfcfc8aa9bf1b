"""What is made of runs: their pages and tables, of one, of two, and live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ablations.answers import Answer, answers, say
from ablations.commands.arguments import DirectoryArgument
from ablations.ending import Terminated, told_to_end

LAST_PORT = 65_535


@answers
def report(
    directory: DirectoryArgument,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT[,FORMAT]...",
            help="html (report.html), markdown (report.md: findings and a paper's tables), latex "
            "(report.tex: these tables), csv and parquet (files in tables/); default html,csv.",
        ),
    ] = None,
) -> Answer:
    """Write what is made of a run again, from its store: report.html and tables/.

    Example: python -m ablations report runs/norm-placement --format html,latex
    """
    from ablations.library import write_as, write_report

    if formats is None:
        return Answer(str(write_report(directory)))
    from ablations.asked_formats import asked_formats

    return Answer("\n".join(map(str, write_as(directory, asked_formats(formats)))))


@answers
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run directory.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another one.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the page.")] = Path(
        "comparison.html"
    ),
) -> Answer:
    """Compare two runs: what changed between them, and which effects moved beyond noise.

    Writes a page, and says the same in short. Times are never compared across environments.

    Example: python -m ablations compare runs/before runs/after --out comparison.html
    """
    from ablations.comparing import compare_directories
    from reports.comparison.page import summary, write_comparison

    comparison = compare_directories(first, second)
    write_comparison(comparison, out)
    say(summary(comparison))
    return Answer(str(out))


@answers
def serve(
    directory: DirectoryArgument,
    port: Annotated[
        str, typer.Option(metavar="N", help="Where to listen; 0 takes a free one.")
    ] = "8000",
) -> Answer:
    """Show a run live in a browser of this machine, also while it goes on; Ctrl-C ends it.

    Reads alone, answers on 127.0.0.1 alone, and makes the report again as results come in.

    Example: python -m ablations serve runs/norm-placement
    """
    from ablations.serving import Server

    try:
        with told_to_end(), Server(directory, _number_of(port)) as server:
            say(f"{directory} is shown on {server.address} until Ctrl-C")
            server.serve_forever()
    except KeyboardInterrupt as stop:
        return Answer("", 143 if isinstance(stop, Terminated) else 130)
    return Answer("")


def _number_of(port: str) -> int:
    """Raises: typer.BadParameter for what is no number of a port."""
    if not (port.isascii() and port.isdecimal() and int(port) <= LAST_PORT):
        raise typer.BadParameter(
            f"expected a whole number from 0 to {LAST_PORT}, not {port!r}", param_hint="--port"
        )
    return int(port)
