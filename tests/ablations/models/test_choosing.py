"""Components as written to a catalog's choices."""

from __future__ import annotations

import pytest

from ablations.grids.faults import Faulty
from ablations.models.choosing import Chooser
from tests.ablations.dummies import parts


def messages(key: str, value: object) -> list[str]:
    with pytest.raises(Faulty) as caught:
        Chooser(parts()).components(key, value)
    return [fault.message for fault in caught.value.faults]


def test_a_part_that_breaks_its_contract_is_a_fault() -> None:
    home = "tests.ablations.dummies"
    assert messages("norm", "unannotated") == [
        f"option 'size' of {home}.Unannotated has no annotation"
    ]
    assert messages("norm", "absent") == [
        "nowhere.at_all:Norm cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"
    ]
    assert messages("norm", "odd") == [
        f"option 'kind' of {home}.Odd must be anything, but its default is <class 'object'>"
    ]
