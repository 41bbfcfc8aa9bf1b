"""Quadruples against a search through all cells."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames
from reports.pairs import baseline_level, pairs
from reports.quadruples import quadruples
from tests.reports.simulated import make_frames

FACTORS = {"norm": ["a", "b", "c"], "size": ["1", "2"], "width": ["x", "y", "z"]}


def run(keep: float = 1.0) -> Frames:
    """A run of the grid, or of a part of its cells; the baseline of width is its second level."""
    frames = make_frames(FACTORS, {"x": np.zeros((18, 2))})
    factors = frames.factors.assign(baseline=frames.factors["level"].isin(["a", "1", "y"]))
    kept = np.random.default_rng(1).random(18) < keep
    cells = frames.cells[kept].reset_index(drop=True)
    trials = frames.trials[frames.trials["cell"].isin(cells["cell"])]
    metrics = frames.metrics[frames.metrics["cell"].isin(cells["cell"])]
    return replace(frames, factors=factors, cells=cells, trials=trials, metrics=metrics)


@pytest.mark.parametrize("keep", [1.0, 0.8, 0.3])
def test_every_quadruple_is_found_in_its_order(keep: float) -> None:
    frames = run(keep)
    cells = frames.cells[list(FACTORS)].to_dict("records")
    found = quadruples(frames)
    assert [tuple(c.names.values()) for c in found] == [
        (f, lv, "a" if f == "norm" else "1", g, lv2, "1" if g == "size" else "y")
        for f, g in (("norm", "size"), ("norm", "width"), ("size", "width"))
        for lv in FACTORS[f] if lv != baseline_level(frames, f)
        for lv2 in FACTORS[g] if lv2 != baseline_level(frames, g)
    ]  # fmt: skip
    total = 0
    for contrast in found:
        n = contrast.names
        expected = []
        for row, cell in enumerate(cells):
            if cell[n["factor"]] == n["level"] and cell[n["factor_2"]] == n["level_2"]:
                members = [
                    cell | {n["factor"]: first, n["factor_2"]: second}
                    for second in (n["level_2"], n["reference_2"])
                    for first in (n["level"], n["reference"])
                ]
                if all(member in cells for member in members):
                    expected.append([row, *(cells.index(m) for m in members[1:])])
        assert contrast.cells.T.tolist() == expected
        total += len(expected)
    assert total == {1.0: 6 + 4 * 2 + 2 * 3, 0.8: total, 0.3: 0}[keep]


def test_pairs_are_two_of_the_four() -> None:
    frames = run()
    main = next(c for c in pairs(frames) if c.names["level"] == "b").cells.T.tolist()
    both = next(c for c in quadruples(frames) if c.names["level"] == "b").cells.T.tolist()
    assert all([first, second] in main and [third, last] in main
               for first, second, third, last in both)  # fmt: skip


@pytest.mark.parametrize("factors", [{}, {"norm": ["a", "b"]}, {"norm": ["a"], "size": ["1", "2"]}])
def test_without_two_factors_that_vary_there_is_none(factors: dict[str, list[str]]) -> None:
    n = int(np.prod([len(levels) for levels in factors.values()]))
    assert quadruples(make_frames(factors, {"x": np.zeros((n, 2))})) == []
