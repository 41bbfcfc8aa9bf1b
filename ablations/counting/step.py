"""One training step on the meta device: its products, and what it keeps for the backward pass.

Shapes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from ablations.counting.fused_attention import FLOPS, FusedAttention
from ablations.decoder import Decoder
from ablations.watching import Mixing, Watcher


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a step on B sequences of T tokens costs.

    `forward` and `backward` are FLOPs, `saved` bytes, `map_elements` the numbers in all attention
    maps, None where an attention has none to show.
    """

    forward: int
    backward: int
    saved: int
    map_elements: int | None


def count_step(decoder: Decoder, *, batch: int, length: int) -> Step:
    """Run a step of a decoder on the meta device, in evaluation mode: cross-entropy of the logits.

    FLOPs are those of the matrix products (and convolutions) that torch's counter knows, a
    multiply-add being 2, attention over all T² pairs, whatever its mask hides.
    """
    decoder.eval()
    tokens = torch.zeros(batch, length, dtype=torch.long, device="meta")
    targets = torch.zeros_like(tokens)
    parameters = list(decoder.parameters())
    kept = Saved([*parameters, *decoder.buffers(), tokens, targets])
    with FusedAttention(), FlopCounterMode(display=False, custom_mapping=dict(FLOPS)) as counter:
        with Watcher(decoder) as seen, kept.watched():
            logits = decoder(tokens)  # (B, T, V)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        forward = counter.get_total_flops()
        torch.autograd.grad(loss, parameters, allow_unused=True)
        backward = counter.get_total_flops() - forward
    return Step(
        forward=forward,
        backward=backward,
        saved=kept.nbytes,
        map_elements=_map_elements(seen.mixings),
    )


class Saved:
    """The storages that autograd keeps for the backward pass, but for those of `known` tensors.

    A storage counts once and whole, however many tensors look at it.
    """

    def __init__(self, known: Iterable[Tensor]) -> None:
        # Storages are held, so that none is freed and its address given to another.
        self._known = {address(tensor): tensor for tensor in known}
        self._kept: dict[int, torch.UntypedStorage] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(storage.nbytes() for storage in self._kept.values())

    def watched(self) -> torch.autograd.graph.saved_tensors_hooks:
        """A context in which what is saved is counted."""
        return torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor)

    def _pack(self, tensor: Tensor) -> Tensor:
        if address(tensor) not in self._known:
            self._kept[address(tensor)] = tensor.untyped_storage()
        return tensor


def address(tensor: Tensor) -> int:
    """What tells a storage from all others that live."""
    return int(tensor.untyped_storage()._cdata)


def _map_elements(mixings: Iterable[Mixing]) -> int | None:
    """Elements of the maps (B, H, T, T) of all attentions; None unless each has one to show."""
    elements = 0
    for mixing in mixings:
        shown = getattr(mixing.module, "scores", None) or getattr(mixing.module, "weights", None)
        if shown is None:
            return None
        with torch.no_grad():
            elements += shown(mixing.x, **mixing.rest).numel()
    return elements or None
