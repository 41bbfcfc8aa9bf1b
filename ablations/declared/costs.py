"""What `costs` says of itself."""

from __future__ import annotations

from ablations.declared.profiles import along_context
from registry import MeasureSpec, Metric

_PRODUCTS = (
    "matrix products alone, a multiply-add is 2 FLOPs, attention over all T² pairs whatever is "
    "masked; mean over the tokens of a context"
)
_SQUARE = f"the part that grows with T²; {_PRODUCTS}"


def _cost(name: str, unit: str, summary: str, convention: str, *, primary: bool = False) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        better="lower",
        scale="log",
        primary=primary,
        summary=summary,
        convention=convention,
    )


_METRICS = (
    _cost("forward_flops", "FLOPs/token", "The forward pass.", _PRODUCTS, primary=True),
    _cost("backward_flops", "FLOPs/token", "The backward pass.", _PRODUCTS),
    _cost(
        "forward_attention_flops",
        "FLOPs/token",
        "Attention's T² part of the forward pass.",
        _SQUARE,
    ),
    _cost(
        "backward_attention_flops",
        "FLOPs/token",
        "Attention's T² part of the backward pass.",
        f"{_SQUARE}; what a fused kernel computes again is not counted",
    ),
    _cost(
        "parameters_read",
        "parameters/token",
        "Parameters that the forward pass of one token reads.",
        "a shared block's each time it is passed; of a table the rows that are looked up",
    ),
    _cost(
        "activation_bytes",
        "bytes",
        "What is kept for the backward pass.",
        "storages that autograd keeps for the backward pass of the cross-entropy, each once; "
        "without parameters, buffers, tokens and targets; dropout left out; of torch's operations "
        "as they are on the CPU, attention as its fused kernel where torch takes that: kernels "
        "that fuse more, as a GPU's RMSNorm or a rotary one, keep less",
        primary=True,
    ),
    _cost(
        "map_elements",
        "elements",
        "Numbers in the attention maps of all layers.",
        "of all maps (B, H, T, T), were they written out",
    ),
    _cost(
        "cache_bytes",
        "bytes",
        "What the caches hold.",
        "as the caches themselves say, after as many tokens as the context",
    ),
    _cost(
        "cache_bytes_per_token",
        "bytes/token",
        "What the caches hold, for each token of the context.",
        "as the caches themselves say, after as many tokens as the context",
        primary=True,
    ),
    _cost("weight_bytes", "bytes", "All parameters.", "unique ones; buffers are not counted"),
    _cost(
        "optimizer_bytes",
        "bytes",
        "What the optimizer keeps.",
        "of adam and adamw two numbers a parameter, of sgd (with momentum) one, in the weights' "
        "type",
    ),
    _cost(
        "training_bytes",
        "bytes",
        "Memory of a training step.",
        "weights, their gradients, optimizer states and activations",
    ),
    _cost("inference_bytes", "bytes", "Memory of decoding.", "weights and cache"),
)

ALONG = (
    "forward_flops",
    "backward_flops",
    "forward_attention_flops",
    "activation_bytes",
    "map_elements",
    "cache_bytes",
    "training_bytes",
)
"""What is told along the context too."""

COSTS = MeasureSpec(
    name="costs",
    target="ablations.measures.costs:Costs",
    mode="static",
    summary="FLOPs, bytes, cache and attention maps, at the model's context and along others.",
    cost="a training step on the meta device at each context: seconds, no memory",
    needs=(
        "components that work on shapes alone; the cache an attention with one, the maps one with "
        "`scores` or `weights`"
    ),
    metrics=_METRICS,
    profiles=tuple(
        along_context(metric.name, metric.unit, metric.summary, metric.convention, scale="log")
        for metric in _METRICS
        if metric.name in ALONG
    ),
)
