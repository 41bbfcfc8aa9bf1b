"""Attention on the meta device as the CPU computes it: by its fused kernel, where torch takes it.

On the meta device torch writes the map of `scaled_dot_product_attention` out, and autograd keeps
several tensors of its size; on a real device a fused kernel keeps q, k, v, the output and one
number a row. Inside `FusedAttention` a call on meta tensors runs that kernel's shapes.

Shapes: B batch, T queries, S keys, H heads, K key/value heads, C head_dim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend
from torch.overrides import TorchFunctionMode

_KERNEL = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class FusedAttention(TorchFunctionMode):
    """Inside, attention on the meta device is the CPU's fused kernel where torch would choose it.

    Elsewhere, as with dropout, a bias that is learned or one of three dimensions, torch writes the
    map out, here as there.
    """

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if func is F.scaled_dot_product_attention:
            return _attend(func, *args, **given)
        return func(*args, **given)


def _attend(
    written_out: Callable[..., Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """query (B, H, T, C), key and value (B, K, S, C) → (B, H, T, C), as torch's own function."""
    if not query.is_meta or not _is_fused(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    ):
        return written_out(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        hidden = attn_mask.logical_not()
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(hidden, -torch.inf)
    y: Tensor
    y, _ = _KERNEL(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    return y


def _is_fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    *how: Any,
    **options: Any,
) -> bool:
    """Whether torch would choose the kernel on the CPU."""
    mask = None if attn_mask is None else _stand_in(attn_mask)
    shapes = _stand_in(query), _stand_in(key), _stand_in(value)
    chosen = torch._fused_sdp_choice(*shapes, mask, *how, **options)
    return bool(chosen == SDPBackend.FLASH_ATTENTION.value)


def _stand_in(tensor: Tensor) -> Tensor:
    """A tensor on the CPU of that shape and type, which torch can look at; its memory is one row's.

    What torch chooses by are shapes, types, the last stride and what is to be differentiated.
    """
    shape, stride = tensor.shape, max(tensor.stride()[-1:], default=1)
    row = torch.empty(shape[-1], stride or 1, dtype=tensor.dtype)[:, 0]
    return row.requires_grad_(tensor.requires_grad).expand(shape)


def _forward_flops(
    query: Sequence[int],
    key: Sequence[int],
    value: Sequence[int],
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Scores and their use, of all T · S pairs: 2 · B · H · T · S · 2C, a multiply-add being 2."""
    batch, heads, length, width = query
    return 2 * batch * heads * length * key[-2] * (width + value[-1])


def _backward_flops(
    gradient: Sequence[int],
    query: Sequence[int],
    key: Sequence[int],
    value: Sequence[int],
    *args: Any,
    **kwargs: Any,
) -> int:
    """Two products for each of the forward pass; what the kernel computes again is not counted."""
    return 2 * _forward_flops(query, key, value)


FLOPS: Mapping[Any, Callable[..., int]] = {_KERNEL: _forward_flops, _BACKWARD: _backward_flops}
"""What torch's counter is told of the kernel: the same as where the map is written out."""
