"""What `attention_map` says of itself."""

from __future__ import annotations

from ablations.declared.profiles import along_depth
from registry import MeasureSpec, Metric

_ENTROPY = "H(p) / log n, mean over rows that see n ≥ 2 keys; 1: uniform"
_ROW_MAX = "mean over the later half of rows, those that see one key left out"

ATTENTION_MAP = MeasureSpec(
    name="attention_map",
    target="ablations.measures.attention_map:AttentionMap",
    mode="observing",
    summary="Where attention looks at initialization: maps of chosen heads, figures of all.",
    cost=(
        "one forward and backward pass, shared with the other observing measures, and the scores "
        "of each layer once or twice more; a kept map takes 4·T² bytes a trial"
    ),
    needs="an attention with weights; its largest logit one with scores as well",
    metrics=(
        Metric(
            name="entropy",
            unit="of its maximum",
            primary=True,
            summary="Entropy of the attention's rows over its maximum, mean over layers.",
            convention=_ENTROPY,
        ),
        Metric(
            name="row_max",
            unit="probability",
            summary="Largest weight of a row, mean over layers.",
            convention=_ROW_MAX,
        ),
        Metric(
            name="largest_logit",
            unit="scaled score",
            summary="Largest score of any query and key, in any layer.",
        ),
    ),
    profiles=(
        along_depth(
            "entropy", "of its maximum", "Entropy of each layer's rows over its maximum.", _ENTROPY
        ),
        along_depth("row_max", "probability", "Largest weight of each layer's rows.", _ROW_MAX),
        along_depth("largest_logit", "scaled score", "Largest score of each layer."),
    ),
)
