"""Training a cell: against a loop written out, its states, its marks, and how it is taken up."""

import dataclasses
import math

import pytest
import torch
from torch.nn import functional as F

from ablations.checkpoints import CheckpointFolder
from ablations.declared.training import TRAINING
from ablations.initialization import initialized_decoder
from ablations.measures.training import Training
from ablations.streams import generator_of, seed_process
from ablations.training import loop
from ablations.training.material import Sequences, Source
from ablations.trial import PlannedMeasure, Trial, TrialContext, measure_trial
from registry.spec import Choice
from tests.ablations.decoders import small

SMALL = {"depth": 2, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 256}


def choice(**options):
    return Choice(name="training", target=TRAINING.reference, options=options)


def trial(options, *, folder=None, seed=0, dtype="float32", **model):
    planned = PlannedMeasure(
        choice=choice(**options),
        identity="i",
        declared=TRAINING.declared,
        infinite=TRAINING.infinite,
    )
    return Trial(
        cell="c",
        seed=seed,
        architecture=small(**SMALL | model),
        measures=(planned,),
        dtype=dtype,
        checkpoints=folder and CheckpointFolder(path=folder, key=b"key"),
    )


def trained(*, folder=None, seed=0, dtype="float32", model=None, **options):
    """The result of the measure, of a small model."""
    options = {"steps": 20, "held_out_batches": 2, **options}
    planned = trial(options, folder=folder, seed=seed, dtype=dtype, **model or {})
    (result,) = measure_trial(planned).measures
    assert result.state in ("done", "diverged"), result.traceback
    return result


def figures(result):
    """What a result says, but for the clock."""
    timed = "training.tokens_per_second"
    return (
        {name: value for name, value in result.metrics.items() if name != timed},
        result.profiles,
        result.marks,
    )


def test_it_is_the_loop_that_anybody_would_write():
    result = trained(
        steps=12,
        batch=3,
        learning_rate=3e-3,
        warmup_steps=4,
        schedule="cosine",
        clip_norm=0.5,
        dtype="float64",
        model={"dropout": {"residual": 0.1}},
    )
    model = initialized_decoder(small(**SMALL, dropout={"residual": 0.1}), 0, dtype=torch.float64)
    material = Source().material(length=16, vocab_size=256)
    sequences = Sequences(material, "training", lambda name: generator_of(0, f"data/{name}"))
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.95),
    )
    losses, norms = [], []
    model.train()
    for step in range(12):
        rate = 3e-3 * ((step + 1) / 4 if step < 4 else (1 + math.cos(math.pi * (step - 4) / 8)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        tokens, targets = sequences.take(3 * step, 3)
        seed_process(0, f"process/training/{step}")
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        optimizer.step()
        losses.append(loss.item())
    assert result.profiles["training.loss"].values == pytest.approx(losses, rel=1e-6)
    assert result.profiles["training.gradient_norm"].values == pytest.approx(norms, rel=1e-5)


def test_the_same_trial_gives_the_same_curve_and_another_seed_another():
    first = trained()
    assert figures(first) == figures(trained())
    other = trained(seed=1)
    assert first.profiles["training.loss"] != other.profiles["training.loss"]


def test_every_figure_it_gives_is_declared_and_done():
    result = trained(steps=30, probes=(0, 30), model={"attention": "mha"})
    assert result.state == "done"
    assert result.metrics["training.initial_loss"] == pytest.approx(math.log(256), abs=0.3)
    losses = result.profiles["training.loss"].values
    assert len(losses) == 30
    assert losses[-1] < losses[0]
    assert result.profiles["training.held_out_loss"].steps == (0, 6, 12, 18, 24, 30)
    row = result.profiles["training.sensitivity"]
    assert (row.steps, row.positions) == ((0, 0, 30, 30), (0, 1, 0, 1))
    assert result.metrics["training.tokens_per_second"] > 0


def test_a_small_model_learns_letters_pairs_and_a_frozen_one_stalls():
    learnt = trained(steps=200, learning_rate=1e-2, batch=16)
    assert (learnt.metrics["training.learnt"], learnt.marks) == (1.0, ())
    assert learnt.metrics["training.steps_to_loss"] < 200
    stalled = trained(steps=20, learning_rate=1e-9)
    assert (stalled.metrics["training.stalled"], stalled.marks) == (1.0, ("stalled",))
    assert stalled.state == "done"
    assert stalled.metrics["training.steps_to_loss"] == math.inf


def test_a_diverged_training_says_so_and_keeps_its_curve():
    result = trained(steps=100, learning_rate=1e30, optimizer="sgd")
    assert result.state == "diverged"
    states = [result.metrics[f"training.{name}"] for name in ("learnt", "stalled", "diverged")]
    assert states == [0.0, 0.0, 1.0]
    assert math.isnan(result.metrics["training.final_loss"])
    curve = result.profiles["training.loss"]
    assert 0 < len(curve.values) < 100
    assert all(map(math.isfinite, curve.values))


class Killed(Exception):
    pass


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_killed_training_is_taken_up_to_the_bit(tmp_path, monkeypatch, optimizer):
    options = {
        "steps": 150,
        "optimizer": optimizer,
        "probes": (0, 40, 150),
        "model": {"dropout": {"residual": 0.2}, "placement": "post"},
    }
    whole = trained(**options)
    monkeypatch.setenv("ABLATIONS_CHECKPOINT_SECONDS", "0")
    steps = []
    step = loop.Loop.step

    def counted(self, number):
        steps.append(number)
        if len(steps) == 110:
            raise Killed
        step(self, number)

    monkeypatch.setattr(loop.Loop, "step", counted)
    killed = measure_trial(
        trial(
            {k: v for k, v in options.items() if k != "model"} | {"held_out_batches": 2},
            folder=str(tmp_path),
            **options["model"],
        )
    ).measures[0]
    assert killed.state == "failed"
    assert list(tmp_path.glob("*.safetensors"))
    resumed = trained(folder=str(tmp_path), **options)
    assert figures(resumed) == figures(whole)
    assert steps[:110] == list(range(110))
    assert steps[110:] == list(range(96, 150))  # from the last look before the kill


def test_training_reads_the_weights_that_were_initialized_and_leaves_them():
    context = TrialContext(trial({}))
    before = {name: p.clone() for name, p in context.decoder().named_parameters()}
    Training(steps=5, held_out_batches=1).measure(context)
    assert all(torch.equal(p, before[name]) for name, p in context.decoder().named_parameters())


def test_bfloat16_products_train_float32_weights():
    exact, rough = trained(steps=40), trained(steps=40, dtype="bfloat16")
    losses = [r.profiles["training.loss"].values for r in (exact, rough)]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], abs=0.1)


