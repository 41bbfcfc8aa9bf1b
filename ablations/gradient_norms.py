"""Norms of weights' gradients, taken as each gradient is made, and none of them kept.

Shapes: N tokens of all sequences, I and O features going into a linear map and out of it.
"""

from __future__ import annotations

import math
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablations.initialization import Slice
from ablations.sizes import norm

GRAM_SHARE = 0.9
"""Products of N² · (I + O) numbers take less time than one of N · I · O, and the pass over its
I · O numbers, where there are at most so many times as many."""

LEAST_COSINE = 0.015
"""Between the two Gram matrices. In float32 the norm was found wrong by at most 1.4e-7 over it, in
depth-12 stacks of both placements at widths 256 and 768: above this it is right to 1e-5."""

NORMAL = (1e-30, 1e30)
"""Squares that float32 holds with all their digits, and their products with each other's."""


@dataclass(kw_only=True)
class _Weight:
    """A linear map's weight under watch: the ranges of rows asked for, and what was found.

    `uses` counts the calls of its module: of a weight used more than once the gradients of all
    uses must be added before their norm is taken, which is left to autograd.
    """

    ranges: Sequence[slice]
    owner: weakref.ref[GradientNorms]
    uses: int = 0
    norms: tuple[float, ...] | None = None


@dataclass(kw_only=True)
class GradientNorms:
    """Norms of the gradients of parameters, of a row range each; `pieces` are those asked for.

    A weight's gradient is Gᵀ X, for X (N, I) what its map was given and G (N, O) the gradient
    there. ‖Gᵀ X‖² = ⟨X Xᵀ, G Gᵀ⟩, which needs no product of that size where N is small.
    """

    pieces: Sequence[Slice]
    _weights: dict[str, _Weight] = field(default_factory=dict)
    _state: Literal["before", "recording", "after"] = "before"
    _last: tuple[Tensor, Tensor] | None = None

    @contextmanager
    def watched(self, module: nn.Module) -> Iterator[None]:
        """Watch the linear maps in a module during the passes inside, forward and backward.

        A weight that has hooks, or that more than one module holds, is left alone, as are
        subclasses of `torch.nn.Linear`: they may compute something else.
        """
        ranges: defaultdict[str, list[slice]] = defaultdict(list)
        for piece in self.pieces:
            ranges[piece.info.path].append(piece.rows)
        held = Counter(id(p) for _, p in module.named_parameters(remove_duplicate=False))
        of_self = weakref.ref(self)  # no cycle: what a pass holds goes with it
        replaced = []
        for path, part in module.named_modules():
            name = f"{path}.weight" if path else "weight"
            if type(part) is nn.Linear and name in ranges and _plain(part, held):
                weight = self._weights[name] = _Weight(ranges=ranges[name], owner=of_self)
                part.forward = partial(_call, part, weight)  # type: ignore[method-assign]
                replaced.append(part)
        try:
            yield
        finally:
            for part in replaced:
                del part.forward

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Take the norms in the backward pass inside, and not in those of a component's own."""
        self._state = "recording"
        try:
            yield
        finally:
            self._state, self._last = "after", None

    def of(self, gradients: Mapping[str, Tensor | None]) -> dict[str, tuple[float, ...]] | None:
        """The norms by path, a range each, with the gradients that autograd has kept.

        None where a weight is used outside its module too, so that a part of its gradient has
        passed unseen.
        """
        found: dict[str, list[float]] = defaultdict(list)
        for piece in self.pieces:
            path = piece.info.path
            weight, gradient = self._weights.get(path), gradients[path]
            if weight is not None and weight.norms is not None:
                if gradient is not None:
                    return None
                found[path].append(weight.norms[len(found[path])])
            elif gradient is None:
                found[path].append(0.0)
            else:
                found[path].append(norm(gradient[piece.rows] if gradient.ndim else gradient))
        return {path: tuple(norms) for path, norms in found.items()}

    def take(self, weight: _Weight, x: Tensor, gradient: Tensor) -> Tensor | None:
        """Take the norms for x (N, I) and the gradient (N, O); the whole, (O, I), if it is needed.

        It is where a component differentiates, and of a weight used more than once; nothing is
        where all norms have been taken.
        """
        if self._state == "after":
            return None
        if self._state == "before" or weight.uses > 1:
            return gradient.t() @ x
        gram = _worthwhile(x, gradient)
        weight.norms = tuple(
            (self._by_gram(x, part) if gram else None) or norm(part.t() @ x)
            for part in (gradient[:, rows] for rows in weight.ranges)
        )
        return None

    def _by_gram(self, x: Tensor, gradient: Tensor) -> float | None:
        """The norm from Gram matrices; None where that may not be right to 1e-5."""
        a, b = self._gram(x).flatten(), (gradient @ gradient.t()).flatten()  # (N · N,)
        product, of_a, of_b = (float(torch.dot(*pair)) for pair in ((a, b), (a, a), (b, b)))
        if not all(NORMAL[0] < size < NORMAL[1] for size in (product, of_a, of_b)):
            return None
        return math.sqrt(product) if product >= LEAST_COSINE * math.sqrt(of_a * of_b) else None

    def _gram(self, x: Tensor) -> Tensor:
        """X Xᵀ (N, N), that of the last x at hand: the maps of q, k and v are given the same."""
        if self._last is None or not _same(self._last[0], x):
            # The tensor is held with it, so that no other can take its place in memory.
            self._last = x, x @ x.t()
        return self._last[1]


