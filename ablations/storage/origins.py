"""What the results of a run come from, as digests."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Origins:
    """Of the grid last run.

    Attributes:
        code: By kind, name and options of a component the key of its examination, which is a digest
            of its source files, of the contracts of its kind and of torch's version; without those
            that have none.
        identities: By cell and measure what its results depend on, as one digest.
    """

    code: Mapping[tuple[str, str, str], str]
    identities: Mapping[tuple[str, str], str]


def read_origins(connection: sqlite3.Connection) -> Origins:
    """Of a run that was begun."""
    (components,) = connection.execute(
        "SELECT value FROM meta WHERE key = 'components'"
    ).fetchone() or ("[]",)
    identities = connection.execute("SELECT cell, measure, identity FROM plan_identities")
    return Origins(
        code={
            (row["kind"], row["name"], row["options"]): row["examination"]
            for row in json.loads(components)
            if row.get("examination")
        },
        identities={(cell, measure): identity for cell, measure, identity in identities},
    )