def test_an_auxiliary_loss_is_minimized_and_not_reported():
    context = TrialContext(trial({}, feed_forward="balancing"))
    measure = Training(steps=200, held_out_batches=1, learning_rate=3e-2)
    fresh = context.fresh_decoder()
    context.fresh_decoder = lambda dtype=None: fresh
    found = measure.measure(context)
    assert [block.feed_forward.scale.item() for block in fresh.blocks] == pytest.approx(
        [3.0, 3.0], abs=0.3
    )
    assert found.metrics["initial_loss"] < 10  # the auxiliary loss alone is 18,000


def test_a_model_that_reads_ahead_is_marked():
    assert trained(steps=2).marks == ("stalled",)
    assert "leaks" in trained(steps=2, model={"attention": "unmasked"}).marks


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"warmup_steps": 151}, "warmup_steps 151 is longer than the training, 150 steps"),
        ({"probes": (0, 200)}, "probes are after steps 0 to 150: got 200"),
        ({"length": 17}, "length 17 is over the context 16"),
        ({"warmup_steps": 150, "probes": (0, 150), "length": 16}, None),
    ],
)
def test_what_cannot_be_trained_is_told_before(options, said):
    assert Training(**options).unsupported(small(**SMALL)) == said


def test_a_text_needs_a_vocabulary_of_bytes():
    architecture = dataclasses.replace(small(**SMALL), vocab_size=100)
    assert Training().unsupported(architecture) == (
        "data 'text' is read byte by byte: vocab_size must be at least 256"
    )


def test_a_report_is_told_what_was_trained_on():
    said = Training(batch=4).convention()
    assert said.startswith("next-token cross-entropy on the built-in text (")
    assert said.endswith("), 4 × context tokens a step, adamw")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's compiler warns of what torch itself still uses
def test_a_compiled_model_trains_alike():
    plain, compiled = trained(steps=10), trained(steps=10, compile=True)
    assert compiled.profiles["training.loss"].values == pytest.approx(
        plain.profiles["training.loss"].values, rel=1e-3
    )
