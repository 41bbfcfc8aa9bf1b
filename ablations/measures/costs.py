"""What a cell costs: computation, memory and cache, from its modules on the meta device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Literal

from annotated_types import Gt, MinLen

from ablations.architecture import Architecture
from ablations.counting.decoding import cache_bytes, parameters_read
from ablations.counting.growth import LEAST, quadratic_part
from ablations.counting.step import Step, count_step
from ablations.declared.costs import ALONG
from ablations.decoder import Decoder, skeleton
from ablations.results import ProfileValues
from ablations.sizes import dtype_of
from ablations.training.optimizing import Optimizer
from ablations.trial import Measurement, NotApplicable, TrialContext
from registry.errors import Incompatible

Number = Literal["float64", "float32", "bfloat16", "float16"]
Contexts = Annotated[tuple[Annotated[int, Gt(0)], ...], MinLen(1)]
Grows = Mapping[str, Fraction | None]

STATES = {"adamw": 2, "adam": 2, "sgd": 1}
"""Numbers that an optimizer keeps of each parameter; sgd with momentum."""


class Costs:
    """FLOPs, bytes and attention maps of one decoder, at its context and along others.

    The modules are run on the meta device, where tensors have shapes and no values: one training
    step (forward pass, cross-entropy, backward pass; evaluation mode, so without dropout and its
    masks), a pass that fills the caches, and one token. Nothing rests on a formula for a kind of
    component, so that a stranger's is counted as the built-in ones are; what one cannot tell, as
    without a cache, is left out.

    - FLOPs a token: matrix products alone, a multiply-add being 2, as torch's own counter has them.
      Attention is counted over all T² pairs, also behind a causal mask or a window: a masked
      product computes them. `forward_attention_flops` is the part that grows with T², found from
      the counts at several contexts; left out where there is none, or where the counts are no
      quadratic in T.
    - `activation_bytes`: what autograd keeps for the backward pass (the storages that
      `torch.autograd.graph.saved_tensors_hooks` shows), each once and whole, without parameters,
      buffers, tokens and targets; attention as the fused kernel keeps it, wherever torch takes that
      on the CPU. `map_elements` are the numbers in the maps (B, H, T, T) were they written out.
    - `cache_bytes`: what the caches say they hold after T tokens; a window's cache ends with it.
    - `parameters_read`: by the forward pass of one token, a shared block's each time.
    - `training_bytes`: weights, their gradients, the optimizer's states in the weights' type, and
      activations; `inference_bytes`: weights and cache.

    The same is done at each of `contexts`; one beyond the model's own is that of the decoder built
    for it, as a component may not reach further than `dims.context`.
    """

    def __init__(
        self,
        *,
        batch: Annotated[int, Gt(0)] = 1,
        contexts: Contexts = (512, 2048, 8192, 32768),
        weights: Number = "float32",
        activations: Number = "float32",
        cache: Number = "bfloat16",
        optimizer: Optimizer = "adamw",
    ) -> None:
        self._batch = batch
        self._contexts = contexts
        self._types = {"weights": weights, "activations": activations, "cache": cache}
        self._optimizer = optimizer

    def convention(self) -> str:
        """What the figures rest on, in words."""
        types = ", ".join(f"{name} in {number}" for name, number in self._types.items())
        return f"batch {self._batch}, {types}, {self._optimizer}"

    def measure(self, context: TrialContext) -> Measurement:
        """Count at every context. Raises: NotApplicable for what needs values, not shapes."""
        architecture = context.architecture
        own = skeleton(architecture)
        try:
            found = {architecture.context: self._at(own, architecture.context)}
            read = parameters_read(own)
        except Incompatible:
            raise
        except Exception as error:
            if "meta" not in str(error).lower():
                raise
            raise NotApplicable(
                f"it cannot be counted on the meta device, without values: {error}"
            ) from error
        for length in self._others(architecture.context):
            decoder = own if length < architecture.context else _built_for(architecture, length)
            if decoder is not None:
                found[length] = self._at(decoder, length)
        grows = {
            way: quadratic_part({n: getattr(at.step, way) for n, at in found.items()})
            for way in ("forward", "backward")
        }
        rows = {n: self._figures(at, n, grows) for n, at in found.items()}
        metrics = rows[architecture.context] | {"parameters_read": float(read)}
        shown = sorted({architecture.context, *self._contexts} & rows.keys())
        return Measurement(
            metrics=metrics,
            profiles={
                name: ProfileValues.at("context", {n: rows[n][name] for n in shown})
                for name in ALONG
                if all(name in rows[n] for n in shown)
            },
        )

    def _others(self, own: int) -> list[int]:
        """The contexts to count at beside the model's own: enough to tell what grows with T²."""
        lengths = sorted({own, *self._contexts})
        while len(lengths) < LEAST:
            lengths.append(2 * lengths[-1])
        return [length for length in lengths if length != own]

    def _at(self, decoder: Decoder, length: int) -> At:
        """Count one decoder on the meta device, which is left in the cache's type."""
        decoder.to(dtype_of(self._types["activations"]))
        step = count_step(decoder, batch=self._batch, length=length)
        decoder.to(dtype_of(self._types["cache"]))
        try:
            cache = cache_bytes(decoder, batch=self._batch, length=length)
        except Incompatible:
            cache = None
        size = sum(parameter.numel() for parameter in decoder.parameters())
        return At(step=step, cache=cache, parameters=size)

    def _figures(self, at: At, length: int, grows: Grows) -> dict[str, float]:
        """Everything that is told of one context."""
        tokens = self._batch * length
        weights = at.parameters * dtype_of(self._types["weights"]).itemsize
        states = STATES[self._optimizer] * weights
        figures: dict[str, float] = {
            "forward_flops": at.step.forward / tokens,
            "backward_flops": at.step.backward / tokens,
            "weight_bytes": weights,
            "optimizer_bytes": states,
            "activation_bytes": at.step.saved,
            "training_bytes": 2 * weights + states + at.step.saved,
        }
        for way, part in grows.items():
            if part:
                figures[f"{way}_attention_flops"] = float(part * length**2) / tokens
        if at.step.map_elements is not None:
            figures["map_elements"] = at.step.map_elements
        if at.cache is not None:
            figures["cache_bytes"] = at.cache
            figures["cache_bytes_per_token"] = at.cache / tokens
            figures["inference_bytes"] = weights + at.cache
        return {name: float(value) for name, value in figures.items()}


@dataclass(frozen=True, kw_only=True)
class At:
    """What was counted at one context; no cache where an attention has none."""

    step: Step
    cache: int | None
    parameters: int


def _built_for(architecture: Architecture, length: int) -> Decoder | None:
    """The decoder with a longer context; None where its components cannot be built for that."""
    try:
        return skeleton(replace(architecture, context=length))
    except Incompatible:
        return None
