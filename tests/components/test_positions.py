from __future__ import annotations

import cmath
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from registry import Incompatible, ParameterRole
from tests.components.makers import build, dims, tokens


def position(name: str, sizes: Any = None, **options: Any) -> Any:
    return build("position", (name, options), sizes or dims())


def turned_by_hand(vector: list[float], t: int, theta: float, rotated: int, style: str) -> Any:
    """The paper's rotation of one vector, with complex numbers."""
    result = list(vector)
    for i in range(rotated // 2):
        a, b = (i, i + rotated // 2) if style == "halves" else (2 * i, 2 * i + 1)
        turn = cmath.exp(1j * t * theta ** (-2 * i / rotated))
        z = complex(vector[a], vector[b]) * turn
        result[a], result[b] = z.real, z.imag
    return result


@pytest.mark.parametrize("style", ["halves", "pairs"])
@pytest.mark.parametrize(("theta", "fraction"), [(10000.0, 1.0), (100.0, 0.5), (5e5, 0.25)])
def test_rope_equals_its_formula(style: str, theta: float, fraction: float) -> None:
    rope = position("rope", theta=theta, fraction=fraction, style=style)
    q, k = tokens(2, 4, 5, 8), tokens(2, 2, 5, 8, seed=1)
    positions = torch.tensor([0, 1, 7, 40, 1000])
    for given_, found in zip((q, k), rope.rotate(q, k, positions), strict=True):
        for index in torch.cartesian_prod(*(torch.arange(n) for n in given_.shape[:3])).tolist():
            t = int(positions[index[2]])
            vector = given_[tuple(index)].tolist()
            expected = turned_by_hand(vector, t, theta, int(8 * fraction), style)
            torch.testing.assert_close(
                found[tuple(index)].tolist(), expected, rtol=1e-10, atol=1e-10
            )


def test_rope_stretched_turns_slow_pairs_slower() -> None:
    """Pairs of 16 features turn 6.4, 3.6, 2.0, 1.1 times in 40 tokens, and then less than once."""
    rope = position("rope", dims(head_dim=16), theta=100.0, stretch=[4.0, 40])
    q = torch.zeros(1, 1, 1, 16, dtype=torch.float64)
    q[..., :8] = 1
    turned, _ = rope.rotate(q, q, torch.tensor([1]))
    angles = torch.atan2(turned[0, 0, 0, 8:], turned[0, 0, 0, :8]).tolist()
    for pair, angle in enumerate(angles):
        plain = 100.0 ** (-pair / 8)
        turns = 40 * plain / (2 * math.pi)
        if turns >= 4:
            expected = plain
        elif turns <= 1:
            expected = plain / 4
        else:
            between = (turns - 1) / 3
            expected = between * plain + (1 - between) * plain / 4
        assert angle == pytest.approx(expected, rel=1e-12)
    assert angles[0] == pytest.approx(1.0, rel=1e-12)
    assert angles[7] == pytest.approx(100 ** (-7 / 8) / 4, rel=1e-12)


@settings(max_examples=30)
@given(
    offset=st.integers(0, 200),
    shift=st.integers(0, 500),
    style=st.sampled_from(["halves", "pairs"]),
    fraction=st.sampled_from([0.25, 0.5, 1.0]),
)
def test_rope_scores_depend_on_offsets_alone(
    offset: int, shift: int, style: str, fraction: float
) -> None:
    rope = position("rope", style=style, fraction=fraction)
    q, k = tokens(1, 1, 1, 8), tokens(1, 1, 1, 8, seed=1)

    def score(q_at: int, k_at: int) -> float:
        turned_q, _ = rope.rotate(q, k, torch.tensor([q_at]))
        _, turned_k = rope.rotate(q, k, torch.tensor([k_at]))
        return float((turned_q * turned_k).sum())

    assert score(offset + shift, shift) == pytest.approx(score(offset, 0), abs=1e-10)
    if offset:
        assert abs(score(offset, 0) - score(0, 0)) > 1e-6


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_halves_and_pairs_differ_by_a_permutation(fraction: float) -> None:
    rotated = int(8 * fraction)
    order = [i // 2 + (i % 2) * rotated // 2 for i in range(rotated)] + list(range(rotated, 8))
    q, k, positions = tokens(2, 4, 6, 8), tokens(2, 1, 6, 8, seed=1), torch.arange(6)
    halves = position("rope", fraction=fraction).rotate(q, k, positions)
    pairs = position("rope", fraction=fraction, style="pairs").rotate(
        q[..., order], k[..., order], positions
    )
    for a, b in zip(halves, pairs, strict=True):
        torch.testing.assert_close(a[..., order], b, rtol=0, atol=1e-14)
        assert not torch.allclose(a, b)


@pytest.mark.parametrize("style", ["halves", "pairs"])
def test_partial_rope_leaves_the_other_features(style: str) -> None:
    q, k = tokens(2, 4, 6, 8), tokens(2, 1, 6, 8, seed=1)
    rope = position("rope", fraction=0.5, style=style)
    for before, after in zip((q, k), rope.rotate(q, k, torch.arange(6)), strict=True):
        assert torch.equal(after[..., 4:], before[..., 4:])
        assert (after[..., 1:, :4] != before[..., 1:, :4]).all()
        torch.testing.assert_close(after.norm(dim=-1), before.norm(dim=-1))


@pytest.mark.parametrize(
    ("head_dim", "fraction", "came"),
    [
        (8, 0.1, "got 0.8 (fraction 0.1 of head_dim 8)"),
        (12, 0.25, "got 3 (fraction 0.25 of head_dim 12)"),
        (7, 1.0, "got 7 (fraction 1 of head_dim 7)"),
        (8, 0.3, "got 2.4 (fraction 0.3 of head_dim 8)"),
    ],
)
def test_rope_needs_an_even_number_of_features(head_dim: int, fraction: float, came: str) -> None:
    with pytest.raises(Incompatible) as caught:
        position("rope", dims(head_dim=head_dim), fraction=fraction)
    expected = f"rope rotates an even number of features, at least 2: {came}"
    assert str(caught.value) == expected


def test_rope_rotates_any_width_and_length() -> None:
    rope = position("rope")
    q, k = rope.rotate(tokens(1, 3, 50, 20), tokens(1, 1, 50, 20), torch.arange(50) + 1000)
    assert (q.shape, k.shape) == ((1, 3, 50, 20), (1, 1, 50, 20))
    torch.testing.assert_close(q.norm(dim=-1), tokens(1, 3, 50, 20).norm(dim=-1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_rope_turns_half_precision_by_angles_in_float32(dtype: torch.dtype) -> None:
    rope = position("rope").to(dtype)
    q, positions = tokens(1, 2, 6, 8, dtype=dtype), torch.arange(6) + 4000
    turned, _ = rope.rotate(q, q, positions)
    expected, _ = rope.rotate(q.float(), q.float(), positions)
    assert turned.dtype == dtype
    assert torch.equal(turned, expected.to(dtype))
    assert not rope.state_dict()


# The slopes that the released recipe of arXiv:2108.12409 prints.
SLOPES = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3],
    8: [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8],
    12: [
        0.5,
        0.25,
        0.125,
        0.0625,
        0.03125,
        0.015625,
        0.0078125,
        0.00390625,
        0.7071067811865476,
        0.35355339059327384,
        0.17677669529663692,
        0.08838834764831849,
    ],
}


@pytest.mark.parametrize("n_heads", SLOPES)
def test_alibi_has_the_slopes_of_the_paper(n_heads: int) -> None:
    bias = position("alibi").bias(n_heads, torch.arange(5), torch.arange(5))
    assert bias.shape == (n_heads, 5, 5)
    for head, slope in enumerate(SLOPES[n_heads]):
        for q in range(5):
            for k in range(5):
                assert float(bias[head, q, k]) == pytest.approx(slope * (k - q), rel=1e-15)


@pytest.mark.parametrize("n_heads", range(1, 33))
def test_alibi_has_a_slope_for_every_head(n_heads: int) -> None:
    bias = position("alibi").bias(n_heads, torch.tensor([9]), torch.tensor([8]))
    slopes = (-bias.flatten()).tolist()
    assert len(set(slopes)) == n_heads
    assert all(2**-8 <= slope < 1 for slope in slopes)


@pytest.mark.parametrize("head_dim", [4, 6])
def test_alibi_is_scaled_as_scores_are(head_dim: int) -> None:
    sizes, positions = dims(head_dim=head_dim), torch.arange(5)
    plain = position("alibi", sizes).bias(4, positions, positions)
    scaled = position("alibi", sizes, scaled=True).bias(4, positions, positions)
    torch.testing.assert_close(scaled, plain / math.sqrt(head_dim), rtol=1e-15, atol=0)


def test_alibi_counts_from_the_given_positions() -> None:
    alibi = position("alibi")
    full = alibi.bias(4, torch.arange(9), torch.arange(9))
    part = alibi.bias(4, torch.arange(6, 9), torch.arange(4, 9))
    assert torch.equal(part, full[:, 6:, 4:])


def released(d_model: int, positions: list[int]) -> Tensor:
    """As the paper's released code lays them out: sines, then cosines."""
    half = d_model // 2
    waves = [10000 ** (-i / (half - 1)) for i in range(half)]
    rows = [
        [*(math.sin(t * wave) for wave in waves), *(math.cos(t * wave) for wave in waves)]
        for t in positions
    ]
    return torch.tensor([row + [0.0] * (d_model % 2) for row in rows], dtype=torch.float64)


def sinusoids(d_model: int, positions: list[int]) -> Tensor:
    rows = []
    for t in positions:
        row = []
        for feature in range(d_model):
            angle = t / 10000 ** (2 * (feature // 2) / d_model)
            row.append(math.cos(angle) if feature % 2 else math.sin(angle))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("d_model", [16, 7])
@pytest.mark.parametrize("amplitude", [1.0, 0.02, 3])
def test_sinusoidal_equals_its_formula(d_model: int, amplitude: float) -> None:
    module = position("sinusoidal", dims(d_model=d_model), amplitude=amplitude).double()
    x = tokens(2, 4, d_model)
    positions = [0, 3, 11, 5000]  # the last one is past the context of 12
    expected = x + amplitude * sinusoids(d_model, positions)
    torch.testing.assert_close(
        module.embed(x, torch.tensor(positions)), expected, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("d_model", [16, 7])
def test_sinusoidal_in_halves_equals_its_formula(d_model: int, offset: int) -> None:
    options = {"amplitude": 1.0, "layout": "halves", "offset": offset}
    module = position("sinusoidal", dims(d_model=d_model), **options).double()
    x, positions = tokens(2, 4, d_model), [0, 3, 11, 5000]
    expected = x + released(d_model, [t + offset for t in positions])
    found = module.embed(x, torch.tensor(positions))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def test_an_offset_moves_the_sinusoids() -> None:
    module = position("sinusoidal", amplitude=1.0, offset=3).double()
    zeros = torch.zeros(1, 4, 16, dtype=torch.float64)
    found = module.embed(zeros, torch.arange(4))[0]
    torch.testing.assert_close(found, sinusoids(16, [3, 4, 5, 6]), rtol=0, atol=1e-12)


def test_sinusoids_in_halves_need_two_wavelengths() -> None:
    with pytest.raises(Incompatible) as caught:
        position("sinusoidal", dims(d_model=3), layout="halves")
    assert str(caught.value) == "layout 'halves' needs at least 4 features: got 3"


@pytest.mark.parametrize("d_model", [16, 7])
def test_sinusoidal_takes_the_size_of_the_embeddings(d_model: int) -> None:
    module = position("sinusoidal", dims(d_model=d_model)).double()
    zeros = torch.zeros(1, 12, d_model, dtype=torch.float64)
    uncalibrated = module.embed(zeros, torch.arange(12))
    torch.testing.assert_close(uncalibrated[0], sinusoids(d_model, list(range(12))))
    module.calibrate(0.02)
    added = module.embed(zeros, torch.arange(12))
    assert float(added.square().mean().sqrt()) == pytest.approx(0.02, rel=1e-12)
    restored = position("sinusoidal", dims(d_model=d_model)).double()
    restored.load_state_dict(module.state_dict())
    assert torch.equal(restored.embed(zeros, torch.arange(12)), added)


def test_a_given_amplitude_is_not_calibrated() -> None:
    module = position("sinusoidal", amplitude=0.5)
    module.calibrate(0.02)
    assert float(module.amplitude) == 0.5


def test_learned_adds_its_table() -> None:
    module = position("learned").double()
    assert module.table.shape == (12, 16)
    assert module.parameter_roles() == {"table": ParameterRole(role="position_embedding")}
    x = tokens(2, 3, 16)
    y = module.embed(x, torch.tensor([4, 5, 6]))
    for offset in range(3):
        assert torch.equal(y[:, offset], x[:, offset] + module.table[4 + offset])


def test_learned_reads_its_table_from_the_offset() -> None:
    module = position("learned", offset=2).double()
    assert module.table.shape == (14, 16)
    x = tokens(2, 12, 16)
    y = module.embed(x, torch.arange(12))
    assert torch.equal(y, x + module.table[2:])
    y.sum().backward()
    assert not module.table.grad[:2].any()
    assert module.table.grad[2:].all()


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_learned_ends_with_the_context(device: str, offset: int) -> None:
    module = position("learned", offset=offset).to(device)
    module.embed(torch.zeros(1, 12, 16, device=device), torch.arange(12, device=device))
    with pytest.raises(ValueError, match="context") as caught:
        module.embed(torch.zeros(1, 13, 16, device=device), torch.arange(13, device=device))
    assert str(caught.value) == (
        "learned positions end with the context: expected at most 12 tokens, got 13"
    )


def test_learned_ends_with_the_context_while_decoding() -> None:
    with pytest.raises(ValueError, match="expected at most 12 tokens, got 13"):
        position("learned").embed(torch.zeros(1, 1, 16), torch.tensor([12]))


@pytest.mark.parametrize(
    ("name", "hooks"),
    [
        ("none", set()),
        ("learned", {"embed"}),
        ("sinusoidal", {"embed", "calibrate"}),
        ("rope", {"rotate"}),
        ("alibi", {"bias"}),
    ],
)
def test_a_position_has_the_hooks_it_needs(name: str, hooks: set[str]) -> None:
    module = position(name)
    assert {hook for hook in ("embed", "rotate", "bias", "calibrate") if hasattr(module, hook)} == (
        hooks
    )
    assert module.per_layer is False


@pytest.mark.parametrize("name", ["learned", "sinusoidal"])
def test_added_positions_keep_half_precision(name: str) -> None:
    module = position(name).bfloat16()
    x = tokens(2, 5, 16, dtype=torch.bfloat16)
    assert module.embed(x, torch.arange(5)).dtype == torch.bfloat16
