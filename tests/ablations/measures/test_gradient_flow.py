"""Gradient flow against gradients taken another way, and against measured facts."""

import math

import pytest
import torch
from torch.nn import functional as F

from ablations.initialization import initialized_decoder
from ablations.measures.gradient_flow import ROLES, GradientFlow
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
    assert metrics["sensitivity_span"] == pytest.approx(max(sensitivity) / min(sensitivity), **near)
    mean = math.prod(sensitivity) ** (1 / len(sensitivity))
    assert metrics["sensitivity_mean"] == pytest.approx(mean, **near)
    assert metrics["stream_ratio"] == pytest.approx(sizes[-1] / sizes[0], **near)
    assert metrics["raw_ratio"] == pytest.approx(
        metrics["sensitivity_ratio"] * metrics["stream_ratio"], **near
    )
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


def test_shared_blocks_are_told_at_each_depth():
    measured = flow(depth=4, share_layers=2)
    norms = measured.profiles["block_gradient_norm"].values
    assert norms[0] == norms[1] != norms[2] == norms[3]
    assert len(measured.profiles["sensitivity"].values) == 4


def test_one_block_has_no_ratio():
    metrics = flow(depth=1).metrics
    assert set(metrics) == BESIDE_DEPTH


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
    with pytest.raises(ValueError, match=r"^length 17 is over the context 16$"):
        observe(build(), PassOptions(length=17), context(small()).generator)


@pytest.mark.parametrize("model", [{}, {"embedding_dim": 24}])
def test_flops_against_torchs_own_counter(model):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    decoder = build(attention="mqa", activation="swiglu", **model)
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


@pytest.mark.parametrize("loss", ["cross_entropy", "random_projection", "sum", "mean_square"])
def test_losses_against_backward(loss):
    architecture = small()
    asked = context(architecture, dtype="float64")
    measured = GradientFlow(loss=loss).measure(asked)
    decoder = initialized_decoder(architecture, 0, dtype=torch.float64)
    ids = torch.randint(64, (2, 16), generator=asked.generator("tokens"))
    y = decoder.hidden(ids)
    if loss == "cross_entropy":
        targets = torch.randint(64, (2, 16), generator=asked.generator("targets"))
        value = -F.log_softmax(decoder.head(y), -1).gather(-1, targets[..., None]).mean()
    elif loss == "random_projection":
        value = (torch.randn(2, 16, 32, generator=asked.generator("projection")) * y).sum()
    else:
        value = y.sum() if loss == "sum" else (y**2).mean()
    (gradient,) = torch.autograd.grad(value, decoder.blocks[1].feed_forward.down.weight)
    assert measured.metrics["loss"] == pytest.approx(float(value.detach()), rel=1e-10)
    if loss in ("cross_entropy", "random_projection"):
        down = measured.profiles["down_gradient_norm"].values[1]
        assert down == pytest.approx(float(gradient.norm()), rel=1e-10)
        assert measured.marks == ()
    else:
        assert measured.marks == ("cancelled_probe",)


def test_a_cancelled_probe_says_nothing_of_depth():
    measured = GradientFlow(loss="sum").measure(context(small()))
    assert measured.marks == ("cancelled_probe",)
    assert set(measured.metrics) == BESIDE_DEPTH
    assert 0 <= measured.metrics["surviving_fraction"] < 1e-5


def test_without_a_norm_last_there_is_no_surviving_fraction():
    measured = GradientFlow(loss="sum").measure(context(small(final_norm=False)))
    assert "surviving_fraction" not in measured.metrics
    assert measured.marks == ()


def test_a_last_norm_behind_another_operation_is_seen_all_the_same():
    """Its fraction cannot be told, but that the probe is cancelled can."""
    for loss, marks in (("sum", ("cancelled_probe",)), ("cross_entropy", ())):
        measured = GradientFlow(loss=loss).measure(context(small(placement="veiled")))
        assert "surviving_fraction" not in measured.metrics
        assert measured.marks == marks


@pytest.mark.parametrize("placement", ["post", "deepnorm", "sandwich", "post_sublayer", "parallel"])
def test_honest_probes_survive_wherever_norms_stand(placement):
    for norm in ("layernorm", "rmsnorm"):
        metrics = flow(placement=placement, norm=norm).metrics
        assert metrics["surviving_fraction"] == pytest.approx(1.0, abs=0.1)


