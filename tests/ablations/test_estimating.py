"""Cells estimated: measures are made and asked once for what they look at."""

from __future__ import annotations

from typing import Any

import pytest

from ablations import estimating
from ablations.design import cells
from ablations.estimating import Estimator, PlannedCell
from ablations.measures.gradient_flow import GradientFlow
from ablations.measures.of_a_pass import OfAPass
from registry import Incompatible, MissingExtra
from tests.ablations.test_engine import grid

FACTORS = {
    "gradient_flow.length": [8, 12, 16],
    "context": [8, 16],
    "norm": ["layernorm", "rmsnorm"],
}


def estimated() -> list[PlannedCell]:
    asked = grid(factors=FACTORS, measures=["gradient_flow"])
    estimator = Estimator(asked.dtype)
    return [estimator.planned(cell) for cell in cells(asked, asked.catalog)]


def test_a_measure_is_asked_once_for_all_that_it_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = OfAPass.unsupported, []

    def unsupported(self: Any, architecture: Any) -> str | None:
        reason = real(self, architecture)
        asked.append((self.options.length, reason))
        return reason

    monkeypatch.setattr(OfAPass, "unsupported", unsupported)
    reasons = [entry.cell.skipped for entry in estimated()]
    over = "measure 'gradient_flow': length {} is over the context 8".format
    assert reasons == [None] * 4 + [over(12)] * 2 + [None] * 2 + [over(16)] * 2 + [None] * 2
    # The first cell, and then once for each context that it is told apart by.
    assert len(asked) == 3 * 3


def test_few_measures_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = estimated()
    monkeypatch.setattr(estimating, "MOST", 1)
    assert [entry.least_bytes for entry in estimated()] == [entry.least_bytes for entry in before]


@pytest.mark.parametrize(
    ("error", "skipped"),
    [(Incompatible("never"), "never"), (RuntimeError("broken"), None), (SystemExit(3), None)],
)
def test_a_measure_that_cannot_be_made_skips_its_cells_or_fails_in_their_trials(
    error: BaseException, skipped: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any, **options: Any) -> None:
        raise error

    asked = grid(measures=["gradient_flow"])
    monkeypatch.setattr(GradientFlow, "__init__", broken)
    estimator = Estimator(asked.dtype)
    for cell in cells(asked, asked.catalog):
        entry = estimator.planned(cell)
        assert (entry.cell.skipped, entry.parameters, entry.flops) == (skipped, None, None)


def test_a_missing_extra_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Any, architecture: Any) -> None:
        raise MissingExtra("ablations[text] is not installed")

    monkeypatch.setattr(OfAPass, "unsupported", missing)
    with pytest.raises(MissingExtra):
        estimated()
