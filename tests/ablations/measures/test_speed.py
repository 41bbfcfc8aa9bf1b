"""Ratios of times: in turn, in one process, against the baseline."""

import gc
import statistics
import time

import pytest
import torch

import ablations
from ablations.declared.speed import SPEED
from ablations.measures import speed
from ablations.measures.speed import Speed, figures
from ablations.trial import NotApplicable, Trial, TrialContext
from tests.ablations.decoders import small


def measured(options=None, baseline=None, **model):
    trial = Trial(
        cell="c",
        seed=0,
        architecture=small(**model),
        measures=(),
        baseline=small(**baseline or {}),
    )
    return Speed(**({"repeats": 5, "warmup": 1} | (options or {}))).measure(TrialContext(trial))


def test_it_returns_what_it_declares():
    found = measured()
    assert found.metrics.keys() == {metric.name for metric in SPEED.metrics}
    assert all(value > 0 for value in found.metrics.values())
    compared = {metric.name for metric in SPEED.metrics if metric.compared}
    assert compared == {"forward_ratio", "backward_ratio", "decode_ratio"}
    for metric in SPEED.metrics:
        changes = "changes from run to run" in metric.convention
        assert changes == metric.compared, "what is compared says that it is no exact figure"


def test_the_figures_are_the_quartiles_of_ratios_round_by_round():
    # Load that slows both of a round leaves its ratio: seconds are 1, 2, 30 and so on.
    load = [1.0, 2.0, 30.0, 4.0, 500.0]
    ratios = [1.5, 2.5, 2.0, 1.0, 3.0]
    rounds = [({"a": r * s}, {"a": s}) for r, s in zip(ratios, load, strict=True)]
    found = figures(rounds)
    assert found["a_ratio"] == pytest.approx(2.0)
    assert found["a_spread"] == pytest.approx(2.5 - 1.5)
    assert found["a_seconds"] == statistics.median(r * s for r, s in zip(ratios, load, strict=True))


def test_both_are_timed_in_turn_and_warm_up_does_not_count():
    calls = []

    def timed(name):
        def run():
            assert not gc.isenabled()
            calls.append(name)
            return {"x": float(len(calls))}

        return run

    rounds = Speed(repeats=5, warmup=2)._in_turn(timed("cell"), timed("baseline"))
    assert calls == ["cell", "baseline", "baseline", "cell"] * 3 + ["cell", "baseline"]
    assert len(rounds) == 5
    assert rounds[0] == ({"x": 5.0}, {"x": 6.0})
    assert rounds[1] == ({"x": 8.0}, {"x": 7.0})
    assert gc.isenabled()


def test_a_deeper_decoder_takes_longer():
    found = measured({"repeats": 9}, depth=12).metrics
    for name in ("forward_ratio", "backward_ratio", "decode_ratio"):
        assert 1.5 < found[name] < 10, name
    found = measured({"repeats": 9}, baseline={"depth": 12}).metrics
    for name in ("forward_ratio", "backward_ratio", "decode_ratio"):
        assert 0.1 < found[name] < 0.7, name


@pytest.mark.parametrize(
    ("model", "baseline"), [({"attention": "mean"}, {}), ({}, {"attention": "mean"})]
)
def test_without_a_cache_nothing_is_told_of_decoding(model, baseline):
    found = measured(baseline=baseline, **model).metrics
    assert {name.partition("_")[0] for name in found} == {"forward", "backward"}


def seen(monkeypatch, options=None, baseline=None, **model):
    """Calls of the two decoders: shape of the tokens, what the caches held, and the mode."""
    calls = []
    real = ablations.Decoder.forward

    def forward(self, tokens, *, caches=None):
        held = caches[0].length if caches else None
        mode = (self.training, torch.is_inference_mode_enabled())
        calls.append((self.architecture.depth, tuple(tokens.shape), held, mode))
        return real(self, tokens, caches=caches)

    monkeypatch.setattr(ablations.Decoder, "forward", forward)
    measured(options, baseline, **model)
    return calls


def test_what_is_timed_is_a_step_and_one_token_behind_a_full_cache(monkeypatch):
    calls = seen(monkeypatch, {"batch": 3}, {"depth": 1}, depth=2)
    steps = [call for call in calls if call[3] == (True, False)]
    assert {call[1] for call in steps} == {(3, 16)}
    assert [call[0] for call in steps] == [2, 1, 1, 2] * 3
    decoded = [call for call in calls if call[3] == (False, True)]
    filled = [call for call in decoded if call[2] == 0]
    assert filled == [(depth, (3, 15), 0, (False, True)) for depth in (2, 1)]
    tokens = [call for call in decoded if call[2] != 0]
    assert {call[1:3] for call in tokens} == {((3, 1), 15)}
    assert [call[0] for call in tokens] == [2, 1, 1, 2] * 3
    assert len(steps) + len(decoded) == len(calls)


@pytest.mark.parametrize(
    ("options", "contexts", "length"),
    [
        ({}, (16, 32), 16),
        ({}, (32, 16), 16),
        ({"length": 8}, (32, 16), 8),
        ({"length": 24}, (32, 16), 16),
        ({"length": 1}, (16, 16), 1),
    ],
)
def test_no_decoder_is_fed_more_than_its_context(monkeypatch, options, contexts, length):
    own, baseline = contexts
    calls = seen(monkeypatch, options, {"context": baseline, "vocab_size": 5}, context=own)
    assert {call[1] for call in calls if call[3][0]} == {(2, length)}


def test_a_length_over_the_context_is_refused_before_anything_runs():
    assert Speed(length=17).unsupported(small()) == "length 17 is over the context 16"
    assert Speed(length=16).unsupported(small()) is None


def test_a_baseline_that_cannot_be_built_is_not_applicable():
    with pytest.raises(
        NotApplicable,
        match=r"^the baseline cell cannot be built: n_kv_heads must divide n_heads: got 3 and 4$",
    ):
        measured(baseline={"attention": {"gqa": {"n_kv_heads": 3}}})


def test_one_thread_is_timed_by_what_it_computes(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    started = speed._now()
    time.sleep(0.05)
    assert speed._now() - started < 0.04
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    started = speed._now()
    time.sleep(0.05)
    assert speed._now() - started >= 0.05


@pytest.mark.slow
def test_fused_and_separate_projections_are_a_factor(tmp_path):
    grid = ablations.load_grid(
        {
            "name": "projections",
            "model": {"depth": 1, "d_model": 32, "context": 16, "vocab_size": 64},
            "factors": {"attention.qkv": ["fused", "separate"]},
            "baseline": {"attention.qkv": "fused"},
            "seeds": 2,
            "measures": [{"speed": {"repeats": 5, "warmup": 1}}],
        }
    )
    summary = ablations.run(grid, tmp_path, executor="inline")
    assert summary.states == {"done": 4}
    frames = ablations.open_run(tmp_path).frames()
    info = frames.metric_info.set_index("metric")
    assert not info["exact"].any()
    assert info.loc["speed.forward_ratio", "compared"]
    assert not info.loc["speed.forward_seconds", "compared"]
    assert (frames.metrics.groupby("metric")["value"].count() == 4).all()