class _Linear(torch.autograd.Function):
    """y = x Wᵀ + b for x (N, I), as `torch.nn.functional.linear`; of W's gradient only norms."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, matrix: Tensor, bias: Tensor | None, weight: _Weight
    ) -> Tensor:
        ctx.save_for_backward(x, matrix)
        ctx.weight = weight
        return F.linear(x, matrix, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, matrix = ctx.saved_tensors
        of_x = gradient @ matrix if ctx.needs_input_grad[0] else None
        of_bias = gradient.sum(0) if ctx.needs_input_grad[2] else None
        weight: _Weight = ctx.weight
        owner = weight.owner()
        of_matrix = owner.take(weight, x, gradient) if owner else gradient.t() @ x
        return of_x, of_matrix, of_bias, None


def _call(module: nn.Linear, weight: _Weight, input: Tensor) -> Tensor:
    if _elsewhere(module, input):
        return F.linear(input, module.weight, module.bias)
    weight.uses += 1
    rows = input.reshape(-1, input.shape[-1])  # (…, I) → (N, I)
    # Shaped out here: what a Function returns as a view cannot be changed in place.
    y: Tensor = _Linear.apply(rows, module.weight, module.bias, weight)  # type: ignore[no-untyped-call]
    return y.view(*input.shape[:-1], y.shape[-1])


def _elsewhere(module: nn.Linear, x: object) -> bool:
    """Whether something else takes part in the call, as autocast, `torch.func` or a hook."""
    return (
        type(x) not in (Tensor, nn.Parameter)
        or type(module.weight) is not nn.Parameter
        or bool(module.weight._backward_hooks)
        or torch.is_autocast_enabled(module.weight.device.type)
        or torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
    )


def _plain(module: nn.Linear, held: Counter[int]) -> bool:
    """Whether its weight's gradient is made by its own `forward` alone."""
    matrix = module.weight
    return (
        "forward" not in vars(module)
        and held[id(matrix)] == 1
        and matrix.requires_grad
        and not getattr(matrix, "_post_accumulate_grad_hooks", None)
    )


def _worthwhile(x: Tensor, gradient: Tensor) -> bool:
    """Whether Gram matrices take less time for x (N, I) and the gradient (N, O)."""
    (tokens, inputs), outputs = x.shape, gradient.shape[1]
    exact = x.dtype in (torch.float32, torch.float64) and x.device.type == "cpu"
    return exact and tokens * (inputs + outputs) < GRAM_SHARE * inputs * outputs


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are one in memory."""
    return (
        one.data_ptr() == other.data_ptr()
        and one.shape == other.shape
        and one.stride() == other.stride()
    )
