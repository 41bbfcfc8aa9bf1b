"""The command line. Commands import what they need when they run, so that --help is instant."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ablations.answers import say, status_of, told
from ablations.commands import beginning, checking, listing, reporting, running
from ablations.variables import unknown_variables
from registry.errors import RegistryError

app = typer.Typer(
    name="ablations",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
new = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Write a working start.")
app.add_typer(new, name="new")

for command in (
    running.run,
    running.plan,
    reporting.report,
    reporting.compare,
    reporting.serve,
    listing.components,
    listing.plugins,
    checking.check,
    checking.recipes,
    listing.schema,
):
    app.command()(command)
new.command("grid")(beginning.new_grid)
new.command("plugin")(beginning.new_plugin)


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
        say(_told_of_arguments(error))
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
        say(told(error))
    return int(status or 0)


def _told_of_arguments(error: typer._click.exceptions.ClickException) -> str:
    """What is wrong with the arguments, in a line that names the help; the help where none came."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None or isinstance(error, typer._click.exceptions.NoArgsIsHelpError):
        return message
    return f"{message.removesuffix('.')} (see {context.command_path} --help)"
