"""What was seen of the blocks of a run, as rows of a frame."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ablations.blocks import NOT_YET, View, block_rows, from_document
from ablations.storage.rows import read_document

VIEWS = "views"
"""The key of `meta` that holds what was seen, by a viewing's key."""


def read_views(connection: sqlite3.Connection) -> dict[str, View]:
    """What was seen of blocks, of whatever grid, by the keys of their viewings."""
    return {key: from_document(seen) for key, seen in read_document(connection, VIEWS).items()}


def seen_rows(
    blocks: Iterable[Mapping[str, Any]], views: Mapping[str, View]
) -> Iterator[Mapping[str, Any]]:
    """The rows of `reports.frames.Frames.blocks`; of an older run they are kept as they are."""
    for row in blocks:
        if "viewing" in row:
            yield from block_rows(row["block"], views.get(row["viewing"], NOT_YET))
        else:
            yield row
