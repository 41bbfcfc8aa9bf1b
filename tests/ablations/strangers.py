"""Components and a measure as strangers write them, each failing in its own way."""

import random

import numpy as np
import torch
from torch import nn

from ablations.trial import Measurement
from components.placements import Pre
from registry import Dims, Incompatible, ParameterRole


class Raising(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        raise RuntimeError("not today")


class Exploding(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return x * torch.inf


class Even(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        if dims.d_model % 8:
            raise Incompatible(f"norm 'even': d_model must divide by 8, not {dims.d_model}")

    def forward(self, x):
        return x / 2


class Never(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    @classmethod
    def unsupported(cls, dims: Dims, model: object) -> str:
        return "no dims suit it"


class Drawing(nn.Module):
    """A norm that draws a constant, which its constructor keeps."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.randn(dims.d_model))

    def forward(self, x):
        return x + self.shift


class _Fade(torch.autograd.Function):
    """Leaves x as it is, and multiplies the gradient."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Fading(nn.Module):
    """A norm whose gradient is `factor` times what it should be."""

    def __init__(self, dims: Dims, *, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return _Fade.apply(torch.nn.functional.layer_norm(x, x.shape[-1:]), self.factor)


class Tanh(nn.Module):
    """DynamicTanh without parameters (arXiv:2503.10622)."""

    def __init__(self, dims: Dims, *, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return torch.tanh(self.alpha * x)


class OtherNames(nn.Module):
    """A pre-norm block whose parts have other names, come in another order, and draw."""

    final_norm = True

    def __init__(self, dims: Dims, norm, feed_forward, attention, residual) -> None:
        super().__init__()
        self.ffn, self.add2 = feed_forward(), residual()
        self.mixer, self.add1 = attention(), residual()
        self.norms = nn.ModuleList([norm(), norm()])
        self.drawn = nn.Parameter(torch.randn(3))

    def forward(self, x, **mixing):
        x = self.add1(x, self.mixer(self.norms[0](x), **mixing))
        return self.add2(x, self.ffn(self.norms[1](x)))


class Hiding(OtherNames):
    """Keeps its norms where torch does not find them."""

    def __init__(self, dims: Dims, norm, feed_forward, attention, residual) -> None:
        super().__init__(dims, norm, feed_forward, attention, residual)
        del self.norms
        self.norms = [norm(), norm()]


class Veiled(nn.Module):
    """A post-norm block behind whose last norm something else stands."""

    final_norm = False

    def __init__(self, dims: Dims, norm, feed_forward, attention, residual) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention(), feed_forward()
        self.add, self.norms = residual(), nn.ModuleList([norm(), norm()])

    def forward(self, x, **mixing):
        x = self.norms[0](self.add(x, self.attention(x, **mixing)))
        return self.norms[1](self.add(x, self.feed_forward(x))) * 2


class Twice(nn.Module):
    """A block with two attentions, one after the other."""

    final_norm = True

    def __init__(self, dims: Dims, norm, attention, residual) -> None:
        super().__init__()
        self.first, self.second = attention(), attention()
        self.norms, self.add = nn.ModuleList([norm(), norm()]), residual()

    def forward(self, x, **mixing):
        x = self.add(x, self.first(self.norms[0](x), **mixing))
        return self.add(x, self.second(self.norms[1](x), **mixing))


class Undecided(OtherNames):
    final_norm = "maybe"


class Mean(nn.Module):
    """A causal mean: an attention without hooks, weights, cache or dropout."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.mix = nn.Linear(dims.d_model, dims.d_model)

    def forward(self, x):
        counts = torch.arange(1, x.shape[1] + 1, device=x.device)
        return self.mix(x.cumsum(1) / counts[:, None])


class Roles(nn.Module):
    """A feed-forward that sets one matrix itself and gives another to the initializer by role."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.eye(dims.d_model))
        self.vector = nn.Parameter(torch.zeros(dims.d_model))
        self.scalar = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return self.scalar * (x @ self.own) + self.vector

    def parameter_roles(self):
        return {
            "own": ParameterRole(role="mixing", initialized=False),
            "vector": ParameterRole(role="offset", initialized=True),
        }


class WrongRanges(Roles):
    def parameter_roles(self):
        return {
            "own": [ParameterRole(role="q", rows=(0, 4)), ParameterRole(role="k", rows=(5, 32))]
        }


class WrongName(Roles):
    def parameter_roles(self):
        return {"owned": ParameterRole(role="mixing")}


class PerLayer(nn.Module):
    """A position with one module a block, that shifts scores by the block's number."""

    per_layer = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.layer = dims.layer

    def bias(self, n_heads, q_positions, k_positions):
        return torch.full((n_heads, len(q_positions), len(k_positions)), float(self.layer))


class Keeping(OtherNames):
    """Forgets to hand `mixing` to its attention."""

    def forward(self, x, **mixing):
        x = self.add1(x, self.mixer(self.norms[0](x)))
        return self.add2(x, self.ffn(self.norms[1](x)))


class InPlace(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return x.mul_(2)


class Narrow(Mean):
    """Returns (B, 1, D), which a residual would broadcast without a word."""

    def forward(self, x):
        return self.mix(x.mean(1, keepdim=True))


class Pair(Mean):
    def forward(self, x):
        return x, x


class Careless:
    """An initializer that draws from the global generator."""

    def __init__(self, dims: Dims) -> None: ...

    def fill(self, tensor, info, generator):
        tensor.normal_(0, 0.02)


class SlowQueries:
    """Trains the queries at a fraction of the rate."""

    def __init__(self, dims: Dims, *, scale: float = 0.25) -> None:
        self.scale = scale

    def fill(self, tensor, info, generator):
        tensor.normal_(0, 0.02, generator=generator)

    def learning_rate_scale(self, info):
        return self.scale if info.role == "q" else 1.0


class Balancing(nn.Module):
    """A feed-forward that asks training to pull its scale towards 3."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.scale * x

    def auxiliary_loss(self):
        return 1e3 * (self.scale - 3).square()


class Unmasked(nn.Module):
    """An attention without a mask: every token sees all others."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.qkv = nn.Linear(dims.d_model, 3 * dims.d_model)
        self.heads = dims.n_heads

    def forward(self, x):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2).flatten(2)


class Exiting(nn.Module):
    def __init__(self, dims: Dims) -> None:
        raise SystemExit(0)


class Dicing(nn.Module):
    """A norm that draws from every global generator in each pass."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return x * (1 + torch.rand(()) + random.random() + np.random.random())


class TableEach(nn.Module):
    """A position with a matrix of its own in each block."""

    per_layer = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(dims.context, dims.context))

    def bias(self, n_heads, q_positions, k_positions):
        return self.table[q_positions][:, k_positions].expand(n_heads, -1, -1)


class Breaking(nn.Module):
    def __init__(self, dims: Dims) -> None:
        raise RuntimeError("cannot be built")


class Turned(nn.Module):
    """A feed-forward with a rotation of its own, held column by column as torch returns it."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        rotation = torch.linalg.qr(torch.randn(dims.d_model, dims.d_model)).Q
        self.rotation = nn.Parameter(rotation)
        self.steps = nn.Parameter(torch.linspace(0, 1, 2 * dims.d_model)[::2])

    def forward(self, x):
        return x @ self.rotation * self.steps

    def parameter_roles(self):
        return {"rotation": ParameterRole(role="rotation", initialized=False)}


class Narrowing(Pre):
    """A placement that makes one of our matrices smaller, where the constructor drew it."""

    def __init__(self, dims, attention, feed_forward, residual, norm):
        super().__init__(dims, attention, feed_forward, residual, norm)
        weight = self.feed_forward.down.weight
        with torch.no_grad():
            weight.mul_(0.1)
        self.size = None if weight.is_meta else float(weight.detach().std())


class Penalized(nn.Module):
    """A feed-forward that uses one of its weights outside its module too."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.up = nn.Linear(dims.d_model, dims.d_ff)
        self.down = nn.Linear(dims.d_ff, dims.d_model)

    def forward(self, x):
        return self.down(self.up(x).relu() - x @ self.up.weight.T)


class Heads(nn.Module):
    """A feed-forward whose one matrix holds the same roles twice."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.fused = nn.Linear(dims.d_model, 2 * dims.d_model, bias=False)

    def forward(self, x):
        one, other = self.fused(x).chunk(2, dim=-1)
        return one * other

    def parameter_roles(self):
        width = self.fused.out_features // 4
        return {
            "fused.weight": [
                ParameterRole(role="qv"[i % 2], rows=(i * width, (i + 1) * width)) for i in range(4)
            ]
        }


NORMS = {
    "dicing": Dicing,
    "exiting": Exiting,
    "breaking": Breaking,
    "raising": Raising,
    "exploding": Exploding,
    "even": Even,
    "never": Never,
}


class Answer:
    def measure(self, context):
        assert context.skeleton().architecture is context.architecture
        return Measurement(metrics={"value": 42.0})


class Weighing(Answer):
    """Tells what it will take from the decoder's own parameters."""

    def flops(self, decoder):
        assert all(parameter.dtype == torch.float32 for parameter in decoder.parameters())
        return float(sum(parameter.numel() for parameter in decoder.parameters()))

    def least_bytes(self, decoder):
        return sum(p.numel() * p.element_size() for p in decoder.parameters())
