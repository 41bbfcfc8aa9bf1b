"""Costs of a cell, against published figures and closed forms."""

import pytest
import torch
from torch import nn

from ablations.counting.step import count_step
from ablations.declared.costs import COSTS
from ablations.decoder import skeleton
from ablations.measures.costs import Costs
from ablations.models.resolution import resolve
from ablations.trial import NotApplicable, Trial, TrialContext
from registry import Catalog, ComponentSpec, Dims, Incompatible, Kind, PluginRecord
from tests.ablations.decoders import SMALL, catalog, small

GPT2 = {
    "depth": 12,
    "d_model": 768,
    "n_heads": 12,
    "context": 1024,
    "vocab_size": 50257,
    "tie_embeddings": True,
    "activation": "gelu_tanh",
}


def context(architecture):
    return TrialContext(Trial(cell="c", seed=0, architecture=architecture, measures=()))


def costs(options=None, **model):
    return Costs(**(options or {})).measure(context(small(**model)))


def row(measured, name):
    profile = measured.profiles[name]
    assert profile.axis == "context"
    return dict(zip(profile.positions, profile.values, strict=True))


def test_gpt2_small():
    found = costs({"contexts": (2048, 8192, 32768)}, **GPT2).metrics
    matrices = 124_439_808 - 1024 * 768 - 82_944 - 19_200 - 25 * 768  # biases and norms' weights
    attended = 12 * 4 * 1024 * 768  # a token
    assert found["forward_flops"] == 2 * matrices + attended
    assert found["forward_attention_flops"] == attended
    assert found["backward_flops"] == 2 * found["forward_flops"]
    assert found["backward_attention_flops"] == 2 * attended
    assert found["parameters_read"] == 124_439_808 - 1024 * 768 + 2 * 768
    assert found["map_elements"] == 12 * 12 * 1024**2
    assert found["cache_bytes_per_token"] == 36_864
    assert found["cache_bytes"] == 36_864 * 1024
    assert found["weight_bytes"] == 4 * 124_439_808
    assert found["optimizer_bytes"] == 8 * 124_439_808
    assert found["training_bytes"] == 16 * 124_439_808 + found["activation_bytes"]
    assert found["inference_bytes"] == 4 * 124_439_808 + 36_864 * 1024
    assert found.keys() == {metric.name for metric in COSTS.metrics}


def test_8k_to_32k_tokens_are_16_times_the_map_and_4_times_the_cache():
    found = costs()
    maps, cache = row(found, "map_elements"), row(found, "cache_bytes")
    assert maps[32768] / maps[8192] == 16
    assert cache[32768] / cache[8192] == 4
    attended = row(found, "forward_attention_flops")
    assert attended[32768] / attended[8192] == 4  # a token
    assert list(maps) == [16, 512, 2048, 8192, 32768]
    assert found.profiles.keys() == {profile.name for profile in COSTS.profiles}
    for name in found.profiles:
        assert row(found, name)[16] == found.metrics[name]


def test_a_quarter_of_the_key_value_heads_is_a_quarter_of_the_cache():
    model = {"depth": 2, "d_model": 128, "n_heads": 32}
    full = costs(attention={"gqa": {"n_kv_heads": 32}}, **model)
    quarter = costs(attention={"gqa": {"n_kv_heads": 8}}, **model)
    for length, held in row(full, "cache_bytes").items():
        assert row(quarter, "cache_bytes")[length] == held / 4
    assert quarter.metrics["map_elements"] == full.metrics["map_elements"]


def test_options_name_types_batch_and_optimizer():
    found = costs().metrics
    options = {
        "batch": 4,
        "weights": "bfloat16",
        "activations": "float64",
        "cache": "float32",
        "optimizer": "sgd",
    }
    other = costs(options).metrics
    same = ("forward_flops", "backward_flops", "forward_attention_flops", "parameters_read")
    assert [other[name] for name in same] == [found[name] for name in same]
    assert other["weight_bytes"] == found["weight_bytes"] / 2
    assert other["optimizer_bytes"] == found["optimizer_bytes"] / 4
    assert other["map_elements"] == 4 * found["map_elements"]
    assert other["cache_bytes"] == 8 * found["cache_bytes"]
    assert other["cache_bytes_per_token"] == 2 * found["cache_bytes_per_token"]
    asked = skeleton(small()).double()
    assert other["activation_bytes"] == count_step(asked, batch=4, length=16).saved
    assert other["training_bytes"] == 3 * other["weight_bytes"] + other["activation_bytes"]
    assert Costs(**options).convention() == (
        "batch 4, weights in bfloat16, activations in float64, cache in float32, sgd"
    )


