"""What `speed` says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from registry import MeasureSpec, Metric

_TIMED = {
    "forward": ("the forward pass", "training mode, with the cross-entropy"),
    "backward": ("the backward pass", "training mode"),
    "decode": ("decoding one token with a full cache", "inference mode"),
}
"""What is timed, and how."""


def _metrics() -> Iterator[Metric]:
    for name, (what, how) in _TIMED.items():
        yield Metric(
            name=f"{name}_ratio",
            unit="of the baseline cell's time",
            better="lower",
            scale="log",
            primary=True,
            summary=f"Time of {what}, over the baseline cell's.",
            convention=(
                f"{how}; median over rounds in which both are timed in one process, in turn; a "
                "measured time, which changes from run to run"
            ),
        )
    for name, (what, _) in _TIMED.items():
        yield Metric(
            name=f"{name}_spread",
            unit="of the baseline cell's time",
            better="lower",
            summary=f"How far the rounds disagree on the time of {what}.",
            convention="distance between the quartiles of the rounds' ratios; never compared",
            compared=False,
        )
    for name, (what, _) in _TIMED.items():
        yield Metric(
            name=f"{name}_seconds",
            unit="s",
            better="lower",
            summary=f"Time of {what}.",
            convention="median; depends on what else the machine did: never compared",
            compared=False,
        )


SPEED = MeasureSpec(
    name="speed",
    target="ablations.measures.speed:Speed",
    mode="running",
    summary="Times of a step and of decoding, as ratios to the baseline cell's.",
    cost="24 training steps of the cell and of the baseline cell",
    needs="nothing; decoding attentions with a cache, in the cell and in the baseline cell",
    metrics=tuple(_metrics()),
    against_baseline=True,
)
