"""Gradient flow against gradients taken another way, and against measured facts."""

import math

import pytest
import torch
from torch.nn import functional as F

from ablations.initialization import initialized_decoder
from ablations.measures.gradient_flow import GradientFlow
from ablations.observation import PassOptions, observe, pass_flops
from ablations.trial import Trial, TrialContext
from tests.ablations.decoders import build, small


def context(architecture, seed=0, dtype="float32"):
    return TrialContext(
        Trial(cell="", seed=seed, architecture=architecture, measures=(), dtype=dtype)
    )


def flow(seed=0, dtype="float32", batch=2, **model):
    return GradientFlow(batch=batch).measure(context(small(**model), seed, dtype))


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_every_figure_against_backward(placement):
    architecture = small(placement=placement, tie_embeddings=True, embedding_scale=2.0)
    asked = context(architecture, seed=3, dtype="float64")
    measured = GradientFlow().measure(asked)

    decoder = initialized_decoder(architecture, 3, dtype=torch.float64)
    ids = torch.randint(64, (2, 16), generator=asked.generator("tokens"))
    targets = torch.randint(64, (2, 16), generator=asked.generator("targets"))
    embedded = (decoder.token_embedding.weight[ids]).detach().requires_grad_()
    x = embedded * 2.0 + decoder.positions[0].table[:16]
    streams = []
    for block in decoder.blocks:
        x.retain_grad()
        streams.append(x)
        x = block(x)
    if decoder.final_norm is not None:
        x = decoder.final_norm(x)
    logits = x @ decoder.head.weight.T
    loss = -F.log_softmax(logits, -1).gather(-1, targets[..., None]).mean()
    loss.backward()

    rows = torch.zeros(64, 32, dtype=torch.float64)
    for b in range(2):
        for t in range(16):
            rows[ids[b, t]] += embedded.grad[b, t]
    raw = [float(s.grad.norm()) for s in streams]
    sizes = [float(s.detach().square().mean().sqrt()) for s in streams]
    sensitivity = [size * norm for size, norm in zip(sizes, raw, strict=True)]
    near = {"rel": 1e-10}
    metrics, profiles = measured.metrics, measured.profiles
    assert metrics["loss"] == pytest.approx(float(loss.detach()), **near)
    assert metrics["embedding"] == pytest.approx(float(rows.norm()), **near)
    assert metrics["embedded_rms"] == pytest.approx(sizes[0], **near)
    assert metrics["raw_ratio"] == pytest.approx(raw[0] / raw[-1], **near)
    assert metrics["sensitivity_ratio"] == pytest.approx(sensitivity[0] / sensitivity[-1], **near)
    slope = (math.log(sensitivity[2]) - math.log(sensitivity[0])) / 2
    assert metrics["sensitivity_decay"] == pytest.approx(math.exp(-slope), **near)
    assert profiles["sensitivity"].values == pytest.approx(sensitivity, **near)
    assert profiles["stream_gradient"].values == pytest.approx(raw, **near)
    assert profiles["stream_rms"].values == pytest.approx(sizes, **near)
    for layer, block in enumerate(decoder.blocks):
        gradient = torch.cat([p.grad.flatten() for p in block.parameters()])
        norm, rms = float(gradient.norm()), float(gradient.square().mean().sqrt())
        assert profiles["block_gradient_norm"].values[layer] == pytest.approx(norm, **near)
        assert profiles["block_gradient_rms"].values[layer] == pytest.approx(rms, **near)


def test_the_embedding_gradient_has_the_size_of_a_finite_difference():
    architecture = small(depth=2)
    asked = context(architecture, dtype="float64")
    seen = asked.observe(PassOptions())
    decoder = initialized_decoder(architecture, 0, dtype=torch.float64)

    def loss_at(step):
        moved = []
        hook = decoder.token_embedding.register_forward_hook(
            lambda _m, _a, out: moved.append(out) or out + step * seen.embedded_gradient
        )
        logits = decoder(seen.tokens)
        hook.remove()
        assert moved
        targets = torch.randint(64, (2, 16), generator=asked.generator("targets"))
        return float(F.cross_entropy(logits.flatten(0, 1), targets.flatten()).detach())

    # Along the gradient g the loss changes by ‖g‖² a unit of step.
    slope = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5
    assert slope == pytest.approx(float(seen.embedded_gradient.square().sum()), rel=1e-6)


