"""The data of a figure, which a reader can take along with it."""

import re
from base64 import b64encode
from dataclasses import dataclass

import pandas as pd

from reports.csv_text import csv_text

MAX_BYTES = 16_384
"""Of the data of one figure; a page has dozens of them, and shall stay small enough to be sent."""


@dataclass(frozen=True, kw_only=True)
class FigureData:
    """What is drawn, as numbers.

    Attributes:
        name: What the files are called, without their endings.
        csv: The data as a ``data:`` URI, or ``""`` where they are too many.
        note: Where they are then.
    """

    name: str
    csv: str
    note: str


def figure_data(name: str, whole: str, table: pd.DataFrame | None = None) -> FigureData:
    """The data to offer beside a figure.

    Args:
        name: What it shows; made a file's name.
        whole: Where a reader finds what it was drawn from, such as ``tables/profiles.csv``.
        table: What is drawn; None where that is an array and no table.
    """
    text = "" if table is None else csv_text(table)
    small = 0 < len(text.encode("utf-8", errors="backslashreplace")) <= MAX_BYTES
    return FigureData(
        name=file_name(name),
        csv=data_uri(text) if small else "",
        note="" if small else f"What is drawn is from {whole}.",
    )


def data_uri(text: str) -> str:
    """A CSV file in a link."""
    encoded = b64encode(text.encode("utf-8", errors="backslashreplace")).decode("ascii")
    return f"data:text/csv;base64,{encoded}"


def file_name(text: str) -> str:
    """A name that any file system takes, of letters, digits, ``_``, ``.`` and ``-`` alone.

    >>> file_name("effects on gradient_flow.embedding"), file_name("../中文")
    ('effects-on-gradient_flow.embedding', 'figure')
    """
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")[:80] or "figure"
