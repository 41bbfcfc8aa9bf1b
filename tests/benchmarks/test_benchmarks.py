"""The contenders do the same work, and the table tells ratios within a round."""

import json

import pytest
import torch

from tests.benchmarks.__main__ import FIGURES, PAGE, PARTS, written
from tests.benchmarks.contenders import rounds, table
from tests.benchmarks.peers import Size, norms, peers
from tests.benchmarks.tables import shown

# A peer's own deprecations are not ours.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

SMALL = Size(d_model=128, depth=2, tokens=8)


def test_the_contenders_have_equally_many_weights(monkeypatch):
    counts = {}

    def counted(model, size, seed):
        counts[len(counts)] = sum(p.numel() for p in model.parameters())
        return norms(model, size, seed)

    monkeypatch.setattr("tests.benchmarks.peers.norms", counted)
    names = [name for name, trial in peers(SMALL) if trial(0) is not None]
    assert "transformers" in names
    # x-transformers cannot leave out the biases of a gated projection.
    assert max(counts.values()) < 1.01 * min(counts.values())


def test_two_trials_of_a_seed_are_alike():
    for name, trial in peers(SMALL):
        if trial(3) is not None:
            first, second = trial(3), trial(3)
            assert all(map(torch.equal, first, second)), name


@pytest.mark.slow
def test_every_ratio_is_of_one_round():
    found = rounds(SMALL, 2, 1, 1, few=True)
    rows = {row["contender"]: row for row in table(SMALL, found)}
    own = rows["ablations"]
    assert own["ablations over it"] == own["highest"] == 1
    bare = sorted(own / other for own, other in zip(found["ablations"], found["bare"], strict=True))
    assert (rows["bare"]["lowest"], rows["bare"]["highest"]) == (bare[0], bare[1])
    assert shown(list(rows.values())).count("\n") == len(rows) + 1


def test_the_page_shows_the_figures_that_are_kept():
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert figures.keys() == PARTS.keys()
    assert written(figures, page) == page


def test_a_page_without_its_marks_is_told():
    with pytest.raises(SystemExit, match=r"speed.md has lost the marks around its table of start"):
        written({"start": {"date": "", "environment": {}, "rows": []}}, "no marks")
