"""What the extra `ray` brings: Ray, and what its client speaks with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from registry.errors import MissingExtra, describe


@contextlib.contextmanager
def of_the_extra() -> Iterator[None]:
    """Import what may not be installed. Raises: MissingExtra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            f"executor 'ray' needs Ray, which does not load ({describe(error)}): "
            "python -m pip install 'ablations[ray]'"
        ) from error
