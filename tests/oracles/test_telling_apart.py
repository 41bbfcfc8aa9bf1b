"""What the tolerances tell apart: models that differ by one detail, each a mistake made before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.oracles import test_gpt_models as gpt
from tests.oracles import test_parallel_models as parallel
from tests.oracles import test_rmsnorm_models as rmsnorm
from tests.oracles.oracle import (
    LOGITS,
    Oracle,
    Source,
    Tensors,
    logits_of,
    ours_from,
    randomized,
    relative,
    tokens,
)
from tests.oracles.rotary import LAYER


def named(name: str) -> Oracle:
    oracles = [*gpt.ORACLES, *parallel.ORACLES, *rmsnorm.ORACLES]
    return next(oracle for oracle in oracles if oracle.name == name)


LLAMA = named("Llama, 2 kv, attention_bias=False, mlp_bias=False")
GLM, GEMMA, GEMMA_2 = named("GLM"), named("Gemma"), named("Gemma 2")
MISTRAL, FALCON = named("Mistral, longer than its window"), named("Falcon, RW, ALiBi")


def other(oracle: Oracle, **model: Any) -> Oracle:
    return replace(oracle, model={**oracle.model, **model})


def tiled(tensors: Tensors) -> Tensor:
    """Query heads that read two key/value heads in turns, where neighbours should share one."""
    q, k, v = (tensors[f"{LAYER}.self_attn.{part}_proj.weight"] for part in "qkv")
    return torch.cat((q.unflatten(0, (4, -1))[[0, 2, 1, 3]].flatten(0, 1), k, v))


def rewired(oracle: Oracle, weights: Mapping[str, Source]) -> Oracle:
    return replace(oracle, weights={**oracle.weights, **weights})


WRONG: dict[str, tuple[Oracle, float]] = {
    "GELU for its tanh form": (other(named("GPT-2, gelu_new"), activation="gelu"), 1e-4),
    "GEGLU for its tanh form": (other(GEMMA, activation="geglu"), 1e-4),
    "an eps of 1e-5 for 1e-6": (other(LLAMA, norm={"rmsnorm": {"eps": 1e-5}}), 1e-4),
    "pairs for halves": (other(LLAMA, position={"rope": {"theta": 100, "style": "pairs"}}), 0.1),
    "halves for pairs": (other(GLM, position={"rope": {"theta": 100, "fraction": 0.5}}), 0.1),
    "another theta": (other(LLAMA, position={"rope": {"theta": 101}}), 1e-3),
    "gate and up swapped": (
        rewired(
            LLAMA,
            {
                "blocks.{i}.feed_forward.gate.weight": f"{LAYER}.mlp.up_proj.weight",
                "blocks.{i}.feed_forward.up.weight": f"{LAYER}.mlp.gate_proj.weight",
            },
        ),
        0.1,
    ),
    "key/value heads tiled": (
        rewired(LLAMA, {"blocks.{i}.attention.qkv.weight": tiled}),
        0.1,
    ),
    "no window": (other(MISTRAL, attention={"gqa": {"n_kv_heads": 2}}), 0.01),
    "a window longer by one": (
        other(MISTRAL, attention={"gqa": {"n_kv_heads": 2, "window": 5}}),
        0.01,
    ),
    "norms without their offset": (other(GEMMA, norm={"rmsnorm": {"eps": 1e-6}}), 0.1),
    "embeddings as they are": (other(GEMMA, embedding_scale=1), 0.1),
    "no cap of the logits": (other(GEMMA_2, logit_softcap=None), 0.01),
    "scores capped elsewhere": (
        other(
            GEMMA_2,
            attention={
                "layers": [
                    {"gqa": {"n_kv_heads": 2, "softcap": 2.1, "window": 4}},
                    {"gqa": {"n_kv_heads": 2, "softcap": 2.1}},
                ]
            },
        ),
        1e-4,
    ),
    "ALiBi as the paper has it": (other(FALCON, position="alibi"), 0.01),
    "sinusoids in pairs": (
        other(named("XGLM"), position={"sinusoidal": {"amplitude": 1, "offset": 2}}),
        0.01,
    ),
    "sinusoids from the first on": (
        other(named("XGLM"), position={"sinusoidal": {"amplitude": 1, "layout": "halves"}}),
        0.01,
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_in_one_detail_is_far_outside_the_tolerance(mistake: str) -> None:
    oracle, least = WRONG[mistake]
    theirs = randomized(oracle.theirs())
    ours = ours_from(oracle, theirs)
    error = relative(ours(tokens()), logits_of(theirs, tokens()))
    assert error > max(least, LOGITS)
