"""Initial values shared between cells: the same bits, within bounds, and never a stranger's."""

import pytest
import torch

from ablations.executors.caches import release_caches
from ablations.initialization import initialized_decoder
from ablations.trial import Trial, TrialContext
from ablations.weight_bank import VARIABLE, WeightBank, bank_of_process
from tests.ablations.decoders import small

MODELS = [
    {},
    {"norm": "rmsnorm", "activation": "swiglu", "position": "learned"},
    {"attention": {"gqa": {"n_kv_heads": 2}}, "tie_embeddings": True},
    {"placement": "deepnorm", "initializer": "xavier"},
    {"initializer": "gpt2", "share_layers": 3},
    {"initializer": {"gpt2": {"std": 0.1}}, "bias": False},
    {"feed_forward": "heads", "norm": "drawing"},
    {"initializer": "slow_queries"},
]


def ids(model):
    return str(model) or "defaults"


@pytest.fixture
def bank():
    return WeightBank(1 << 24)


def weights(decoder):
    return {name: parameter.detach() for name, parameter in decoder.named_parameters()}


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_a_bank_that_others_have_filled_changes_no_bit(model, bank):
    for other in MODELS:
        initialized_decoder(small(**other), 0, bank=bank)
    architecture = small(**model)
    with_bank = weights(initialized_decoder(architecture, 0, bank=bank))
    without = weights(initialized_decoder(architecture, 0))
    assert with_bank.keys() == without.keys()
    assert all(torch.equal(with_bank[name], without[name]) for name in without)


def test_cells_share_what_they_draw_alike_and_nothing_else(bank):
    one = initialized_decoder(small(activation="gelu"), 0, bank=bank)
    other = initialized_decoder(small(activation="swiglu"), 0, bank=bank)
    shared = {
        name
        for name, parameter in other.named_parameters()
        if parameter.data_ptr() == dict(one.named_parameters()).get(name, torch.empty(0)).data_ptr()
    }
    assert "blocks.0.attention.qkv.weight" in shared
    assert "head.weight" in shared
    assert not any("feed_forward" in name or "norm" in name for name in shared)
    anew = initialized_decoder(small(activation="gelu"), 1, bank=bank)
    assert not torch.equal(anew.head.weight, one.head.weight)


@pytest.mark.parametrize("model", [{"initializer": "slow_queries"}, {"feed_forward": "heads"}])
def test_what_strangers_draw_or_hold_is_not_shared(model, bank):
    architecture = small(**model)
    one, other = (initialized_decoder(architecture, 0, bank=bank) for _ in range(2))
    of_other = dict(other.named_parameters())
    for name, parameter in one.named_parameters():
        if "initializer" in model or "feed_forward" in name:
            assert parameter.data_ptr() != of_other[name].data_ptr()


def test_what_a_stranger_holds_around_ours_is_not_shared(bank):
    """It may change it, as one does that normalizes weights."""
    architecture = small(placement="twice")
    one, other = (initialized_decoder(architecture, 0, bank=bank) for _ in range(2))
    of_other = dict(other.named_parameters())
    shared = {n for n, p in one.named_parameters() if p.data_ptr() == of_other[n].data_ptr()}
    assert shared == {"token_embedding.weight", "positions.0.table", "head.weight"}


def test_a_measures_own_decoder_is_its_own():
    trial = Trial(cell="c", seed=0, architecture=small(), measures=())
    before = weights(TrialContext(trial).decoder())
    kept = {name: value.clone() for name, value in before.items()}
    changed = TrialContext(trial).fresh_decoder()
    with torch.no_grad():
        for parameter in changed.parameters():
            parameter.add_(1.0)
    after = weights(TrialContext(trial).decoder())
    assert all(torch.equal(after[name], kept[name]) for name in kept)


def test_what_was_not_asked_for_longest_goes_first():
    bank = WeightBank(3 * 4)
    for name in "abc":
        bank.keep(name, torch.zeros(1))
    assert bank.get("a") is not None
    bank.keep("d", torch.zeros(1))
    assert [bank.get(name) is not None for name in "abcd"] == [True, False, True, True]
    assert bank.nbytes == 12
    bank.keep("large", torch.zeros(4))
    assert bank.get("large") is None
    assert bank.nbytes == 12


def test_it_is_given_up_where_memory_is_short():
    kept = bank_of_process()
    initialized_decoder(small(), 0, bank=kept)
    assert kept.nbytes > 0
    release_caches()
    assert bank_of_process().nbytes == 0


def test_the_environment_bounds_it(monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    assert bank_of_process().bound == 3 << 20
    monkeypatch.setenv(VARIABLE, "0")
    assert initialized_decoder(small(), 0, bank=bank_of_process()) is not None
    assert bank_of_process().nbytes == 0
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(ValueError, match="whole number of MiB, not 'much'"):
        bank_of_process()
