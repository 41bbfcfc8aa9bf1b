"""A block against torch's own encoder layer, an implementation that shares nothing with ours."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.components.makers import block, dims, randomize, tokens

OURS = {
    "self_attn.in_proj_": "attention.qkv.",
    "self_attn.out_proj.": "attention.out.",
    "linear1.": "feed_forward.up.",
    "linear2.": "feed_forward.down.",
    "norm1.": "attention_norm.",
    "norm2.": "feed_forward_norm.",
}


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_output_and_every_gradient_equal_torch(placement: str, bias: bool, activation: str) -> None:
    theirs = randomize(
        nn.TransformerEncoderLayer(
            32,
            4,
            dim_feedforward=48,
            dropout=0.0,
            activation=activation,
            batch_first=True,
            norm_first=placement == "pre",
            bias=bias,
        )
    ).train()  # in eval mode torch takes a fused path without gradients
    sizes = dims(
        d_model=32, d_ff=48, qkv_bias=bias, out_bias=bias, feed_forward_bias=bias, context=10
    )
    ours = block(
        sizes, placement=placement, norm=("layernorm", {"bias": bias}), activation=activation
    ).train()

    def renamed(name: str) -> str:
        prefix = next(prefix for prefix in OURS if name.startswith(prefix))
        return OURS[prefix] + name.removeprefix(prefix)

    ours.load_state_dict({renamed(name): p for name, p in theirs.state_dict().items()})
    x, probe = tokens(3, 10, 32), tokens(3, 10, 32, seed=1)
    mask = torch.ones(10, 10).triu(1).bool()
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    outputs = [theirs(inputs[0], src_mask=mask), ours(inputs[1])]
    for y in outputs:
        (y * probe).sum().backward()
    torch.testing.assert_close(outputs[1], outputs[0], rtol=0, atol=1e-10)
    torch.testing.assert_close(inputs[1].grad, inputs[0].grad, rtol=0, atol=1e-10)
    gradients = dict(ours.named_parameters())
    assert len(gradients) == len(list(theirs.parameters()))
    for name, p in theirs.named_parameters():
        ours_grad = gradients[renamed(name)].grad
        torch.testing.assert_close(ours_grad, p.grad, rtol=0, atol=1e-10)
        assert ours_grad is not None
        assert ours_grad.abs().max() > 1e-3
