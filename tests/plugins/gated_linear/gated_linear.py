# gated_linear.py: an attention without a softmax, whose memory does not grow (arXiv:2312.06635)
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Gt

from registry import ComponentSpec, Dims, ParameterRole, hookimpl


class GatedLinearAttention(torch.nn.Module):
    """S_t = a_t S_{t-1} + k_t v_tᵀ, y_t = S_tᵀ q_t / C, a_t = σ(decay(x_t))^(1 / temperature).

    (B, T, D) → (B, T, D), each head with a state S of its own. Deviation from the paper: one gate
    for each head instead of one for each of its features; all tokens at once, in T² steps.
    """

    def __init__(self, dims: Dims, *, temperature: Annotated[float, Gt(0)] = 16.0) -> None:
        super().__init__()
        self.heads, self.temperature = (dims.n_heads, dims.head_dim), temperature
        self.width = dims.n_heads * dims.head_dim
        self.qkv = torch.nn.Linear(dims.d_model, 3 * self.width, bias=dims.qkv_bias)
        self.decay = torch.nn.Linear(dims.d_model, dims.n_heads)
        self.out = torch.nn.Linear(self.width, dims.d_model, bias=dims.out_bias)

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, self.heads).transpose(1, 2)  # (B, H, T, C)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        kept = (F.logsigmoid(self.decay(x)) / self.temperature).mT.cumsum(-1)  # (B, H, T)
        fading = (kept[..., :, None] - kept[..., None, :]).tril().exp().tril()  # (B, H, T, T)
        y = (q @ k.mT * fading / q.shape[-1]) @ v  # (B, H, T, C)
        return self.out(y.transpose(1, 2).flatten(2))

    def parameter_roles(self):
        rows = [(0, self.width), (self.width, 2 * self.width), (2 * self.width, 3 * self.width)]
        return {
            "qkv.weight": [
                ParameterRole(role=role, rows=part) for role, part in zip("qkv", rows, strict=True)
            ],
            "out.weight": ParameterRole(role="attention_output"),
        }


@hookimpl
def register_components():
    return [
        ComponentSpec(
            kind="attention",
            name="gated_linear",
            target=GatedLinearAttention,
            summary="linear attention with a gate that forgets",
            source="arXiv:2312.06635",
        )
    ]
