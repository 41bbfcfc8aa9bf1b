"""What `one_step` says of itself."""

from __future__ import annotations

from ablations.declared.profiles import along_depth
from registry import MeasureSpec, Metric

ONE_STEP = MeasureSpec(
    name="one_step",
    target="ablations.measures.one_step:OneStep",
    mode="running",
    summary="How far one optimizer step moves the logits and the stream.",
    cost="one training step and two forward passes",
    metrics=(
        Metric(
            name="logit_change",
            unit="nats",
            scale="log",
            primary=True,
            summary="How far one optimizer step moves the logits.",
            convention=(
                "root mean square over tokens and vocabulary of the change less each token's mean"
            ),
        ),
        Metric(
            name="loss_change",
            unit="nats",
            summary="Loss of the batch after the step less before it.",
        ),
        Metric(
            name="update",
            unit="ratio",
            scale="log",
            summary="Size of the update, relative to the parameters.",
            convention="‖Δθ‖ / ‖θ‖ over all parameters",
        ),
    ),
    profiles=(
        along_depth(
            "stream_change",
            "ratio",
            "How far one step moves the stream entering each block, and leaving the last.",
            "rms(Δx) / rms(x)",
            scale="log",
        ),
    ),
)
