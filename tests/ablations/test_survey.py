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
    taken = [
        (max(e.least_bytes.values()), 2 * e.flops / 1e9 + (e.parameters or 0) / 1e6)
        for e in planned.running
        if e.flops
    ]
    assert seen.seconds(seen.largest) == sum(seconds for _, seconds in taken)
    limit = min(needed for needed, _ in taken)
    some = [seconds for needed, seconds in taken if needed <= limit]
    assert 0 < len(some) < len(taken)
    assert seen.seconds(limit) == sum(some)
    assert seen.seconds(limit - 1) == 0
    assert seen.fitting(limit) == len(seen.running) - len(taken) + len(some)


def test_cells_are_found_by_the_memory_that_they_need(planned: ablations.Plan) -> None:
    needed = [max(entry.least_bytes.values(), default=0) for entry in planned.running]
    for least in (1, needed[0], needed[0] + 1, max(needed), max(needed) + 1):
        found = planned.survey.at_least(least)
        assert found == [n for n, held in enumerate(needed) if held >= least]
