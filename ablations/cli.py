"""The commands. Each imports what it needs when it runs, so that --help is instant."""

from __future__ import annotations

import os
import shlex
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ablations.answers import (
    Answer,
    Listed,
    NotInstalled,
    answers,
    as_json_pieces,
    as_json_text,
    say,
    show_conflicts,
    status_of,
)
from ablations.ending import Terminated, told_to_end
from ablations.variables import unknown_variables
from registry.errors import RegistryError
from registry.spec import Kind

if TYPE_CHECKING:
    from registry.catalog import Catalog

MAX_LINE = 300
"""Characters of a line about a component's faults; the report has them whole."""

app = typer.Typer(
    name="ablations",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
new = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Write a working start.")
app.add_typer(new, name="new")


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


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"ablations {version('ablations')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Combine transformer parts in every way a grid asks for, measure them, and report.

    The report says which factor matters, by how much, and how sure that is.

    Example: python -m ablations new grid && python -m ablations run grid.yaml
    """


def _number_of(workers: str) -> int | None:
    """Raises: typer.BadParameter for what is no number of workers."""
    if workers == "auto":
        return None
    if not workers.isdecimal() or int(workers) < 1:
        raise typer.BadParameter(
            f"expected auto or a whole number from 1 on, not {workers!r}", param_hint="--workers"
        )
    return int(workers)


@app.command()
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
    catalog = _installed(plugin)
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
        again = "".join(f" --plugin {shlex.quote(name)}" for name in plugin or ())
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
        say(f"{name}: {fault}; its trials are marked in the report"[:MAX_LINE])
    for name, reason in sorted(summary.unfollowed.items()):
        say(f"plugin {name} did not follow this run to its end: {reason}")
    return Answer(str(summary.report), 1 if summary.lost else 0)


@app.command()
@answers
def plan(grid: GridArgument, as_json: JsonOption = False, plugin: PluginOption = None) -> Answer:
    """Show what would run: cells, skipped cells and why, parameters, FLOPs, memory, time.

    Nothing is measured and nothing is written.

    Example: python -m ablations plan grid.yaml
    """
    catalog = _installed(plugin)
    import ablations

    planned = ablations.plan(ablations.load_grid(grid, catalog))
    return Answer(as_json_pieces(planned.document(Listed)) if as_json else planned.text())


@app.command()
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


@app.command()
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


@app.command()
@answers
def serve(
    directory: DirectoryArgument,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free one.")
    ] = 8000,
) -> Answer:
    """Show a run live in a browser of this machine, also while it goes on; Ctrl-C ends it.

    Reads alone, answers on 127.0.0.1 alone, and makes the report again as results come in.

    Example: python -m ablations serve runs/norm-placement
    """
    from ablations.serving import Server

    try:
        with told_to_end(), Server(directory, port) as server:
            say(f"{directory} is shown on {server.address} until Ctrl-C")
            server.serve_forever()
    except KeyboardInterrupt as stop:
        return Answer("", 143 if isinstance(stop, Terminated) else 130)
    return Answer("")


@app.command()
@answers
def components(as_json: JsonOption = False, plugin: PluginOption = None) -> Answer:
    """List what is registered: kind, name, options, and the plugin that brings it.

    Measures come last, with their cost, needs and metrics; --json lists components alone.

    Example: python -m ablations components
    """
    from ablations.listings import component_documents, component_text, measure_text
    from registry.discovery import discover

    catalog = discover(plugins=plugin or ())
    documents = component_documents(catalog)
    if as_json:
        return Answer(as_json_text(documents))
    return Answer(f"{component_text(documents)}\n\n{measure_text(catalog)}")


@app.command()
@answers
def plugins(as_json: JsonOption = False, plugin: PluginOption = None) -> Answer:
    """List the plugins found, what each registers, and why one did not load.

    ABLATIONS_PLUGINS=name,name loads these alone beside the built-ins, ABLATIONS_NO_PLUGINS=1
    none. What they leave out is listed too, with --json on standard error.

    Example: python -m ablations plugins
    """
    from ablations.listings import left_out_lines, plugin_documents, plugin_text
    from registry.discovery import discover

    catalog = discover(plugins=plugin or ())
    if not as_json:
        return Answer(plugin_text(catalog))
    for line in left_out_lines(catalog):
        say(line)
    return Answer(as_json_text(plugin_documents(catalog)))


@app.command()
@answers
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Components; all of them without names."),
    ] = None,
    as_json: JsonOption = False,
    plugin: PluginOption = None,
) -> Answer:
    """Hold components to the contracts of their kinds: shapes, causality, gradients and more.

    Prints how many checks ran and what is not as it must be; exit status 1 if anything is not.

    Example: python -m ablations check rmsnorm mha
    """
    catalog = _installed(plugin)
    from ablations.checking import check, chosen, summary
    from ablations.machine import usable_cores

    checked = check(chosen(catalog, names or ()), workers=usable_cores())
    status = 0 if all(one.passed for one in checked) else 1
    if as_json:
        return Answer(as_json_text([one.document for one in checked]), status)
    return Answer("\n".join([*(one.text for one in checked), summary(checked)]), status)


@app.command()
@answers
def recipes(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Recipes; all of them without names."),
    ] = None,
    as_json: JsonOption = False,
) -> Answer:
    """Assemble published models without weights and compare their parameter counts.

    A grid starts from one with `recipe: NAME`. Exit status 1 if a count is not as published.

    Example: python -m ablations recipes llama-3-8b gpt2
    """
    from ablations.recipes.recipe import read_recipe, recipe_names

    asked = [read_recipe(name) for name in dict.fromkeys(names or recipe_names())]
    catalog = _installed(None)
    from ablations.recipes.counting import count_recipe, summary

    counted = [count_recipe(recipe, catalog) for recipe in asked]
    status = 1 if any(one.differing for one in counted) else 0
    if as_json:
        return Answer(as_json_text([one.document for one in counted]), status)
    return Answer("\n".join([*(one.text for one in counted), summary(counted)]), status)


@app.command()
@answers
def schema() -> Answer:
    """Print the JSON Schema of grid.yaml, for editors that check and complete it.

    Example: python -m ablations schema > grid.schema.json
    """
    from ablations.grids.schema import json_schema

    return Answer(as_json_text(json_schema()))


@new.command("grid")
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


@new.command("plugin")
@answers
def new_plugin(
    name: Annotated[
        str, typer.Argument(help="Of the package: letters, digits, hyphens and underscores.")
    ],
    kind: Annotated[Kind, typer.Option(help="What its component is.")] = Kind.NORM,
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

    built_in = discover(environment={"ABLATIONS_NO_PLUGINS": "1"})
    try:
        folder = write_plugin(name, kind, out, built_in)
    except CannotBegin as reason:
        say(str(reason))
        return Answer("", 2)
    say(f"next: cd {folder} && python -m pip install -e . && ablations run grid.yaml")
    return Answer(str(folder))


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit status, every error told in a line on stderr."""
    unknown = unknown_variables(os.environ)
    if unknown:
        say("\n".join(unknown))
        return 2
    command = typer.main.get_command(app)
    try:
        status = command.main(arguments, prog_name="ablations", standalone_mode=False)
    except typer._click.exceptions.ClickException as error:
        told = StringIO()
        error.show(told)
        say(told.getvalue().rstrip("\n"))
        return error.exit_code
    except RegistryError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        status = status_of(error)
        if status is None:
            raise
        say(str(error))
    return int(status or 0)


def _installed(plugins: list[str] | None) -> Catalog:
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