def test_roles_against_the_fused_parameter():
    asked = context(small(attention={"gqa": {"n_kv_heads": 2}}), dtype="float64")
    profiles = GradientFlow().measure(asked).profiles
    decoder = asked.decoder()
    ids, targets = (torch.randint(64, (2, 16), generator=asked.generator(of)) for of in FED)
    F.cross_entropy(decoder(ids).flatten(0, 1), targets.flatten()).backward()
    for layer in range(3):
        qkv = decoder.get_parameter(f"blocks.{layer}.attention.qkv.weight").grad
        for role, rows in {"q": qkv[:32], "k": qkv[32:48], "v": qkv[48:]}.items():
            norm = profiles[f"{role}_gradient_norm"].values[layer]
            assert norm == pytest.approx(float(rows.norm()), rel=1e-12)
            rms = profiles[f"{role}_gradient_rms"].values[layer]
            assert rms == pytest.approx(float(rows.square().mean().sqrt()), rel=1e-12)
    squares = [
        sum(row.values[0] ** 2 for name, row in profiles.items() if name in ROLE_NORMS),
        profiles["block_gradient_norm"].values[0] ** 2,
    ]
    assert squares[0] == pytest.approx(squares[1], rel=1e-12)
    assert "gate_gradient_norm" not in profiles


FED = ("tokens", "targets")
BESIDE_DEPTH = {"loss", "embedding", "embedded_rms", "gradient_unit", "surviving_fraction"}
ROLE_NORMS = [f"{role}_gradient_norm" for role in (*ROLES, "other")]


def test_the_key_bias_has_a_row_of_its_own_and_vanishes_alone():
    still = flow(dtype="float64")
    assert max(still.profiles["key_bias_gradient_norm"].values) < 1e-15
    assert min(still.profiles["bias_gradient_norm"].values) > 1e-4
    assert still.marks == ()
    turned = flow(dtype="float64", position="rope")
    assert min(turned.profiles["key_bias_gradient_norm"].values) > 1e-9


def test_what_a_stranger_holds_is_other():
    profiles = flow(placement="other_names").profiles
    assert "other_gradient_norm" in profiles
    assert "other_gradient_norm" not in flow().profiles


def test_blocks_without_a_role_have_no_value_for_it():
    activation = {"layers": ["gelu", "swiglu", "gelu"]}
    assert flow(activation=activation).profiles["gate_gradient_norm"].positions == (1,)


@pytest.mark.parametrize(("factor", "said"), [(0.2, "vanishing"), (5.0, "exploding"), (1.0, "")])
def test_what_grows_or_fades_by_a_factor_a_norm(factor, said):
    """Post placement: two norms a block, so factor⁴ from the third block to the first."""
    measured = flow(norm={"fading": {"factor": factor}}, placement="post", dtype="float64")
    plain = flow(placement="post", dtype="float64").metrics
    metrics = measured.metrics
    expected = plain["sensitivity_ratio"] * factor**4
    assert metrics["sensitivity_ratio"] == pytest.approx(expected, rel=1e-9)
    assert metrics["sensitivity_decay"] == pytest.approx(
        plain["sensitivity_decay"] * factor**2, rel=1e-9
    )
    assert metrics["surviving_fraction"] == pytest.approx(plain["surviving_fraction"], rel=1e-9)
    assert measured.marks == ((said,) if said else ())
    assert {name: metrics[name] for name in ("vanishing", "exploding")} == {
        "vanishing": float(said == "vanishing"),
        "exploding": float(said == "exploding"),
    }
    if said:
        assert metrics["worst_layer"] == 0
        assert metrics["worst_ratio"] == metrics["sensitivity_ratio"]
        assert metrics["decay_fit"] > 0.99


def test_a_norm_that_lets_a_few_elements_through_cancels_nothing():
    """Saturated, the last norm passes the gradient at a single element, which a loss may miss."""
    model = {"depth": 2, "context": 32, "vocab_size": 256, "placement": "post"}
    model |= {"initializer": {"normal": {"embedding_std": 1.0}}}
    for seed in range(8):
        measured = flow(seed, **model, norm={"tanh": {"alpha": 7.0}})
        assert measured.marks == ()
        assert measured.metrics.get("surviving_fraction", 1.0) > 0.3


def test_the_unit_follows_the_loss_and_the_embeddings():
    """Ten times the embeddings, a hundredth of the gradient, or another loss: the unit knows."""
    model = {"placement": "post", "d_model": 128, "depth": 4}
    plain = flow(**model).metrics
    assert plain["embedding"] / plain["gradient_unit"] == pytest.approx(1.0, rel=0.35)
    large = flow(**model, initializer={"normal": {"embedding_std": 0.2}}).metrics
    assert large["gradient_unit"] == pytest.approx(plain["gradient_unit"] / 10, rel=0.05)
    other = GradientFlow(loss="random_projection").measure(context(small(**model))).metrics
    assert other["gradient_unit"] > 100 * plain["gradient_unit"]
    assert other["embedding"] / other["gradient_unit"] == pytest.approx(1.0, rel=0.35)
