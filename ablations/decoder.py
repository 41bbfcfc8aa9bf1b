"""An architecture built: tokens → embedding → blocks → final norm → head → logits.

Shapes: B batch, T tokens, D d_model, E width of the embeddings (D unless told), V vocabulary.

Parameters are named (`i` counts blocks with weights of their own, `n` positions)

    token_embedding.weight   embedding_norm.*   positions.n.*   blocks.i.*   final_norm.*   head.*

with embeddings of another width embedding_projection.weight and head_projection.weight; and within
a block as its placement names its parts; the built-in placements use `attention_norm`, `attention`,
`attention_residual`, `feed_forward_norm`, `feed_forward`, `feed_forward_residual`.
These names are stable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ablations.architecture import Architecture
from ablations.assembly import Builder, Part, place_positions, without_dropout, without_hooks
from ablations.sizes import Sizes
from ablations.strangers import is_ours
from ablations.streams import global_stream
from ablations.undrawn import Undrawn
from registry.errors import Incompatible, InvalidSpec


class Decoder(nn.Module):
    """A decoder-only transformer: token ids (B, T) → logits (B, T, V).

    Made by `build_decoder`. With caches (from `new_caches`) a call continues where the last one
    ended.
    """

    def __init__(self, architecture: Architecture, builder: Builder) -> None:
        super().__init__()
        self.architecture = architecture
        d_model, width = architecture.d_model, architecture.embedding_dim
        self.token_embedding = nn.Embedding(architecture.vocab_size, width or d_model)
        self.embedding_projection = nn.Linear(width, d_model, bias=False) if width else None
        self.embedding_norm = (
            builder.make("norm", architecture.embedding_norm, 0, "embedding_norm")
            if architecture.embedding_norm
            else None
        )
        self.positions = nn.ModuleList()
        self._position_of = place_positions(architecture, builder, self.positions)
        first_layers = range(0, architecture.depth, architecture.share_layers)
        self.blocks = nn.ModuleList(
            builder.block(layer, f"blocks.{index}") for index, layer in enumerate(first_layers)
        )
        self.final_norm = (
            builder.make("norm", architecture.layers[-1].norm, architecture.depth - 1, "final_norm")
            if _wants_final_norm(architecture, self.blocks[-1])
            else None
        )
        self.head_projection = nn.Linear(d_model, width, bias=False) if width else None
        self.head = nn.Linear(
            width or d_model, architecture.vocab_size, bias=architecture.head_bias
        )
        if self.head.bias is not None:
            nn.init.zeros_(self.head.bias)
        if architecture.tie_embeddings:
            self.head.weight = self.token_embedding.weight
        self.parts = builder.parts_of(self)
        attentions: dict[str, list[Part]] = defaultdict(list)
        for part in self.parts:
            if part.kind == "attention":
                attentions[_block_of(part)].append(part)
        self._attentions = dict(attentions)
        self._mixing = [self._mixing_of(layer) for layer in range(architecture.depth)]

    @property
    def device(self) -> torch.device:
        """Where its weights are, and what it is fed must be."""
        return self.token_embedding.weight.device

    def forward(self, tokens: Tensor, *, caches: Sequence[Any] | None = None) -> Tensor:
        """Token ids (B, T) → logits (B, T, V)."""
        return self.logits(self.hidden(tokens, caches=caches))

    def hidden(self, tokens: Tensor, *, caches: Sequence[Any] | None = None) -> Tensor:
        """Token ids (B, T) → the stack's output (B, T, D), after the final norm if there is one."""
        start = caches[0].length if caches else 0
        x = self.embed(tokens, start)
        for layer in range(self.architecture.depth):
            mixing = self.mixing(layer)
            if caches is not None:
                mixing["cache"] = caches[layer]
            x = self.block(layer)(x, **mixing)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return x

    def embed(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Token ids (B, T), the first at position `start`, → the stream (B, T, D) before block 0.

        Token embeddings as `scaled` gives them, then positions, then the embedding norm.
        """
        x = self.scaled(self.token_embedding(tokens))
        embed = getattr(self.positions[self._position_of[0]], "embed", None)
        if embed is not None:
            x = embed(x, torch.arange(start, start + tokens.shape[1], device=tokens.device))
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        return x

    def scaled(self, embedded: Tensor) -> Tensor:
        """Token embeddings (…, E) times `embedding_scale`, projected to the model: (…, D)."""
        if self.architecture.embedding_scale != 1:
            embedded = embedded * self.architecture.embedding_scale
        if self.embedding_projection is not None:
            embedded = self.embedding_projection(embedded)
        return embedded

    def logits(self, y: Tensor) -> Tensor:
        """The stack's output (B, T, D) → logits (B, T, V): projected, scaled, and bounded."""
        architecture = self.architecture
        if self.head_projection is not None:
            y = self.head_projection(y)  # (B, T, E)
        logits: Tensor = self.head(y)  # (B, T, V)
        if architecture.logit_scale != 1:
            logits = logits * architecture.logit_scale
        if architecture.logit_softcap is not None:
            logits = architecture.logit_softcap * (logits / architecture.logit_softcap).tanh()
        return logits

    def with_modules(self) -> Iterator[tuple[Part, nn.Module]]:
        """The `parts`, each with its module."""
        modules = dict(self.named_modules())
        return ((part, modules[part.path]) for part in self.parts)

    @property
    def sizes(self) -> Sizes:
        """What the parameters come to."""
        parameters = list(self.parameters())
        blocks = [sum(p.numel() for p in b.parameters() if p.ndim >= 2) for b in self.blocks]
        share = self.architecture.share_layers
        return Sizes(
            parameters=sum(p.numel() for p in parameters),
            matrices=sum(blocks[layer // share] for layer in range(self.architecture.depth)),
            weight_bytes=sum(p.numel() * p.element_size() for p in parameters),
            wide_bytes=sum(p.numel() * max(4, p.element_size()) for p in parameters),
            number_bytes=self.token_embedding.weight.element_size(),
        )

    def block(self, layer: int) -> nn.Module:
        """The block that a token passes at that depth, from 0; shared ones come again."""
        return self.blocks[layer // self.architecture.share_layers]

    def mixing(self, layer: int) -> dict[str, Any]:
        """What the attention of that layer is handed beside x."""
        if self._mixing[layer]:
            return {"position": self.positions[self._position_of[layer]]}
        return {}

    def attention(self, layer: int) -> nn.Module:
        """The attention of that layer. Raises: Incompatible unless the block has exactly one."""
        found = self._attentions_of(layer)
        if len(found) != 1:
            raise Incompatible(f"block {layer} has {len(found)} attentions where one is expected")
        return self.get_submodule(found[0].path)

    def new_caches(self) -> list[Any]:
        """One empty cache a layer.

        Raises: Incompatible when an attention offers none.
        """
        caches = []
        for layer, choices in enumerate(self.architecture.layers):
            new_cache = getattr(self.attention(layer), "new_cache", None)
            if new_cache is None:
                raise Incompatible(f"attention {choices.attention.name!r} has no cache")
            caches.append(new_cache())
        return caches

    def attention_weights(self, tokens: Tensor) -> list[Tensor]:
        """Token ids (B, T) → attention probabilities (B, H, T, T) of every layer.

        Raises: Incompatible when an attention offers none.
        """
        inputs: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any]]] = []

        def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            inputs.append((module, args, kwargs))

        attentions = [self.attention(layer) for layer in range(self.architecture.depth)]
        for choices, attention in zip(self.architecture.layers, attentions, strict=True):
            if not hasattr(attention, "weights"):
                raise Incompatible(f"attention {choices.attention.name!r} has no weights")
        hooks = [
            module.register_forward_pre_hook(keep, with_kwargs=True)
            for module in dict.fromkeys(attentions)
        ]
        try:
            self.hidden(tokens)
        finally:
            for hook in hooks:
                hook.remove()
        return [module.weights(*args, **kwargs) for module, args, kwargs in inputs]  # type: ignore[operator]

    def _mixing_of(self, layer: int) -> bool:
        """Whether that layer's attention is handed its position; checks that they fit."""
        choices = self.architecture.layers[layer]
        position = self.positions[self._position_of[layer]]
        acts = any(hasattr(position, hook) for hook in ("rotate", "bias"))
        for part in self._attentions_of(layer):
            attention = self.get_submodule(part.path)
            if acts and not getattr(attention, "position_hooks", False):
                raise Incompatible(without_hooks(choices.position, part.name))
            if self.architecture.attention_dropout and not getattr(
                attention, "attention_dropout", False
            ):
                raise Incompatible(without_dropout(part.name))
        return acts

    def _attentions_of(self, layer: int) -> list[Part]:
        return self._attentions.get(f"blocks.{layer // self.architecture.share_layers}", [])


def _block_of(part: Part) -> str:
    """`blocks.i` of what hangs in block i."""
    return ".".join(part.path.split(".", 2)[:2])


def _wants_final_norm(architecture: Architecture, last: nn.Module) -> bool:
    if architecture.final_norm is not None:
        return architecture.final_norm
    asked = getattr(last, "final_norm", None)
    if not isinstance(asked, bool):
        name = architecture.layers[-1].placement.name
        raise InvalidSpec(
            f"placement {name!r} must say whether a final norm follows: final_norm = True or False"
        )
    return asked


def build_decoder(architecture: Architecture, *, seed: int = 0) -> Decoder:
    """Assemble the modules of a decoder in float32 on torch's current default device.

    `ablations.initialization.initialize` gives its matrices their values: until then those of our
    own components are not even drawn, where the initializer is ours too. The global random state
    is left as it was.

    Raises: Incompatible when parts do not fit each other or the sizes.
    """
    with building(architecture, seed) as undrawn:
        return Decoder(architecture, Builder(architecture, seed, undrawn))


@contextmanager
def building(architecture: Architecture, seed: int) -> Iterator[Undrawn]:
    """What the modules of a decoder are made under; gives what tells which draws are left out."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)  # whatever a notebook has set: draws depend on it
    try:
        # A stranger's initializer may leave alone what a constructor drew.
        leaving = is_ours(architecture.initializer.target)
        with global_stream(seed, "decoder"), Undrawn(leaving) as undrawn:
            yield undrawn
    finally:
        torch.set_default_dtype(default)


def skeleton(architecture: Architecture) -> Decoder:
    """The decoder on the meta device: every shape, no memory. Raises: Incompatible."""
    with torch.device("meta"):
        return build_decoder(architecture)
