"""Faults on their way from who meets them to who tells them."""

from __future__ import annotations

from ablations.grids.document import Fault
from ablations.grids.faults import Faults, Faulty


def refuse() -> int:
    raise Faulty([Fault(("eps",), "is odd", on_key=True), Fault((), "is whole")])


def test_faults_of_a_value_are_noted_where_it_stands() -> None:
    faults = Faults([Fault(("name",), "first")])
    assert faults.attempt(("model", "depth"), lambda: 3) == 3
    assert faults.attempt(("model", "norm"), refuse) is None
    faults.add(("seeds", 0), "last")
    assert faults.found == [
        Fault(("name",), "first"),
        Fault(("model", "norm", "eps"), "is odd", on_key=True),
        Fault(("model", "norm"), "is whole"),
        Fault(("seeds", 0), "last"),
    ]
    assert faults.found[1].inside() == Fault(("norm", "eps"), "is odd", on_key=True)
