"""The formats that a report is asked for in, read from one word of the command line."""

from __future__ import annotations

from importlib.util import find_spec

from registry.errors import MissingExtra, UnknownName, nearest
from reports.formats import FORMATS


def asked_formats(text: str) -> tuple[str, ...]:
    """Formats separated by commas, each once, in the order of `reports.formats.FORMATS`.

    Raises: UnknownName for one that there is not; MissingExtra for parquet without pyarrow.
    """
    asked = [name.strip() for name in text.split(",")]
    for name in asked:
        if name not in FORMATS:
            raise UnknownName(f"--format: there is no {name!r}; {nearest(name, FORMATS)}")
    if "parquet" in asked and find_spec("pyarrow") is None:
        raise MissingExtra(
            "--format parquet needs the package pyarrow: "
            "python -m pip install 'ablations[parquet]', or leave it out; nothing is written"
        )
    return tuple(name for name in FORMATS if name in asked)
