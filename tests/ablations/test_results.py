"""What a worker sends back."""

from __future__ import annotations

from typing import Any

import pytest

from ablations.results import ProfileValues


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"positions": (0,), "values": (1.0, 2.0)},
            "a profile has as many positions (and steps, if any) as values, not 1 (and 0) for 2",
        ),
        (
            {"positions": (0, 1), "values": (1.0, 2.0), "steps": (0,)},
            "a profile has as many positions (and steps, if any) as values, not 2 (and 1) for 2",
        ),
        (
            {"positions": (0, 0), "values": (1.0, 2.0), "steps": (4, 4)},
            "a profile has one value at each position (and step, if any)",
        ),
    ],
)
def test_a_profile_with_holes_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^a profile has") as error:
        ProfileValues(axis="depth", **fields)
    assert str(error.value) == message
