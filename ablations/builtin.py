"""The plugin that registers the built-in measures and executors."""

from __future__ import annotations

from registry import ExecutorSpec, MeasureSpec, Metric, Profile, hookimpl

UNIQUE = "unique parameters: a tied or shared one counts once, buffers do not"
NON_EMBEDDING = f"{UNIQUE}; excludes token and position embeddings and an untied head"


def _count(name: str, summary: str, convention: str = UNIQUE, *, primary: bool = False) -> Metric:
    return Metric(
        name=name, unit="parameters", summary=summary, convention=convention, primary=primary
    )


PARAMETERS = MeasureSpec(
    name="parameters",
    target="ablations.measures.parameters:Parameters",
    mode="static",
    summary="Parameter counts, in total and by part.",
    cost="shapes alone: milliseconds, no memory",
    metrics=(
        _count("total", "All parameters.", primary=True),
        _count("embedding", "Token and position embeddings."),
        _count("head", "The output projection, where it is not tied to the embedding."),
        _count("non_embedding", "All but embeddings and head.", NON_EMBEDDING),
        _count("per_block", "Mean over the blocks that a token passes; shared ones each time."),
        _count("attention", "Attention projections with their biases."),
        _count("feed_forward", "Feed-forward projections with their biases."),
        _count("norm", "Norm weights and biases, inside and outside the blocks."),
        _count("other", "What residuals, placements, activations and positions hold."),
        _count("bias", "Every bias, the norms' among them."),
    ),
    profiles=(
        Profile(
            name="block",
            unit="parameters",
            axis="depth",
            summary="Parameters of each block that a token passes.",
            convention=UNIQUE,
        ),
    ),
)

GRADIENT_FLOW = MeasureSpec(
    name="gradient_flow",
    target="ablations.measures.gradient_flow:GradientFlow",
    mode="observing",
    summary="How the loss's gradient reaches each depth at initialization.",
    cost="one forward and backward pass, shared with the other observing measures",
    metrics=(
        Metric(
            name="embedding",
            unit="gradient norm",
            scale="log",
            primary=True,
            summary="Gradient norm at the token embedding, through the stack alone.",
            convention="gradient at the embedding's output, summed over the tokens of each row",
        ),
        Metric(
            name="sensitivity_ratio",
            unit="ratio",
            scale="log",
            primary=True,
            summary="Sensitivity of the stream entering the first block over the last block's.",
            convention="sensitivity: rms(x)·‖∂L/∂x‖ of the residual stream, free of its units",
        ),
        Metric(
            name="sensitivity_decay",
            unit="factor per block",
            scale="log",
            summary="Factor on the sensitivity that one block contributes on the way back.",
            convention="exp(−b) of the least-squares line log s = a + b·layer; 1 keeps",
        ),
        Metric(
            name="raw_ratio",
            unit="ratio",
            scale="log",
            summary="Raw gradient norm entering the first block over the last block's.",
            convention="depends on the stream's units, mostly on the embedding scale: not evidence",
        ),
        Metric(
            name="embedded_rms",
            unit="root mean square",
            scale="log",
            summary="Size of the residual stream entering the first block.",
        ),
        Metric(name="loss", unit="nats", summary="The loss that is differentiated."),
    ),
    profiles=(
        Profile(
            name="sensitivity",
            unit="rms(x)·‖∂L/∂x‖",
            axis="depth",
            scale="log",
            summary="Sensitivity of the residual stream entering each block.",
        ),
        Profile(
            name="block_gradient_norm",
            unit="gradient norm",
            axis="depth",
            scale="log",
            summary="Norm of the gradient of all parameters of a block.",
            convention="grows with the block's parameter count",
        ),
        Profile(
            name="block_gradient_rms",
            unit="root mean square",
            axis="depth",
            scale="log",
            summary="Root mean square over the gradient of all parameters of a block.",
        ),
        Profile(
            name="stream_rms",
            unit="root mean square",
            axis="depth",
            scale="log",
            summary="Size of the residual stream entering each block.",
        ),
        Profile(
            name="stream_gradient",
            unit="‖∂L/∂x‖",
            axis="depth",
            scale="log",
            summary="Raw gradient norm of the residual stream entering each block.",
            convention="depends on the stream's units: read it beside the stream's size",
        ),
    ),
)


@hookimpl
def register_measures() -> list[MeasureSpec]:
    """The built-in measures."""
    return [PARAMETERS, GRADIENT_FLOW]


@hookimpl
def register_executors() -> list[ExecutorSpec]:
    """The built-in executors."""
    return [
        ExecutorSpec(
            name="inline",
            target="ablations.executors.inline:Inline",
            summary="One trial after another in this process.",
        ),
        ExecutorSpec(
            name="local",
            target="ablations.executors.local:Local",
            summary="Worker processes on this machine; a dead or hung one costs its trial alone.",
        ),
    ]