def test_rescaling_the_stream_moves_the_raw_ratio_and_not_the_sensitivity():
    """Depth 12, width 256, weights N(0, 0.02²): the embedding's scale is all that differs."""
    model = {"depth": 12, "d_model": 256, "context": 64, "vocab_size": 256}
    scales = {}
    for std in (0.02, 1.0):
        runs = [
            flow(seed, **model, initializer={"normal": {"embedding_std": std}}).metrics
            for seed in range(3)
        ]
        scales[std] = [
            sum(run[name] for run in runs) / 3 for name in ("sensitivity_ratio", "raw_ratio")
        ]
    assert 0.9 < scales[0.02][0] < 1.1
    assert 0.9 < scales[1.0][0] < 1.1
    assert 12 < scales[0.02][1] / scales[1.0][1] < 20


def test_post_and_pre_embedding_gradients_are_of_one_order():
    model = {"depth": 6, "d_model": 128, "context": 64, "vocab_size": 256}
    ratios = [
        flow(seed, **model, placement="pre").metrics["embedding"]
        / flow(seed, **model, placement="post").metrics["embedding"]
        for seed in range(4)
    ]
    assert all(0.4 < ratio < 1.6 for ratio in ratios)


def test_shared_blocks_are_told_at_each_depth():
    measured = flow(depth=4, share_layers=2)
    norms = measured.profiles["block_gradient_norm"].values
    assert norms[0] == norms[1] != norms[2] == norms[3]
    assert len(measured.profiles["sensitivity"].values) == 4


def test_one_block_has_no_ratio():
    metrics = flow(depth=1).metrics
    assert set(metrics) == {"loss", "embedding", "embedded_rms"}


def test_equal_options_share_one_pass_and_others_do_not():
    asked = context(small())
    assert asked.observe(PassOptions(batch=2)) is asked.observe(PassOptions())
    assert asked.observe(PassOptions(batch=3)) is not asked.observe(PassOptions())


def test_tokens_depend_on_the_seed_alone():
    first = context(small()).observe(PassOptions()).tokens
    other = context(small(placement="post", norm="rmsnorm")).observe(PassOptions()).tokens
    assert torch.equal(first, other)
    assert not torch.equal(first, context(small(), seed=1).observe(PassOptions()).tokens)


def test_a_length_over_the_context_is_refused():
    with pytest.raises(ValueError, match=r"^length 17 is over the model's context 16$"):
        observe(build(), PassOptions(length=17), context(small()).generator)


def test_flops_against_torchs_own_counter():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    decoder = build(attention="mqa", activation="swiglu")
    counter = FlopCounterMode(display=False)
    ids = torch.randint(64, (2, 16))
    with sdpa_kernel(SDPBackend.MATH), counter:
        loss = decoder(ids).sum()
        loss.backward()
    counted = counter.get_total_flops()
    assert pass_flops(decoder, PassOptions()) == pytest.approx(counted, rel=0.02)


def test_sizes_beyond_float32_are_still_told():
    """Without norm and residual every block shrinks the stream, far below what float32 squares."""
    small_numbers = {"norm": "none", "residual": "none", "depth": 6, "final_norm": False}
    exact = flow(dtype="float64", **small_numbers).metrics
    single = flow(dtype="float32", **small_numbers).metrics
    assert exact["embedding"] < 1e-12
    for name in ("embedding", "sensitivity_ratio", "sensitivity_decay"):
        assert single[name] == pytest.approx(exact[name], rel=1e-3)


def test_a_ratio_to_nothing_does_not_exist():
    from ablations.measures.gradient_flow import _decay, _ratio

    assert _ratio([1.0, 0.0]) is None
    assert _ratio([0.0, 2.0]) == 0.0
    assert _decay([1.0, 0.0, 1.0]) is None
    assert math.isnan(_ratio([1.0, math.inf]))
    assert math.isnan(_decay([math.nan, 1.0]))
