"""One forward and backward pass, watched: what every observing measure of a trial shares.

Shapes: B batch, T tokens, D d_model, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ablations.breaches import contracts_watched
from ablations.decoder import Decoder


@dataclass(frozen=True, kw_only=True)
class PassOptions:
    """What the pass feeds and differentiates; measures with equal options share one pass.

    `length` None stands for the model's context.
    """

    batch: int = 2
    length: int | None = None


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A pass in evaluation mode: mean cross-entropy of random targets, and its gradients.

    `streams[l]` (B, T, D) is the residual stream entering block l, and `stream_gradients[l]` the
    loss's gradient there. `embedded_gradient` (B, T, D) is the gradient at the token embeddings'
    output, so it reaches the embedding through the stack alone, also where the head is tied.
    """

    tokens: Tensor
    loss: Tensor
    embedded_gradient: Tensor
    streams: tuple[Tensor, ...]
    stream_gradients: tuple[Tensor, ...]
    parameter_gradients: Mapping[str, Tensor]


def observe(
    decoder: Decoder, options: PassOptions, generator: Callable[[str], torch.Generator]
) -> Observation:
    """Run the pass. Tokens and targets are uniform over the vocabulary, from their own streams.

    Raises: ValueError when the length is over the model's context; ContractBroken.
    """
    architecture = decoder.architecture
    length = options.length or architecture.context
    if length > architecture.context:
        raise ValueError(f"length {length} is over the model's context {architecture.context}")
    shape = (options.batch, length)
    tokens, targets = (
        torch.randint(architecture.vocab_size, shape, generator=generator(name))
        for name in ("tokens", "targets")
    )
    decoder.eval()
    embedded: list[Tensor] = []
    streams: list[Tensor] = []
    hooks = [
        decoder.token_embedding.register_forward_hook(lambda _m, _a, out: embedded.append(out)),
        *(
            block.register_forward_pre_hook(lambda _m, args: streams.append(args[0]))
            for block in decoder.blocks
        ),
    ]
    try:
        with contracts_watched(decoder):
            logits = decoder(tokens)  # (B, T, V)
    finally:
        for hook in hooks:
            hook.remove()
    dtype = torch.promote_types(logits.dtype, torch.float32)
    loss = F.cross_entropy(logits.flatten(0, 1).to(dtype), targets.flatten())
    parameters = dict(decoder.named_parameters())
    found = torch.autograd.grad(
        loss,
        [embedded[0], *streams, *parameters.values()],
        materialize_grads=True,  # zeros for what the loss does not depend on
    )
    split = 1 + len(streams)
    return Observation(
        tokens=tokens,
        loss=loss.detach(),
        embedded_gradient=found[0],
        streams=tuple(stream.detach() for stream in streams),
        stream_gradients=found[1:split],
        parameter_gradients=dict(zip(parameters, found[split:], strict=True)),
    )


def pass_flops(decoder: Decoder, options: PassOptions) -> float:
    """FLOPs of one pass: three times the forward pass's matrix products, a multiply-add being 2.

    Each matrix inside the blocks and the head takes one product a token, 2 FLOPs an entry;
    attention scores and their use take 4·T²·H·C a sequence and layer, all T² pairs counted.
    An estimate: a component that uses its matrices otherwise computes otherwise.
    """
    architecture = decoder.architecture
    length = options.length or architecture.context
    blocks = [sum(p.numel() for p in block.parameters() if p.ndim >= 2) for block in decoder.blocks]
    matrices = decoder.head.weight.numel() + sum(
        blocks[layer // architecture.share_layers] for layer in range(architecture.depth)
    )
    scores = architecture.depth * 4 * length**2 * architecture.n_heads * architecture.head_dim
    return 3.0 * options.batch * (2 * length * matrices + scores)
