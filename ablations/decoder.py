"""An architecture built: tokens → embedding → blocks → final norm → head → logits.

Shapes: B batch, T tokens, D d_model, V vocabulary.

Parameters are named (`i` counts blocks with weights of their own, `n` positions)

    token_embedding.weight   embedding_norm.*   positions.n.*   blocks.i.*   final_norm.*   head.*

and within a block as its placement names its parts; the built-in placements use `attention_norm`,
`attention`, `attention_residual`, `feed_forward_norm`, `feed_forward`, `feed_forward_residual`.
These names are stable.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablations.architecture import Architecture, BlockChoices
from registry.contracts import Dims, Maker
from registry.errors import Incompatible, InvalidSpec
from registry.options import signature_of
from registry.spec import Choice


@dataclass(frozen=True, kw_only=True)
class Part:
    """One component inside a decoder.

    `path` is where it hangs in the module tree. `slot` names its place independently of how a
    placement calls its attributes, so that streams of initial weights keep their names when a
    placement is swapped. `layer` is None outside the blocks.
    """

    path: str
    slot: str
    kind: str
    name: str
    layer: int | None


class Decoder(nn.Module):
    """A decoder-only transformer: token ids (B, T) → logits (B, T, V).

    Made by `build_decoder`. With caches (from `new_caches`) a call continues where the last one
    ended.
    """

    def __init__(self, architecture: Architecture, builder: _Builder) -> None:
        super().__init__()
        self.architecture = architecture
        d_model = architecture.d_model
        self.token_embedding = nn.Embedding(architecture.vocab_size, d_model)
        self.embedding_norm = (
            builder.make("norm", architecture.embedding_norm, 0, "embedding_norm")
            if architecture.embedding_norm
            else None
        )
        self.positions = nn.ModuleList()
        self._position_of = _place_positions(architecture, builder, self.positions)
        first_layers = range(0, architecture.depth, architecture.share_layers)
        self.blocks = nn.ModuleList(
            builder.block(layer, f"blocks.{index}") for index, layer in enumerate(first_layers)
        )
        self.final_norm = (
            builder.make("norm", architecture.layers[-1].norm, architecture.depth - 1, "final_norm")
            if _wants_final_norm(architecture, self.blocks[-1])
            else None
        )
        self.head = nn.Linear(d_model, architecture.vocab_size, bias=architecture.head_bias)
        if self.head.bias is not None:
            nn.init.zeros_(self.head.bias)
        if architecture.tie_embeddings:
            self.head.weight = self.token_embedding.weight
        self.parts = builder.parts_of(self)
        self._mixing = [self._mixing_of(layer) for layer in range(architecture.depth)]

    def forward(self, tokens: Tensor, *, caches: Sequence[Any] | None = None) -> Tensor:
        """Token ids (B, T) → logits (B, T, V)."""
        logits: Tensor = self.head(self.hidden(tokens, caches=caches))
        return logits

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

        Token embeddings times `embedding_scale`, then positions, then the embedding norm.
        """
        x: Tensor = self.token_embedding(tokens)  # (B, T, D)
        if self.architecture.embedding_scale != 1:
            x = x * self.architecture.embedding_scale
        embed = getattr(self.positions[self._position_of[0]], "embed", None)
        if embed is not None:
            x = embed(x, torch.arange(start, start + tokens.shape[1], device=tokens.device))
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        return x

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
        unique = layer // self.architecture.share_layers
        prefix = f"blocks.{unique}."
        found = [p for p in self.parts if p.kind == "attention" and p.path.startswith(prefix)]
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
        prefix = f"blocks.{layer // self.architecture.share_layers}."
        for part in self.parts:
            if part.kind != "attention" or not part.path.startswith(prefix):
                continue
            attention = self.get_submodule(part.path)
            if acts and not getattr(attention, "position_hooks", False):
                raise Incompatible(
                    f"position {choices.position.name!r} acts on queries, keys or scores; "
                    f"attention {part.name!r} supports only positions added to the embedding"
                )
            if self.architecture.attention_dropout and not getattr(
                attention, "attention_dropout", False
            ):
                raise Incompatible(f"attention {part.name!r} has no attention dropout")
        return acts


def _wants_final_norm(architecture: Architecture, last: nn.Module) -> bool:
    if architecture.final_norm is not None:
        return architecture.final_norm
    return bool(getattr(last, "final_norm"))  # noqa: B009 - nn.Module hides it from checkers


