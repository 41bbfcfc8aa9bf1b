"""Parameter counts, from shapes alone."""

from __future__ import annotations

from collections import Counter

from ablations.initialization import Slice, slices
from ablations.results import ProfileValues
from ablations.trial import Measurement, TrialContext

EMBEDDINGS = ("token_embedding", "position_embedding")
PROJECTIONS = ("embedding_projection", "head_projection")
BIASES = ("bias", "key_bias")


class Parameters:
    """Count unique parameters: a tied or shared one once, buffers not at all.

    `non_embedding` excludes token and position embeddings and an untied head's matrix and bias.
    `attention`, `feed_forward` and `norm` count the weights and biases of those components
    (a norm inside an attention is a norm), `other` the rest of what is inside a block, and the
    projections of embeddings that are not as wide as the model;
    `bias` counts every bias, a norm's too. `per_block` is the mean over the blocks that a token
    passes, so that shared blocks count each time.
    """

    def measure(self, context: TrialContext) -> Measurement:
        """Return the counts of `context.skeleton()`."""
        decoder = context.skeleton()
        by: Counter[str] = Counter()
        per_block: Counter[int] = Counter()
        for piece in slices(decoder):
            count = piece.numel
            by["total"] += count
            by[_share(piece)] += count
            if piece.info.role in BIASES:
                by["bias"] += count
            if piece.block is not None:
                per_block[piece.block] += count
        architecture = decoder.architecture
        blocks = [
            per_block[layer // architecture.share_layers] for layer in range(architecture.depth)
        ]
        metrics = {
            "total": by["total"],
            "embedding": by["embedding"],
            "head": by["head"],
            "non_embedding": by["total"] - by["embedding"] - by["head"],
            "per_block": sum(blocks) / len(blocks),
            "attention": by["attention"],
            "feed_forward": by["feed_forward"],
            "norm": by["norm"],
            "other": by["other"],
            "bias": by["bias"],
        }
        return Measurement(
            metrics={name: float(value) for name, value in metrics.items()},
            profiles={"block": ProfileValues.along("depth", map(float, blocks))},
        )


def _share(piece: Slice) -> str:
    """The part of the model that a parameter is counted to; the parts add up to the total."""
    role = piece.info.role
    if role in EMBEDDINGS:
        return "embedding"
    if piece.part is None:
        return "other" if role in PROJECTIONS else "head"
    return piece.part.kind if piece.part.kind in ("attention", "feed_forward", "norm") else "other"
