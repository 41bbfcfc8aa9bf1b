"""Norms of gradients against the gradients themselves, however a linear map is used."""

import gc
import math
import weakref
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ablations import gradient_norms
from ablations.data import sequences
from ablations.gradient_norms import GradientNorms
from ablations.initialization import initialized_decoder, slices
from ablations.observation import observe_on
from ablations.trial import Trial, TrialContext
from tests.ablations.decoders import small

MODELS = [
    {},
    {"norm": "rmsnorm", "activation": "swiglu", "position": "rope", "bias": False},
    {"attention": {"gqa": {"n_kv_heads": 2}}, "tie_embeddings": True, "position": "alibi"},
    {"placement": "deepnorm", "initializer": "xavier"},
    {"placement": "parallel", "attention": {"mha": {"qkv": "separate", "qk_norm": "per_head"}}},
    {"share_layers": 3},
    {"share_layers": 2, "depth": 4},
    {"feed_forward": "heads", "norm": "drawing"},
    {"feed_forward": "penalized"},
    {"placement": "twice"},
]


def context(architecture, seed=0):
    return TrialContext(Trial(cell="", seed=seed, architecture=architecture, measures=()))


def passed(decoder, asked, batch):
    tokens, targets = sequences(
        "random", batch=batch, length=16, vocab_size=64, generator=asked.generator
    )
    seen = observe_on(decoder, tokens, targets, asked.generator)
    loss = F.cross_entropy(decoder(tokens).flatten(0, 1), targets.flatten())
    pieces = [piece for piece in slices(decoder) if piece.block is not None]
    gradients = torch.autograd.grad(loss, [p.parameter for p in pieces], materialize_grads=True)
    norms = {}
    for piece, gradient in zip(pieces, gradients, strict=True):
        part = gradient[piece.rows] if gradient.ndim else gradient
        norms.setdefault(piece.info.path, []).append(float(part.double().norm()))
    return seen.gradient_norms, norms


