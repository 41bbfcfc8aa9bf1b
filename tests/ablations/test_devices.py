"""Trials on the CPU and on a GPU: the same weights and data, and figures of one device alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

import ablations
from ablations.decoder import build_decoder
from ablations.design import cells
from ablations.devices import NoDevice, gpus, resolved, spelt
from ablations.environment import processor
from ablations.executors.local import Local
from ablations.losses import Loss, probe_loss
from ablations.measures.speed import _Clock
from ablations.trial import Trial, TrialContext
from registry.contracts import Execution
from tests.ablations.executors import work
from tests.gpus import cuda


def grid(**keys: Any) -> ablations.Grid:
    document = {
        "name": "devices",
        "model": {"depth": 2, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 256},
        "factors": {"norm": ["layernorm", "rmsnorm"]},
        "seeds": 1,
        "measures": ["parameters", "gradient_flow"],
        **keys,
    }
    return ablations.load_grid(document)


def context(device: str, dtype: str = "float32") -> TrialContext:
    asked = grid()
    architecture = next(cells(asked, asked.catalog)).architecture
    assert architecture is not None
    trial = Trial(
        cell="a", seed=3, architecture=architecture, measures=(), device=device, dtype=dtype
    )
    return TrialContext(trial)


def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "NVIDIA X")


def test_what_auto_means_depends_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu(monkeypatch)
    assert (resolved("auto"), resolved("cpu")) == ("cpu", "cpu")
    two_gpus(monkeypatch)
    assert [resolved(asked) for asked in ("auto", "cpu", "cuda")] == ["cuda", "cpu", "cuda"]


def test_a_gpu_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_gpu(monkeypatch)
    with pytest.raises(NoDevice) as raised:
        ablations.run(grid(device="cuda"), tmp_path / "run", executor="inline")
    assert str(raised.value) == (
        "device: expected a GPU that torch can use with CUDA, and there is none here; choose cpu "
        "or auto"
    )
    assert not (tmp_path / "run").exists()


def test_figures_of_different_devices_are_different_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processor("cpu")["device"] == spelt("cpu") == "cpu"
    two_gpus(monkeypatch)
    assert processor("cuda")["device"] == "cuda NVIDIA X"


def test_gpus_are_those_that_the_process_may_see(monkeypatch: pytest.MonkeyPatch) -> None:
    two_gpus(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert (gpus("cpu"), gpus("cuda")) == ((), ("0", "1"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-7")
    assert gpus("cuda") == ("5", "GPU-7")


def test_each_worker_sees_one_of_the_gpus() -> None:
    execution = Execution(workers=3, gpus=("5", "7"))
    outcomes = Local().execute([0.3] * 9, work.gpus_and_process, execution)
    seen = {process: visible for visible, process in (o.result for o in outcomes)}
    assert sorted(seen.values()) == ["5", "5", "7"]


def test_without_gpus_the_variable_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    (outcome,) = Local().execute([0.0], work.gpus_and_process, Execution())
    assert outcome.result[0] == os.environ["CUDA_VISIBLE_DEVICES"] == "3"


def test_the_report_says_which_device_made_the_figures(tmp_path: Path) -> None:
    ablations.run(grid(), tmp_path / "run", executor="inline")
    environment = ablations.open_run(tmp_path / "run").frames().environment
    assert environment.set_index("key")["value"]["device"] == "cpu"
    assert "<td>cpu</td>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_statistics_of_a_narrow_type_are_finite_and_near_those_of_float32(
    tmp_path: Path, dtype: str
) -> None:
    found = {}
    for asked in ("float32", dtype):
        summary = ablations.run(grid(dtype=asked), tmp_path / asked, executor="inline")
        assert summary.states == {"done": 2}
        metrics = ablations.open_run(tmp_path / asked).frames().metrics
        rows = metrics[metrics["metric"] == "gradient_flow.loss"]
        found[asked] = rows.sort_values("cell")["value"].tolist()
    assert found[dtype] == pytest.approx(found["float32"], rel=2e-2)
    assert found[dtype] != found["float32"]


def test_training_in_float16_is_not_applicable(tmp_path: Path) -> None:
    asked = grid(dtype="float16", measures=[{"training": {"steps": 2, "held_out_batches": 1}}])
    ablations.run(asked, tmp_path / "run", executor="inline")
    trials = ablations.open_run(tmp_path / "run").frames().trials
    assert set(trials["state"]) == {"skipped"}
    assert set(trials["message"]) == {
        "not applicable: training in float16 needs a scaled loss, which is not made here; give the "
        "measure a dtype of its own: bfloat16 or float32"
    }


def test_a_clock_tells_what_passed_between_its_marks() -> None:
    clock = _Clock(torch.device("cpu"))
    for _ in range(3):
        clock.mark()
        torch.ones(200, 200) @ torch.ones(200, 200)
    first, second = clock.seconds()
    assert first > 0
    assert second > 0


@pytest.mark.parametrize("loss", ["cross_entropy", "random_projection", "mean_square"])
def test_a_pass_makes_its_tensors_where_the_decoder_is(loss: Loss) -> None:
    """On the meta device, which takes no tensor of the CPU's: what a GPU would refuse."""
    asked = grid(
        factors={
            "position": ["learned", "sinusoidal", "rope", "alibi"],
            "attention": ["mha", {"gqa": {"n_kv_heads": 1}}, {"mha": {"window": 4}}],
            "activation": ["gelu", "swiglu"],
        }
    )
    tokens = torch.zeros(2, 8, dtype=torch.long, device="meta")
    for cell in cells(asked, asked.catalog):
        assert cell.architecture is not None
        decoder = build_decoder(cell.architecture, seed=0).to("meta")
        value = probe_loss(
            loss, decoder.hidden(tokens), decoder.logits, tokens, lambda name: torch.Generator()
        )
        gradients = torch.autograd.grad(value, list(decoder.parameters()), allow_unused=True)
        assert {value.device.type, *(g.device.type for g in gradients if g is not None)} == {"meta"}


