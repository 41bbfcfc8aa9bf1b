"""Attention on the meta device keeps and computes what it does on the CPU."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from ablations.counting.fused_attention import FLOPS, FusedAttention
from ablations.counting.step import Saved

B, H, T, C = 2, 4, 24, 8


def make(device, *shape, dtype=torch.float32, grad=True):
    return torch.ones(shape, dtype=dtype, device=device, requires_grad=grad)


def plain(device, *, k=H, width=C, length=T, dtype=torch.float32):
    return (
        make(device, B, H, T, C, dtype=dtype),
        make(device, B, k, length, C, dtype=dtype),
        make(device, B, k, length, width, dtype=dtype),
    )


def half_open(device):
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()


def across(tensor):
    """The same values, features apart in memory."""
    return tensor.detach().mT.contiguous().mT.requires_grad_()


CASES = {
    "plain": lambda d: (plain(d), {}),
    "causal": lambda d: (plain(d), {"is_causal": True}),
    "scaled": lambda d: (plain(d), {"scale": 0.5}),
    "grouped": lambda d: (plain(d, k=2), {"is_causal": True, "enable_gqa": True}),
    "one key/value head": lambda d: (plain(d, k=1), {"enable_gqa": True}),
    "half precision": lambda d: (plain(d, dtype=torch.bfloat16), {"is_causal": True}),
    "double": lambda d: (plain(d, dtype=torch.float64), {"is_causal": True}),
    "longer keys": lambda d: (plain(d, length=2 * T), {}),
    "a mask": lambda d: (plain(d), {"attn_mask": half_open(d)}),
    "a bias": lambda d: (plain(d), {"attn_mask": make(d, T, T, grad=False)}),
    "a bias for each head": lambda d: (plain(d), {"attn_mask": make(d, 1, H, T, T, grad=False)}),
    "a bias of three dimensions": lambda d: (
        plain(d),
        {"attn_mask": make(d, H, T, T, grad=False)},
    ),
    "a learned bias": lambda d: (plain(d), {"attn_mask": make(d, T, T)}),
    "wider values": lambda d: (plain(d, width=2 * C), {"is_causal": True}),
    "dropout": lambda d: (plain(d), {"dropout_p": 0.5}),
    "no heads": lambda d: (tuple(t.detach()[0].requires_grad_() for t in plain(d)), {}),
    "features apart": lambda d: (tuple(map(across, plain(d))), {}),
}
FUSED = {
    "plain", "causal", "scaled", "grouped", "one key/value head", "half precision", "double",
    "longer keys", "a mask", "a bias", "a bias for each head",
}  # fmt: skip


def kept(device, case):
    """Bytes that autograd keeps of one call, and what computed it."""
    qkv, options = CASES[case](device)
    saved = Saved([])
    with saved.watched():
        y = F.scaled_dot_product_attention(*qkv, **options)
    return saved.nbytes, y


@pytest.mark.parametrize("case", CASES)
def test_the_meta_device_keeps_what_the_cpu_does(case):
    expected, real = kept("cpu", case)
    with FusedAttention():
        found, y = kept("meta", case)
    assert found == expected
    assert y.shape == real.shape
    assert (type(real.grad_fn).__name__ == type(y.grad_fn).__name__) or case not in FUSED
    assert ("Flash" in type(y.grad_fn).__name__) == (case in FUSED)
    assert ("Flash" in type(real.grad_fn).__name__) == (case in FUSED)


def flops(case, *, fused):
    qkv, options = CASES[case]("meta")
    with FlopCounterMode(display=False, custom_mapping=dict(FLOPS) if fused else None) as counter:
        if fused:
            with FusedAttention():
                y = F.scaled_dot_product_attention(*qkv, **options)
        else:
            y = F.scaled_dot_product_attention(*qkv, **options)
        forward = counter.get_total_flops()
        y.sum().backward()
    return forward, counter.get_total_flops() - forward


@pytest.mark.parametrize("case", CASES)
def test_flops_are_those_of_torch_where_the_map_is_written_out(case):
    found = flops(case, fused=True)
    assert found == flops(case, fused=False)
    (q, k, v), _ = CASES[case]("meta")
    pairs = q.shape[:-1].numel() * k.shape[-2]
    forward = 2 * pairs * (C + v.shape[-1])
    assert found == (forward, 2 * forward)


def test_arguments_may_be_named_and_other_devices_are_left_alone():
    q, k, v = plain("meta")
    with FusedAttention():
        y = F.scaled_dot_product_attention(query=q, key=k, value=v, is_causal=True)
        assert "Flash" in type(y.grad_fn).__name__
        real = F.scaled_dot_product_attention(*plain("cpu"))
    assert torch.equal(real, torch.ones(B, H, T, C))


def test_it_takes_no_memory_to_choose():
    q, k, v = (torch.empty(1, 32, 2**20, 128, device="meta", requires_grad=True) for _ in range(3))
    mask = torch.empty(1, 32, 2**20, 2**20, device="meta")
    with FusedAttention():
        y = F.scaled_dot_product_attention(q, k, v, mask)
    assert "Flash" in type(y.grad_fn).__name__
