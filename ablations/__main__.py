"""`python -m ablations`, and the console script of the same name."""

from __future__ import annotations

import sys

from ablations.shadow import shadowed


def main() -> None:
    """Run the command line, once it is certain that our other packages are ours."""
    findings = shadowed()
    if findings:
        for finding in findings:
            print(finding, file=sys.stderr)
        raise SystemExit(3)
    # A character that the terminal's encoding lacks is spelt out; it ends no command.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    from ablations.cli import run_command_line

    raise SystemExit(run_command_line())


if __name__ == "__main__":
    main()