@cuda
def test_initial_weights_are_the_cpus_bit_for_bit() -> None:
    here, there = context("cpu").decoder(), context("cuda").decoder()
    for (name, one), (_, two) in zip(
        here.named_parameters(), there.named_parameters(), strict=True
    ):
        assert two.device.type == "cuda"
        assert torch.equal(one, two.cpu()), name


@cuda
def test_a_grid_on_a_gpu_finds_nearly_what_it_finds_on_the_cpu(tmp_path: Path) -> None:
    measures = [
        "parameters", "gradient_flow", "signal_propagation", "attention_map", "one_step", "speed",
        {"training": {"steps": 20, "held_out_batches": 1, "probes": [0, 20]}},
    ]  # fmt: skip
    found = {}
    for device in ("cpu", "cuda"):
        asked = grid(device=device, measures=measures)
        summary = ablations.run(asked, tmp_path / device, workers=1)
        assert summary.states == {"done": 2}
        metrics = ablations.open_run(tmp_path / device).frames().metrics
        timed = metrics["metric"].str.contains("speed|per_second")
        found[device] = metrics[~timed].set_index(["cell", "metric"])["value"].sort_index()
        assert (metrics[timed]["value"] > 0).any()
    assert found["cuda"].index.equals(found["cpu"].index)
    assert found["cuda"].to_numpy() == pytest.approx(found["cpu"].to_numpy(), rel=1e-2, abs=1e-5)


@cuda
def test_a_trial_that_does_not_fit_says_so_in_figures(tmp_path: Path) -> None:
    free = torch.cuda.mem_get_info()[0]
    batch = free // (4 * 256 * 8)  # sequences whose logits alone take all
    asked = grid(device="cuda", measures=[{"gradient_flow": {"batch": batch}}], memory="512 GiB")
    ablations.run(asked, tmp_path / "run", workers=1)
    trials = ablations.open_run(tmp_path / "run").frames().trials
    assert set(trials["state"]) == {"failed"}
    assert all(message.startswith("out of memory on cuda ") for message in trials["message"])