def test_states_are_as_many_as_torchs_optimizers_keep():
    weights = costs().metrics["weight_bytes"]
    of = {
        "adamw": torch.optim.AdamW,
        "adam": torch.optim.Adam,
        "sgd": lambda parameters: torch.optim.SGD(parameters, momentum=0.9),
    }
    for name, optimizer in of.items():
        parameter = nn.Parameter(torch.ones(10))
        parameter.grad = torch.ones(10)
        stepping = optimizer([parameter])
        stepping.step()
        kept = sum(v.numel() for v in stepping.state[parameter].values() if v.numel() == 10)
        found = costs({"optimizer": name, "contexts": (16,)}).metrics
        assert found["optimizer_bytes"] == weights * kept / 10


def test_a_longer_context_is_that_of_the_decoder_built_for_it():
    at = row(costs(position="learned"), "training_bytes")
    longer = small(position="learned", context=2048)
    parameters = sum(p.numel() for p in skeleton(longer).parameters())
    saved = count_step(skeleton(longer), batch=1, length=2048).saved
    assert at[2048] == 16 * parameters + saved


def test_a_context_shorter_than_a_window_can_be_asked_for():
    found = costs({"contexts": (4, 64)}, attention={"mha": {"window": 12}})
    assert row(found, "cache_bytes") == {4: 4 * 384, 16: 11 * 384, 64: 11 * 384}
    assert found.metrics["cache_bytes_per_token"] == 11 * 384 / 16
    assert row(found, "map_elements") == {n: 3 * 4 * n * n for n in (4, 16, 64)}


def test_a_single_context_is_enough_to_tell_the_square():
    found = costs({"contexts": (16,)})
    assert found.metrics["forward_attention_flops"] == 3 * 4 * 16 * 32
    assert list(row(found, "forward_flops")) == [16]


def test_what_a_strangers_attention_cannot_tell_is_left_out():
    found = costs(attention="mean")
    missing = {metric.name for metric in COSTS.metrics} - found.metrics.keys()
    assert missing == {
        "forward_attention_flops",
        "backward_attention_flops",
        "map_elements",
        "cache_bytes",
        "cache_bytes_per_token",
        "inference_bytes",
    }
    assert found.metrics["forward_flops"] == 2 * (3 * (32 * 32 + 8 * 32 * 32) + 32 * 64)


class Local(nn.Module):
    """Attention inside chunks of 128 tokens alone, written out by hand."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.out = nn.Linear(dims.d_model, dims.d_model, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        chunk = min(t, 128)
        y = x.view(b, t // chunk, chunk, d)
        weights = (y @ y.mT).tril().softmax(-1)
        return self.out((weights @ y).view(b, t, d))


class Looking(nn.Module):
    """A norm that looks at its input's values."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return x if x.abs().max() > 1 else 2 * x


class Short(nn.Module):
    """An attention that cannot be built for a long context."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        if dims.context > 1000:
            raise Incompatible(f"context is at most 1000: got {dims.context}")

    def forward(self, x):
        return x


class Broken(Looking):
    def forward(self, x):
        raise RuntimeError("not today")


def strange(**model):
    strangers = {
        "local": (Kind.ATTENTION, Local),
        "short": (Kind.ATTENTION, Short),
        "looking": (Kind.NORM, Looking),
        "broken": (Kind.NORM, Broken),
    }
    specs = tuple(
        ComponentSpec(kind=kind, name=name, target=cls) for name, (kind, cls) in strangers.items()
    )
    record = PluginRecord(name="odd:parts", version="1", state="loaded", specs=specs)
    return context(resolve({**SMALL, **model}, Catalog([*catalog().plugins, record])))


def test_flops_that_are_no_quadratic_are_not_split():
    found = Costs().measure(strange(attention="local"))
    assert "forward_attention_flops" not in found.metrics
    at = row(found, "forward_flops")
    assert at[512] == at[32768] == 2 * (3 * (32 * 32 + 8 * 32 * 32) + 32 * 64) + 3 * 4 * 128 * 32


def test_a_context_that_cannot_be_built_is_left_out():
    found = Costs().measure(strange(attention="short"))
    assert list(row(found, "forward_flops")) == [16, 512]


def test_values_that_are_needed_are_not_guessed():
    with pytest.raises(NotApplicable, match=r"^it cannot be counted on the meta device, without "):
        Costs().measure(strange(norm="looking"))
    with pytest.raises(RuntimeError, match=r"^not today$"):
        Costs().measure(strange(norm="broken"))


def test_a_decoder_that_was_built_before_changes_nothing():
    asked = context(small())
    asked.decoder()
    assert Costs().measure(asked) == costs()