def _place_positions(
    architecture: Architecture, builder: _Builder, modules: nn.ModuleList
) -> list[int]:
    """Build the positions, one for all layers that agree or one a layer; return layer → index."""
    index_of: dict[Any, int] = {}
    places = []
    for layer, choices in enumerate(architecture.layers):
        choice = choices.position
        alone = bool(getattr(choice.load(), "per_layer", False))
        key = (choice.target, repr(sorted(choice.options.items())), layer if alone else None)
        if key not in index_of:
            index_of[key] = len(modules)
            slot = f"positions.{len(modules)}"
            modules.append(builder.make("position", choice, layer, slot))
        places.append(index_of[key])
    if len({id(modules[place]) for place in places}) > 1:
        for choices, place in zip(architecture.layers, places, strict=True):
            if hasattr(modules[place], "embed"):
                raise Incompatible(
                    f"position {choices.position.name!r} is added to the embedding, so it must "
                    "be the same in every block"
                )
    return places


class _ResidualDropout:
    """Forward hook on a sublayer: drops elements of its output while training."""

    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, module: nn.Module, args: object, output: Tensor) -> Tensor:
        return F.dropout(output, self.p, module.training)


class _Builder:
    """Makes the components of one decoder and remembers what it made, and for which slot."""

    def __init__(self, architecture: Architecture, seed: int) -> None:
        self.architecture = architecture
        self.seed = seed
        self._made: list[tuple[weakref.ref[nn.Module], str, str, str, int]] = []

    def block(self, layer: int, slot: str) -> nn.Module:
        return self.make("placement", self.architecture.layers[layer].placement, layer, slot)

    def make(
        self, kind: str, choice: Choice, layer: int, slot: str, dims: Dims | None = None
    ) -> nn.Module:
        """Build one component; what its constructor draws depends on seed and slot alone."""
        dims = dims or self.architecture.dims(layer)
        cls = choice.load()
        unsupported = getattr(cls, "unsupported", None)
        reason = unsupported(dims, self.architecture) if unsupported else None
        if reason:
            raise Incompatible(f"{kind} {choice.name!r}: {reason}")
        made: Counter[str] = Counter()
        makers = [
            self._maker(part, layer, slot, dims, made)
            for part in signature_of(cls, takes_dims=True).makers
        ]
        torch.default_generator.manual_seed(stream_seed(self.seed, f"{slot}/constructor"))
        module = cls(dims, *makers, **choice.options)
        if not isinstance(module, nn.Module):
            raise InvalidSpec(
                f"{kind} {choice.name!r} must be a torch.nn.Module, not {type(module).__name__}"
            )
        if kind in ("attention", "feed_forward") and self.architecture.residual_dropout:
            module.register_forward_hook(_ResidualDropout(self.architecture.residual_dropout))
        self._made.append((weakref.ref(module), slot, kind, choice.name, layer))
        return module

    def _maker(self, kind: str, layer: int, parent: str, own: Dims, made: Counter[str]) -> Maker:
        choices: BlockChoices = self.architecture.layers[layer]

        def maker(dims: Dims | None = None) -> nn.Module:
            slot = f"{parent}.{kind}" + (f".{made[kind]}" if made[kind] else "")
            made[kind] += 1
            return self.make(kind, getattr(choices, kind), layer, slot, dims or own)

        return maker

    def parts_of(self, decoder: Decoder) -> tuple[Part, ...]:
        """Everything made, by its path.

        Raises: InvalidSpec when a component keeps a part that it asked for otherwise than as a
        submodule: its parameters would be neither trained nor counted. One given up is nobody's.
        """
        paths = {id(module): path for path, module in decoder.named_modules()}
        parts = []
        for made, slot, kind, name, layer in self._made:
            module = made()
            if module is None:
                continue
            if id(module) not in paths:
                raise InvalidSpec(
                    f"{kind} {name!r} of {slot} was made but is not held as a submodule"
                )
            inside = slot.startswith("blocks.")
            parts.append(
                Part(
                    path=paths[id(module)],
                    slot=slot,
                    kind=kind,
                    name=name,
                    layer=layer if inside else None,
                )
            )
        return tuple(sorted(parts, key=lambda part: part.path))


def stream_seed(seed: int, name: str) -> int:
    """The seed of the random stream of that name: 32 bits of SHA-256 over both.

    Torch's CPU generator uses no more. Two of a model's hundred matrices share a stream once in a
    million models, which then have two equal matrices: no figure here could show it.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:4], "big")


@contextmanager
def _random_state_kept() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        yield


def build_decoder(architecture: Architecture, *, seed: int = 0) -> Decoder:
    """Assemble the modules of a decoder in float32 on torch's current default device.

    Its matrices hold what the constructors drew; `ablations.initialization.initialize` gives them
    their initial values. The global random state is left as it was.

    Raises: Incompatible when parts do not fit each other or the sizes.
    """
    with _random_state_kept():
        return Decoder(architecture, _Builder(architecture, seed))


def skeleton(architecture: Architecture) -> Decoder:
    """The decoder on the meta device: every shape, no memory. Raises: Incompatible."""
    with torch.device("meta"):
        return build_decoder(architecture)
