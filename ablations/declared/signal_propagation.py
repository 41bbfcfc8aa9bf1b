"""What `signal_propagation` says of itself."""

from __future__ import annotations

from ablations.declared.profiles import along_depth
from registry import MeasureSpec, Metric

_COSINE = "mean cosine between two different tokens of a sequence; 1: rank collapse"
_UPDATE = "rms(after − before) / rms(before) at the branch's residual"

SIGNAL_PROPAGATION = MeasureSpec(
    name="signal_propagation",
    target="ablations.measures.signal_propagation:SignalPropagation",
    mode="observing",
    summary="What the blocks do to the stream on the way forward, at initialization.",
    cost="one forward and backward pass, shared with the other observing measures",
    needs="nothing; a token similarity two tokens, an update a placement that uses its residual",
    metrics=(
        Metric(
            name="stream_growth",
            unit="ratio",
            scale="log",
            primary=True,
            summary="Size of the stream leaving the last block over that entering the first.",
        ),
        Metric(
            name="token_similarity",
            unit="cosine",
            primary=True,
            summary="How alike the tokens are that leave the last block.",
            convention=_COSINE,
        ),
        Metric(
            name="attention_update",
            unit="ratio",
            scale="log",
            summary="Size of the attention's update relative to its stream, mean over blocks.",
            convention=_UPDATE,
        ),
        Metric(
            name="feed_forward_update",
            unit="ratio",
            scale="log",
            summary="Size of the feed-forward's update relative to its stream, mean over blocks.",
            convention=_UPDATE,
        ),
    ),
    profiles=(
        along_depth(
            "stream_rms",
            "root mean square",
            "Size of the stream entering each block, and at the end leaving the last.",
            scale="log",
        ),
        along_depth(
            "token_similarity",
            "cosine",
            "How alike the tokens are that enter each block, and at the end leave the last.",
            _COSINE,
        ),
        along_depth(
            "attention_update",
            "ratio",
            "Size of each attention's update relative to its stream.",
            _UPDATE,
            scale="log",
        ),
        along_depth(
            "feed_forward_update",
            "ratio",
            "Size of each feed-forward's update relative to its stream.",
            _UPDATE,
            scale="log",
        ),
    ),
)
