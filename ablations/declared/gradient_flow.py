"""What `gradient_flow` says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from ablations.declared.profiles import along_depth
from registry import MeasureSpec, Metric, Profile

_SENSITIVITY = "sensitivity: rms(x)·‖∂L/∂x‖ of the residual stream, free of its units"
_RAW = "changes with the size of the stream, as the embedding scale does: not evidence of flow"
_ROLES = {
    "q": "query projections",
    "k": "key projections",
    "v": "value projections",
    "attention_output": "attention output projections",
    "gate": "feed-forward gate projections",
    "up": "feed-forward up projections",
    "down": "feed-forward down projections",
    "norm": "norms' scales",
    "bias": "biases, but for the keys'",
    "key_bias": "key biases, whose gradient is zero where keys are neither rotated nor normed",
    "other": "what a block holds beside",
}


def _parameter_gradients() -> Iterator[Profile]:
    for group, whose in {"block": "all parameters", **_ROLES}.items():
        yield along_depth(
            f"{group}_gradient_norm",
            "gradient norm",
            f"Norm of the gradient of each block's parameters: {whose}.",
            "grows with the number of parameters",
            scale="log",
        )
        yield along_depth(
            f"{group}_gradient_rms",
            "root mean square",
            f"Root mean square gradient of each block's parameters: {whose}.",
            scale="log",
        )


GRADIENT_FLOW = MeasureSpec(
    name="gradient_flow",
    target="ablations.measures.gradient_flow:GradientFlow",
    mode="observing",
    summary="How the loss's gradient reaches each depth at initialization.",
    cost="one forward and backward pass, shared with the other observing measures",
    needs="nothing; the surviving fraction a stack that ends with a norm",
    metrics=(
        Metric(
            name="embedding",
            unit="gradient norm",
            scale="log",
            primary=True,
            summary="Gradient norm at the token embedding, through the stack alone.",
            convention="gradient at the embedding's output, summed over the tokens of each row",
            scales_with="gradient_unit",
        ),
        Metric(
            name="sensitivity_span",
            unit="ratio",
            scale="log",
            primary=True,
            summary="Largest over smallest sensitivity of the stream along depth; 1 is even.",
            convention=_SENSITIVITY,
        ),
        Metric(
            name="sensitivity_ratio",
            unit="ratio",
            scale="log",
            primary=True,
            summary="Sensitivity of the stream entering the first block over the last block's.",
            convention=_SENSITIVITY,
        ),
        Metric(
            name="sensitivity_mean",
            unit="rms(x)·‖∂L/∂x‖",
            scale="log",
            primary=True,
            summary="How much the stream matters to the loss: geometric mean along depth.",
            convention=f"{_SENSITIVITY}, all tokens together: grows with their number",
        ),
        Metric(
            name="sensitivity_decay",
            unit="factor per block",
            scale="log",
            summary="Factor on the sensitivity that one block contributes on the way back.",
            convention="exp(−b) of the least-squares line log s = a + b·layer; 1 keeps",
        ),
        Metric(
            name="decay_fit",
            unit="R²",
            summary="Share of the sensitivity's course along depth that one factor explains.",
            convention="of the least-squares line log s = a + b·layer",
        ),
        Metric(
            name="worst_layer",
            unit="block",
            summary="Block whose sensitivity is the furthest, in proportion, from the last one's.",
        ),
        Metric(
            name="worst_ratio",
            unit="ratio",
            scale="log",
            summary="Sensitivity of that block over the last one's.",
            convention=_SENSITIVITY,
        ),
        Metric(
            name="vanishing",
            unit="share of trials",
            summary="1 where some block's sensitivity is below 1e-2 times the last one's, else 0.",
        ),
        Metric(
            name="exploding",
            unit="share of trials",
            summary="1 where some block's sensitivity is above 1e2 times the last one's, else 0.",
        ),
        Metric(
            name="surviving_fraction",
            unit="fraction",
            scale="log",
            summary="Share of the loss's gradient that gets through the last norm.",
            convention=(
                "rms(h)·‖∂L/∂h‖ / (rms(y)·‖∂L/∂y‖) of the norm's input h and output y, over the "
                "same of a Gaussian in place of ∂L/∂y; below 0.1 the trial is marked "
                "cancelled_probe"
            ),
        ),
        Metric(
            name="raw_ratio",
            unit="ratio",
            scale="log",
            summary="Raw gradient norm entering the first block over the last block's.",
            convention=_RAW,
            scales_with="stream_ratio",
        ),
        Metric(
            name="stream_ratio",
            unit="ratio",
            scale="log",
            summary="Size of the stream entering the last block over that entering the first.",
            convention="the raw ratio is this times the sensitivity ratio",
        ),
        Metric(
            name="embedded_rms",
            unit="root mean square",
            scale="log",
            summary="Size of the residual stream entering the first block.",
        ),
        Metric(
            name="gradient_unit",
            unit="gradient norm",
            scale="log",
            summary="What the embedding's gradient would be if the output's reached it whole.",
            convention=(
                "rms(y)·‖∂L/∂y‖·scale / rms(u), y the stack's output, u the scaled embeddings with "
                "their positions"
            ),
        ),
        Metric(name="loss", unit="nats or none", summary="The loss that is differentiated."),
    ),
    profiles=(
        along_depth(
            "sensitivity",
            "rms(x)·‖∂L/∂x‖",
            "Sensitivity of the residual stream entering each block.",
            scale="log",
        ),
        along_depth(
            "stream_rms",
            "root mean square",
            "Size of the residual stream entering each block.",
            scale="log",
        ),
        along_depth(
            "stream_gradient",
            "‖∂L/∂x‖",
            "Raw gradient norm of the residual stream entering each block.",
            f"{_RAW}; read it beside the stream's size",
            scale="log",
            scales_with="stream_ratio",
        ),
        *_parameter_gradients(),
    ),
)
