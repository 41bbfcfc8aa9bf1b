"""What `parameters` says of itself."""

from __future__ import annotations

from registry import MeasureSpec, Metric, Profile

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
        _count(
            "other",
            "What residuals, placements, activations and positions hold, and projections of the "
            "embeddings.",
        ),
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
