"""Where attention looks at initialization: its weights, and figures of all of them.

Shapes: B batch, T tokens, D d_model, H heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, MinLen
from torch import Tensor

from ablations.architecture import Architecture
from ablations.data import RANDOM
from ablations.measures.of_a_pass import OfAPass
from ablations.measures.trends import largest
from ablations.observation import PassOptions
from ablations.results import ArrayValues, ProfileValues
from ablations.trial import Measurement, NotApplicable, TrialContext
from ablations.watching import Mixing

Places = Annotated[tuple[Annotated[int, Ge(0)], ...], MinLen(1)]


class AttentionMap(OfAPass):
    """Entropy, largest score and largest weights of every head, and the maps of chosen ones.

    By layer, over sequences and heads: `entropy`, the mean of H(p) / log n over the rows p that
    see n ≥ 2 keys (0: one key takes all; 1: uniform); `largest_logit`, the largest scaled score;
    `row_max`, the mean of a row's largest weight over the later half of rows, again of those that
    see more than one key. The metrics are the means over layers, of `largest_logit` the largest.

    The map of each chosen layer (by default the first and the last) and head is kept for the first
    sequence, (T, T), the weights of query t in row t, as float32. Of a block with several
    attentions the figures are of all of them, and every map is kept.

    An attention needs `weights`; `largest_logit` needs `scores` as well.
    """

    def __init__(
        self,
        *,
        batch: Annotated[int, Gt(0)] = 2,
        length: Annotated[int, Gt(0)] | None = None,
        data: str = RANDOM,
        layers: Places | None = None,
        heads: Places = (0,),
    ) -> None:
        self.options = PassOptions(batch=batch, length=length, data=data)
        self.layers = layers
        self.heads = heads

    def unsupported(self, architecture: Architecture) -> str | None:
        """Why a cell cannot be measured so, told before anything runs."""
        for name, places, size in (
            ("layers", self.layers or (), architecture.depth),
            ("heads", self.heads, architecture.n_heads),
        ):
            over = [place for place in places if place >= size]
            if over:
                return f"{name} are counted from 0 to {size - 1}: got {over[0]}"
        return super().unsupported(architecture)

    def measure(self, context: TrialContext) -> Measurement:
        """Return the figures of one shared pass. Raises: NotApplicable without any weights."""
        seen = context.observe(self.options)
        kept = {0, context.architecture.depth - 1} if self.layers is None else set(self.layers)
        rows: dict[str, dict[int, list[float]]] = {name: {} for name in FIGURES}
        arrays: dict[str, ArrayValues] = {}
        for mixing in seen.mixings:
            if not hasattr(mixing.module, "weights"):
                continue
            with torch.no_grad():
                looks = Looks.of(mixing)
            for name, value in looks.figures().items():
                rows[name].setdefault(mixing.layer, []).append(value)
            if mixing.layer in kept:
                for head in self.heads:
                    name = f"layer_{mixing.layer}_head_{head}"
                    if name in arrays:
                        name = f"layer_{mixing.layer}_attention_{len(arrays)}_head_{head}"
                    arrays[name] = _kept(looks.weights[0, head])
        if not any(rows.values()) and not arrays:
            raise NotApplicable("no attention offers its weights")
        by_layer = {
            name: {layer: SUMMARY[name](values) for layer, values in layers.items()}
            for name, layers in rows.items()
            if layers
        }
        metrics = {name: SUMMARY[name](values.values()) for name, values in by_layer.items()}
        profiles = {name: ProfileValues.at("depth", values) for name, values in by_layer.items()}
        return Measurement(metrics=metrics, profiles=profiles, arrays=arrays)


@dataclass(frozen=True, kw_only=True)
class Looks:
    """What one attention's queries see: weights (B, H, T, T), and the largest score if known."""

    weights: Tensor
    visible: Tensor  # (B, H, T, T)
    largest: float | None

    @classmethod
    def of(cls, mixing: Mixing) -> Looks:
        """Of one call of an attention; a cache has no part in it."""
        module: Any = mixing.module
        weights = module.weights(mixing.x, **mixing.rest)
        if not hasattr(module, "scores"):
            return cls(weights=weights, visible=weights > 0, largest=None)
        scores = module.scores(mixing.x, **mixing.rest)
        return cls(weights=weights, visible=scores != -torch.inf, largest=float(scores.max()))

    def figures(self) -> Mapping[str, float]:
        """`entropy`, `row_max` and `largest_logit`, those that exist."""
        found = {} if self.largest is None else {"largest_logit": self.largest}
        entropies, largest = [], []
        length = self.weights.shape[-2]
        # Head by head, as all of them in float64 would be large for long sequences.
        for rows, visible in zip(
            self.weights.flatten(0, 1), self.visible.flatten(0, 1), strict=True
        ):  # (T, T)
            keys = visible.sum(dim=-1)  # (T,)
            several = keys > 1
            # The entropy of a row that a NaN is in is NaN, and so is then the mean.
            entropy = torch.special.entr(rows.double()).sum(dim=-1)  # (T,)
            entropies.append(entropy[several] / keys[several].double().log())
            later = torch.arange(length, device=keys.device) >= length / 2
            largest.append(rows.amax(dim=-1).double()[several & later])
        for name, values in (("entropy", torch.cat(entropies)), ("row_max", torch.cat(largest))):
            if len(values):
                found[name] = float(values.mean())
        return found


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return math.fsum(known) / len(known) if all(map(math.isfinite, known)) else math.nan


SUMMARY = {"entropy": _mean, "row_max": _mean, "largest_logit": largest}
FIGURES = tuple(SUMMARY)
"""The figures, and how several attentions of a block, and the layers, are summed up."""


def _kept(weights: Tensor) -> ArrayValues:
    """A map (T, T) as it is stored."""
    rows = weights.detach().to("cpu", torch.float32).contiguous()
    return ArrayValues(shape=tuple(rows.shape), dtype="<f4", data=rows.numpy().tobytes())