@pytest.mark.parametrize("batch", [1, 8], ids=["by Gram matrices", "by products"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_pass_tells_the_norms_of_the_gradients(model, batch):
    for dtype, most in ((torch.float32, 1e-5), (torch.float64, 1e-11)):
        asked = context(small(**model))
        decoder = initialized_decoder(asked.architecture, 0, dtype=dtype).eval()
        seen, norms = passed(decoder, asked, batch)
        assert list(seen) == list(norms)
        for path, expected in norms.items():
            # A key bias has no gradient but for rounding.
            assert seen[path] == pytest.approx(expected, rel=most, abs=most * 1e-3), path


class Maps(nn.Module):
    """A map used in some way, behind another that is used plainly."""

    def __init__(self, use, features=24):
        super().__init__()
        self.first, self.map = nn.Linear(features, 32), nn.Linear(32, features)
        self.use = use

    def forward(self, x):
        return self.use(self.map, self.first(x).tanh())


def by_functional_call(map_, x):
    own = {name: value * 1.5 for name, value in map_.named_parameters()}
    return torch.func.functional_call(map_, own, (x,))


def by_vmap(map_, x):
    return torch.vmap(map_)(x)


def by_jvp(map_, x):
    return sum(torch.func.jvp(map_, (x,), (torch.ones_like(x),)))


def by_autocast(map_, x):
    with torch.autocast("cpu", torch.bfloat16):
        return map_(x).float()


def unused(map_, x):
    return x[..., :24] + map_(x).detach()


def chosen_tokens(map_, x):
    """As of an expert that no token is sent to."""
    return x[..., :24] + map_(x[x[..., 0] > 1e9]).sum()


def by_energy(map_, x):
    """The gradient of an energy, which autograd does not follow to the map."""
    z = x.detach().requires_grad_()
    (force,) = torch.autograd.grad(map_(z).square().sum(), z)
    return x[..., :24] + force[..., :24]


def by_fast_weights(map_, x):
    """A step of a loss within, and the map as it is after it."""
    (step,) = torch.autograd.grad(map_(x).square().mean(), map_.weight, create_graph=True)
    return F.linear(x, map_.weight - 0.1 * step, map_.bias)


def hooked(map_, x):
    """As a constructor may do it."""
    if not map_.weight._backward_hooks:
        map_.weight.register_hook(lambda gradient: gradient * 3)
    return map_(x)


USES = {
    "plainly": lambda map_, x: map_(x),
    "on one token": lambda map_, x: map_(x[0, 0]),
    "in place afterwards": lambda map_, x: map_(x).mul_(2.0),
    "twice": lambda map_, x: map_(x) + map_(x * x),
    "twice, once for nothing": lambda map_, x: (map_(x), map_(x * x).detach())[0],
    "outside its module": lambda map_, x: F.linear(x, map_.weight),
    "outside its module too": lambda map_, x: map_(x) + F.linear(x * x, map_.weight),
    "recomputed": lambda map_, x: checkpoint(map_, x, use_reentrant=False),
    "under torch.no_grad": lambda map_, x: x[..., :24] + torch.no_grad()(map_)(x),
    "for nothing": unused,
    "by functional_call": by_functional_call,
    "by vmap": by_vmap,
    "by jvp": by_jvp,
    "under autocast": by_autocast,
    "with a hook on its weight": hooked,
    "on no token": chosen_tokens,
    "by an energy's gradient": by_energy,
    "by fast weights": by_fast_weights,
}


def pieces_of(module):
    return [
        SimpleNamespace(
            info=SimpleNamespace(path=path), rows=slice(None), parameter=parameter, block=0
        )
        for path, parameter in module.named_parameters()
    ]


def watched(module, x):
    norms = GradientNorms(pieces=pieces_of(module))
    names, parameters = zip(*module.named_parameters(), strict=True)
    with norms.watched(module):
        loss = module(x).square().mean()
        with norms.recorded():
            of_x, *found = torch.autograd.grad(loss, [x, *parameters], allow_unused=True)
    return of_x, norms.of(dict(zip(names, found, strict=True)))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch.func's own
@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("use", USES)
def test_a_map_may_be_used_in_any_way(use, batch):
    torch.manual_seed(0)
    module = Maps(USES[use])
    x = torch.randn(batch, 3, 24, requires_grad=True)
    of_x, found = watched(module, x)
    assert (found is None) == (use in ("outside its module too", "by fast weights"))
    names, parameters = zip(*module.named_parameters(), strict=True)
    expected, *gradients = torch.autograd.grad(
        module(x).square().mean(), [x, *parameters], materialize_grads=True
    )
    assert torch.equal(of_x, expected)
    for name, gradient in zip(names, gradients, strict=True):
        if found is not None:
            assert found[name] == (pytest.approx(float(gradient.norm()), rel=1e-5),), name
    assert not any("forward" in vars(part) for part in module.modules())


def test_hooks_are_seen_to_their_end():
    """A pass that fails leaves the decoder as it was."""

    def fail(map_, x):
        raise RuntimeError("no")

    module = Maps(fail)
    with (
        pytest.raises(RuntimeError, match="no"),
        GradientNorms(pieces=pieces_of(module)).watched(module),
    ):
        module(torch.ones(2, 24))
    assert not any("forward" in vars(part) for part in module.modules())


@pytest.mark.parametrize(
    ("shared", "scale", "right"),
    [(0.0, 1.0, True), (0.3, 1e3, True), (30.0, 1.0, False), (0.0, 1e-12, False), (0, 1e12, False)],
)
def test_where_gram_matrices_would_be_wrong_the_product_is_taken(shared, scale, right, monkeypatch):
    """Rows that are nearly alike meet gradients that add up to nothing; squares leave float32."""
    ways = []
    gram = GradientNorms._by_gram
    monkeypatch.setattr(
        GradientNorms, "_by_gram", lambda *given: ways.append(gram(*given)) or ways[-1]
    )
    torch.manual_seed(0)
    module = nn.Linear(256, 256, bias=False)
    x = torch.randn(64, 256) + shared * torch.randn(256)
    gradient = torch.randn(64, 256)
    gradient = scale * (gradient - gradient.mean(0))
    norms = GradientNorms(pieces=pieces_of(module))
    with norms.watched(module), norms.recorded():
        (found,) = torch.autograd.grad(module(x), module.weight, gradient, allow_unused=True)
    (told,) = norms.of({"weight": found})["weight"]
    assert told == pytest.approx(float((gradient.double().t() @ x.double()).norm()), rel=1e-5)
    assert [way is not None for way in ways] == [right]


@pytest.mark.parametrize(
    ("tokens", "inputs", "outputs", "gram"),
    [(128, 768, 2304, 1), (128, 256, 768, 1), (128, 256, 256, 0), (512, 256, 768, 0)],
)
def test_the_way_is_chosen_by_shape(tokens, inputs, outputs, gram):
    x, gradient = torch.empty(tokens, inputs), torch.empty(tokens, outputs)
    assert gradient_norms._worthwhile(x, gradient) == bool(gram)
    assert not gradient_norms._worthwhile(x.bfloat16(), gradient.bfloat16())


def test_no_gradient_of_a_map_is_kept():
    """What is held after the pass is smaller than the weights."""
    asked = context(small(d_model=64, n_heads=4))
    decoder = initialized_decoder(asked.architecture, 0)
    tokens = torch.zeros(1, 16, dtype=torch.long)
    seen = observe_on(decoder, tokens, tokens, asked.generator)
    held = sum(v.numel() for v in vars(seen).values() if isinstance(v, torch.Tensor))
    assert held < sum(p.numel() for p in decoder.parameters()) / 4
    assert all(math.isfinite(norm) for norms in seen.gradient_norms.values() for norm in norms)


def test_what_a_pass_held_goes_with_it():
    asked = context(small())
    decoder = initialized_decoder(asked.architecture, 0)
    weight = weakref.ref(decoder.blocks[0].attention.qkv.weight)
    tokens = torch.zeros(1, 16, dtype=torch.long)
    gc.collect()
    gc.disable()
    try:
        seen = observe_on(decoder, tokens, tokens, asked.generator)
        mixing = seen.mixings[0].module
        del decoder, seen, mixing
        assert weight() is None
    finally:
        gc.enable()
