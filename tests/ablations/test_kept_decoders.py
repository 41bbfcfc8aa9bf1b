"""A decoder that served a trial before serves another: not a bit of a result tells."""

import pytest
import torch

from ablations.executors.caches import release_caches
from ablations.initialization import initialized_decoder, slices
from ablations.kept_decoders import Built, KeptDecoders, decoders_of_process
from ablations.trial import PlannedMeasure, Trial, measure_trial
from ablations.weight_bank import VARIABLE, WeightBank
from registry import discover
from registry.spec import Choice
from tests.ablations.decoders import small

PASSES = ("gradient_flow", "signal_propagation", "attention_map")
MODELS = [
    {},
    {"norm": "rmsnorm", "activation": "swiglu", "position": "rope", "bias": False},
    {"position": "sinusoidal", "placement": "deepnorm", "residual": "gated"},
    {"position": "alibi", "tie_embeddings": True, "initializer": "xavier"},
    {"position": "none", "placement": "sandwich", "share_layers": 3},
    {"placement": "parallel", "attention": {"mha": {"qk_norm": "per_head"}}, "embedding_dim": 16},
    {"dropout": {"attention": 0.5, "residual": 0.5}, "residual": {"scaled": {"per_channel": True}}},
]


@pytest.fixture(autouse=True)
def _none_kept():
    release_caches()
    yield
    release_caches()


def measures(*names):
    specs = [discover().measure(name) for name in names]
    return tuple(
        PlannedMeasure(
            choice=Choice(name=spec.name, target=spec.target, options={}),
            identity=spec.name,
            declared=spec.declared,
        )
        for spec in specs
    )


def asked(seed, *, cell="c", dtype="float32", of=PASSES, **model):
    return Trial(
        cell=cell, seed=seed, architecture=small(**model), measures=measures(*of), dtype=dtype
    )


def results(trial):
    found = measure_trial(trial).measures
    assert {measured.state for measured in found} == {"done"}, [m.message for m in found]
    return [(m.metrics, m.profiles, m.arrays, m.marks) for m in found]


def built(**model):
    decoder = initialized_decoder(small(**model), 0)
    return Built(decoder=decoder, pieces=tuple(slices(decoder)))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_results_are_the_same_whichever_trials_went_before(model):
    alone = []
    for seed in (0, 1):
        release_caches()
        alone.append(results(asked(seed, **model)))
    release_caches()
    for other in (5, 1, 0):
        results(asked(other, **model))
    decoder = decoders_of_process().take("c", small(**model))
    assert decoder is not None
    decoders_of_process().put("c", decoder)
    assert [results(asked(seed, **model)) for seed in (0, 1)] == alone


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_nothing_that_a_constructor_of_ours_sets_depends_on_the_seed(model):
    """But for what the initializer fills and what `calibrate` sets, which are set anew."""
    one, other = (initialized_decoder(small(**model), seed) for seed in (0, 1))
    theirs = {piece.info.path: piece for piece in slices(other)}
    for piece in slices(one):
        if not piece.initialized:
            assert torch.equal(piece.parameter, theirs[piece.info.path].parameter)
    for (name, value), (_, its) in zip(one.named_buffers(), other.named_buffers(), strict=True):
        assert name.endswith("amplitude") or torch.equal(value, its), name


def test_a_decoder_is_lent_to_one_at_a_time():
    kept = KeptDecoders(2)
    kept.put("c", built())
    assert kept.take("other", small()) is None
    assert kept.take("c", small()) is not None
    assert kept.take("c", small()) is None


def test_a_cell_of_another_grid_may_have_the_same_name():
    kept = KeptDecoders(2)
    kept.put("c", built())
    assert kept.take("c", small(norm="rmsnorm")) is None


def test_of_more_than_have_room_those_that_came_first_stay():
    kept = KeptDecoders(2)
    for cell in ("a", "b", "c", "a"):
        kept.put(cell, built())
    assert [kept.take(cell, small()) is not None for cell in "abc"] == [True, True, False]


def test_a_kept_decoder_holds_no_drawn_weights():
    kept = KeptDecoders(1)
    given = built()
    kept.put("c", given)
    held = sum(p.untyped_storage().nbytes() for p in given.decoder.parameters())
    assert held < 0.1 * sum(p.nbytes for p in given.decoder.parameters())


@pytest.mark.parametrize(
    "model", [{"norm": "drawing"}, {"initializer": "slow_queries"}, {"feed_forward": "heads"}]
)
def test_a_strangers_parts_serve_one_trial_alone(model):
    kept = KeptDecoders(1)
    kept.put("c", built(**model))
    assert kept.take("c", small(**model)) is None


class Spoiling:
    """A stranger's measure that changes what it is lent."""

    def measure(self, context):
        from ablations.trial import Measurement

        with torch.no_grad():
            for parameter in context.decoder().parameters():
                parameter.add_(1.0)
        return Measurement()


def test_what_a_strangers_measure_spoils_serves_no_other_trial():
    before = results(asked(0))
    spoils = PlannedMeasure(
        choice=Choice(name="spoiling", target=f"{__name__}:Spoiling", options={}),
        identity="s",
        declared=frozenset(),
    )
    (spoilt,) = measure_trial(
        Trial(cell="c", seed=0, architecture=small(), measures=(spoils,))
    ).measures
    assert spoilt.state == "done"
    assert results(asked(0)) == before


@pytest.mark.parametrize("reason", ["dtype", "no bank"])
def test_none_is_kept_where_it_could_differ(reason, monkeypatch):
    if reason == "no bank":
        monkeypatch.setenv(VARIABLE, "0")
    results(asked(0, dtype="float64" if reason == "dtype" else "float32"))
    assert decoders_of_process().take("c", small()) is None


def test_weights_too_large_for_the_bank_are_drawn_into_memory_of_their_own(monkeypatch):
    whole = [results(asked(seed)) for seed in (0, 1)]
    release_caches()
    bank = WeightBank(1 << 12)
    monkeypatch.setattr("ablations.trial.bank_of_process", lambda: bank)
    for seed in (0, 1, 0, 1):
        assert results(asked(seed)) == whole[seed]
    assert decoders_of_process().take("c", small()) is not None
