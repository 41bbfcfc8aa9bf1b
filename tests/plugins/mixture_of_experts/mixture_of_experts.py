# mixture_of_experts.py: a few of many feed-forwards for each token (arXiv:1701.06538)
from typing import Annotated

import torch
from annotated_types import Ge

from registry import ComponentSpec, Dims, Example, Incompatible, Maker, ParameterRole, hookimpl


class MixtureOfExperts(torch.nn.Module):
    """y = Σ_e g_e · down_e(f(up_e(x))), g the softmax over the `top` largest of router(x), else 0.

    (B, T, D) → (B, T, D). Deviation from the paper: every expert sees every token, so that nothing
    depends on the batch; no noise and no loss that balances the experts.
    """

    def __init__(
        self,
        dims: Dims,
        activation: Maker,
        *,
        experts: Annotated[int, Ge(2)] = 4,
        top: Annotated[int, Ge(1)] = 2,
    ) -> None:
        super().__init__()
        if top > experts:
            raise Incompatible(f"{top} of {experts} experts cannot be chosen")
        self.top = top
        self.activation = activation()
        self.parts = 2 if getattr(self.activation, "gated", False) else 1
        self.d_ff, bias = dims.d_ff, dims.feed_forward_bias
        self.router = torch.nn.Linear(dims.d_model, experts, bias=False)
        self.up = torch.nn.ModuleList(
            torch.nn.Linear(dims.d_model, self.parts * dims.d_ff, bias=bias) for _ in range(experts)
        )
        self.down = torch.nn.ModuleList(
            torch.nn.Linear(dims.d_ff, dims.d_model, bias=bias) for _ in range(experts)
        )

    def forward(self, x):
        logits = self.router(x)  # (B, T, E)
        largest, chosen = logits.topk(self.top, dim=-1)  # (B, T, top)
        gates = torch.zeros_like(logits).scatter(-1, chosen, largest.softmax(-1))
        y = torch.zeros_like(x)
        for gate, up, down in zip(gates.unbind(-1), self.up, self.down, strict=True):
            hidden = self.activation(*up(x).chunk(self.parts, dim=-1))  # (B, T, F)
            y = y + gate[..., None] * down(hidden)
        return y

    def parameter_roles(self):
        rows = [("up", (0, self.d_ff))]
        if self.parts == 2:
            rows = [("gate", (0, self.d_ff)), ("up", (self.d_ff, 2 * self.d_ff))]
        roles = {"router.weight": ParameterRole(role="router")}
        for expert in range(len(self.up)):
            roles[f"up.{expert}.weight"] = [ParameterRole(role=r, rows=part) for r, part in rows]
            roles[f"down.{expert}.weight"] = ParameterRole(role="down")
        return roles


@hookimpl
def register_components():
    return [
        ComponentSpec(
            kind="feed_forward",
            name="mixture_of_experts",
            target=MixtureOfExperts,
            summary="the best few of several feed-forwards for each token",
            source="arXiv:1701.06538",
            examples=(Example(), Example(options={"experts": 2, "top": 2})),
        )
    ]
