"""What a plan keeps of its cells: what they come to together, and where the others lie."""

from __future__ import annotations

import pytest

import ablations
from ablations import survey
from ablations.survey import Survey
from tests.ablations.test_engine import grid, strange_catalog


@pytest.fixture
def planned() -> ablations.Plan:
    catalog = strange_catalog()
    asked = grid(
        catalog,
        factors={"norm": ["layernorm", "breaking", "even"], "d_model": [32, 36]},
    )
    return ablations.plan(asked, catalog=catalog)


def test_what_cells_come_to_is_summed_in_their_order(
    planned: ablations.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "rates", lambda: (1e9, 1e6))
    seen = Survey(planned.cells)
    labels = [cell.label for cell in seen.cells()]
    assert labels == [entry.cell.label for entry in planned.cells]
    assert list(seen.running) == [0, 1, 2, 3, 4]
    reason = "norm 'even': d_model must divide by 8, not 36"
    assert list(seen.skipped()) == [(5, reason)]
    counts = [e.parameters for e in planned.running if e.parameters is not None]
    assert (seen.least, seen.most, seen.counted) == (min(counts), max(counts), 3)
    assert seen.flops == sum(entry.flops or 0.0 for entry in planned.running)
    assert seen.seconds == sum(
        2 * entry.flops / 1e9 + (entry.parameters or 0) / 1e6
        for entry in planned.running
        if entry.flops
    )


def test_cells_are_found_by_the_memory_that_they_need(planned: ablations.Plan) -> None:
    needed = [max(entry.least_bytes.values(), default=0) for entry in planned.running]
    for least in (1, needed[0], needed[0] + 1, max(needed), max(needed) + 1):
        found = planned.survey.at_least(least)
        assert found == [n for n, held in enumerate(needed) if held >= least]
