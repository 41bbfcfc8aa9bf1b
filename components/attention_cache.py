"""The keys and values that an attention keeps while it decodes.

Shapes: B batch, T new tokens, S tokens held, K key/value heads, C head_dim.
"""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValueCache:
    """Keys and values of the past, of the last `keep` tokens only if a window needs no more.

    Grows along tokens: keys and values (B, K, S, C). Keys are held as they are compared, that is
    normalized and rotated.
    """

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self._held: tuple[Tensor, Tensor] | None = None
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens seen so far, those no longer held among them."""
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes held, whole storages counted."""
        return sum(part.untyped_storage().nbytes() for part in self._held or ())

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append (B, K, T, C) and return all that was held and is new, (B, K, S + T, C)."""
        self._length += keys.shape[-2]
        if self._held is not None:
            keys = torch.cat((self._held[0], keys), dim=-2)
            values = torch.cat((self._held[1], values), dim=-2)
        self._held = (self._recent(keys), self._recent(values))
        return keys, values

    def _recent(self, part: Tensor) -> Tensor:
        surplus = 0 if self._keep is None else max(0, part.shape[-2] - self._keep)
        recent = part[..., surplus:, :]  # (B, K, at most keep, C)
        # A slice, of the past or of a fused projection, would keep its whole storage alive.
        is_slice = recent.untyped_storage().nbytes() > recent.nbytes
        return recent.clone() if is_slice else recent
