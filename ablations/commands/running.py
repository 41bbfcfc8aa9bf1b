"""Carrying a grid out, and saying before what that would be."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ablations.answers import Answer, Listed, answers, as_json_pieces, say, show_conflicts
from ablations.commands.arguments import GridArgument, JsonOption, PluginOption, installed
from ablations.ending import Terminated, told_to_end

MAX_LINE = 300
"""Characters of a line about a component's faults; the report has them whole."""


@answers
def run(
    context: typer.Context,
    grid: GridArgument,
    out: Annotated[
        Path | None,
        typer.Option(envvar="ABLATIONS_OUT", help="Run directory; default runs/NAME."),
    ] = None,
    workers: Annotated[
        str,
        typer.Option(
            envvar="ABLATIONS_WORKERS",
            metavar="N|auto",
            help="Trials at a time; auto: as cores, memory and the trials say, or as many as fit "
            "into the cluster.",
        ),
    ] = "auto",
    executor: Annotated[
        str | None,
        typer.Option(
            envvar="ABLATIONS_EXECUTOR",
            help="How trials are carried out: local (worker processes), inline (this process), ray "
            "(a cluster) or a plugin's executor; default the grid's, else local.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Of a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, or local for one of its own."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Move an old run aside and start anew.")
    ] = False,
    fail_fast: Annotated[
        bool,
        typer.Option(
            "--fail-fast", help="Stop at the first trial that fails, crashes or runs out of time."
        ),
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            help="Try trials again that failed, crashed or ran out of time.",
        ),
    ] = True,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show the log on stderr as it is written, tracebacks too."),
    ] = False,
    plugin: PluginOption = None,
) -> Answer:
    """Carry a grid out, resuming what the run directory holds, and write its report.

    Example: python -m ablations run grid.yaml --workers 2
    """
    show_conflicts(context)
    catalog = installed(plugin)
    import ablations
    from ablations.log import FILE as LOG
    from ablations.printable import line
    from ablations.progress import Progress, duration
    from ablations.resuming import by_state
    from ablations.tally import told_reasons

    loaded = ablations.load_grid(grid, catalog)
    directory = out or Path("runs") / loaded.name
    if executor and loaded.executor and executor != loaded.executor.name:
        say(f"--executor {executor} overrides executor {loaded.executor.label} of the grid")
    try:
        with told_to_end(), Progress() as progress:
            summary = ablations.run(
                loaded,
                directory,
                workers=_number_of(workers),
                executor=executor,
                address=address,
                fresh=fresh,
                fail_fast=fail_fast,
                retry_failed=retry_failed,
                verbose=verbose,
                started=progress.started,
                ended=progress.ended,
                told=say,
            )
    except KeyboardInterrupt as stop:
        plugins = [("--plugin", name) for name in plugin or ()]
        options = [("--executor", executor), ("--address", address), *plugins]
        again = "".join(f" {option} {shlex.quote(given)}" for option, given in options if given)
        say(
            f"stopped; what ended is kept. To resume: ablations run {grid} --out {directory}{again}"
        )
        return Answer("", 143 if isinstance(stop, Terminated) else 130)
    if summary.aside:
        say(f"the old run is now {summary.aside}")
    told = [by_state(summary.states) or "nothing to do"]
    if summary.reused:
        told.append(f"{summary.reused} reused")
    if summary.standing.left:
        told.append(f"not tried again: {by_state(summary.standing.left)}")
    say(f"{summary.trials} trials: {', '.join([*told, duration(summary.seconds)])}")
    for reason in told_reasons(summary.reasons):
        say(f"  {reason}")
    if summary.warned:
        n = len(summary.warned)
        first = line(summary.warned[0], MAX_LINE)
        say(f"{n} trial{'s' if n > 1 else ''} warned: {first}; see {directory / LOG}")
    for name, fault in summary.faulty.items():
        say(f"{name}: {line(fault, MAX_LINE)}; its results, if any, are marked in the report")
    for name, reason in sorted(summary.unfollowed.items()):
        say(f"plugin {name} did not follow this run to its end: {reason}")
    return Answer(str(summary.report), 1 if summary.lost else 0)


@answers
def plan(grid: GridArgument, as_json: JsonOption = False, plugin: PluginOption = None) -> Answer:
    """Show what would run: cells, skipped cells and why, parameters, FLOPs, memory, time.

    Nothing is measured and nothing is written.

    Example: python -m ablations plan grid.yaml
    """
    catalog = installed(plugin)
    import ablations

    planned = ablations.plan(ablations.load_grid(grid, catalog))
    return Answer(as_json_pieces(planned.document(Listed)) if as_json else planned.text())


def _number_of(workers: str) -> int | None:
    """Raises: typer.BadParameter for what is no number of workers."""
    if workers == "auto":
        return None
    if not (workers.isascii() and workers.isdecimal() and int(workers) >= 1):
        raise typer.BadParameter(
            f"expected auto or a whole number from 1 on, not {workers!r}", param_hint="--workers"
        )
    return int(workers)
