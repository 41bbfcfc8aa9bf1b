"""One decoder, described whole: every value that building it needs, each given or default."""

from __future__ import annotations

from dataclasses import dataclass

from registry.contracts import Dims
from registry.spec import Choice


@dataclass(frozen=True, kw_only=True)
class BlockChoices:
    """The components of one block, and the width of its feed-forward."""

    norm: Choice
    activation: Choice
    feed_forward: Choice
    attention: Choice
    position: Choice
    residual: Choice
    placement: Choice
    d_ff: int


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """A decoder's description, resolved: no value is left to be inferred when it is built.

    `layers` has one entry a block, `depth` of them, also where `share_layers` makes consecutive
    blocks share their weights. `final_norm` is None for *auto*: as the last placement asks.
    `embedding_dim` is None where the embeddings are as wide as the model and none is projected.
    `d_ff_rule` says in words where the feed-forward widths come from.
    """

    d_model: int
    n_heads: int
    head_dim: int
    context: int
    vocab_size: int
    layers: tuple[BlockChoices, ...]
    initializer: Choice
    embedding_norm: Choice | None = None
    embedding_scale: float = 1.0
    embedding_dim: int | None = None
    final_norm: bool | None = None
    qkv_bias: bool = True
    out_bias: bool = True
    feed_forward_bias: bool = True
    head_bias: bool = False
    tie_embeddings: bool = False
    logit_scale: float = 1.0
    logit_softcap: float | None = None
    attention_dropout: float = 0.0
    residual_dropout: float = 0.0
    share_layers: int = 1
    d_ff_rule: str = ""

    @property
    def depth(self) -> int:
        """Number of blocks that a token passes."""
        return len(self.layers)

    def dims(self, layer: int = 0) -> Dims:
        """The sizes that the components of one block are built for."""
        block = self.layers[layer]
        return Dims(
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_kv_heads=block.attention.options.get("n_kv_heads", self.n_heads),
            head_dim=self.head_dim,
            d_ff=block.d_ff,
            context=self.context,
            depth=self.depth,
            layer=layer,
            qkv_bias=self.qkv_bias,
            out_bias=self.out_bias,
            feed_forward_bias=self.feed_forward_bias,
            attention_dropout=self.attention_dropout,
        )
