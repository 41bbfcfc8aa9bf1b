"""The contenders do the same work, and the table tells ratios within a round."""

import pytest
import torch

from tests.benchmarks.__main__ import rounds, shown, table
from tests.benchmarks.peers import Size, norms, peers

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
    found = rounds(SMALL, 2, 1, 1)
    rows = {row["contender"]: row for row in table(found)}
    assert rows["ablations"]["ratio"] == rows["ablations"]["highest"] == 1
    bare = sorted(own / other for own, other in zip(found["ablations"], found["bare"], strict=True))
    assert (rows["bare"]["lowest"], rows["bare"]["highest"]) == (bare[0], bare[1])
    assert shown(list(rows.values())).count("\n") == len(rows) + 1
