"""One forward and backward pass, watched: what every observing measure of a trial shares.

Shapes: B batch, T tokens, D d_model, E width of the embeddings, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ablations.breaches import contracts_watched
from ablations.data import RANDOM, TEXT, refusal, sequences
from ablations.decoder import Decoder
from ablations.gradient_norms import GradientNorms
from ablations.initialization import Slice, slices
from ablations.losses import (
    CANCELLED,
    IN_WORDS,
    STRUCTURED,
    Loss,
    noise_like,
    probe_loss,
    share_of_noise,
    surviving_fraction,
)
from ablations.sizes import Sized
from ablations.watching import Branch, Mixing, Watcher


@dataclass(frozen=True, kw_only=True)
class PassOptions:
    """What the pass feeds and differentiates; measures with equal options share one pass.

    `length` None stands for the model's context. `data` is `random`, `text` or a text file.
    """

    batch: int = 2
    length: int | None = None
    loss: Loss = "cross_entropy"
    data: str = RANDOM

    @property
    def tokens_in_words(self) -> str:
        """What is fed, for a convention."""
        sequences = f"{self.batch} × {self.length or 'context'}"
        if self.data == RANDOM:
            return f"{sequences} random tokens"
        which = "the built-in text" if self.data == TEXT else f"the text {self.data}"
        return f"{sequences} bytes of {which}"

    @property
    def in_words(self) -> str:
        """What is fed and differentiated, for a convention."""
        targets = ""
        if self.loss == "cross_entropy":
            known = "uniformly random targets" if self.data == RANDOM else "the next byte"
            targets = f" against {known}"
        return (
            f"{IN_WORDS[self.loss]}{targets}, on {self.tokens_in_words}, evaluation mode, at "
            "initialization"
        )

    def unsupported(self, context: int, vocab_size: int) -> str | None:
        """Why a model of that context and vocabulary cannot take such a pass."""
        length = self.length or context
        if length > context:
            return f"length {length} is over the context {context}"
        return refusal(self.data, length=length, vocab_size=vocab_size)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A pass in evaluation mode, and the gradients of its loss.

    `streams[l]` (B, T, D) is the residual stream entering block l, `stream_gradients[l]` the
    loss's gradient there, `last_stream` (B, T, D) what leaves the last block, and `output`
    (B, T, D), with its gradient, what the head is handed. The
    `embedded_gradient` (B, T, E) is taken at the token embeddings' output, so it reaches the
    embedding through the stack alone, also where the head is tied. `summed` (B, T, D) is what the
    embedding norm was given, None without one.

    `gradient_norms` has, of each parameter inside the blocks by its path, the norm of the gradient
    of each of its ranges of rows, in the order of `ablations.initialization.slices`. The gradients
    themselves are not kept.

    `surviving_fraction` is that of the last norm (`ablations.losses.surviving_fraction`), None
    where the stack does not end with a norm. `cancelled` says that next to none of the gradient
    survives there or, of a loss with a direction that a norm may cancel, anywhere on the way to the
    embedding: nothing behind that point says anything about the model.
    """

    tokens: Tensor
    loss: Tensor
    last_stream: Tensor
    output: Tensor
    output_gradient: Tensor
    summed: Tensor | None
    embedded_gradient: Tensor
    streams: tuple[Tensor, ...]
    stream_gradients: tuple[Tensor, ...]
    gradient_norms: Mapping[str, tuple[float, ...]]
    branches: tuple[Branch, ...]
    mixings: tuple[Mixing, ...]
    surviving_fraction: float | None
    cancelled: bool


def observe(
    decoder: Decoder,
    options: PassOptions,
    generator: Callable[[str], torch.Generator],
    pieces: Sequence[Slice] | None = None,
) -> Observation:
    """Run the pass; what it draws comes from streams of its own.

    `pieces` are the decoder's `slices`, where they are at hand.

    Raises: ValueError when the model cannot take such a pass; ContractBroken.
    """
    architecture = decoder.architecture
    reason = options.unsupported(architecture.context, architecture.vocab_size)
    if reason:
        raise ValueError(reason)
    tokens, targets = sequences(
        options.data,
        batch=options.batch,
        length=options.length or architecture.context,
        vocab_size=architecture.vocab_size,
        generator=generator,
    )
    tokens, targets = tokens.to(decoder.device), targets.to(decoder.device)
    return observe_on(decoder, tokens, targets, generator, loss=options.loss, pieces=pieces)


def observe_on(
    decoder: Decoder,
    tokens: Tensor,
    targets: Tensor,
    generator: Callable[[str], torch.Generator],
    *,
    loss: Loss = "cross_entropy",
    pieces: Sequence[Slice] | None = None,
) -> Observation:
    """Run the pass on token ids and targets, both (B, T); a target of −100 is not scored.

    Raises: ContractBroken.
    """
    held = [piece for piece in pieces or slices(decoder) if piece.block is not None]
    run = partial(_run, decoder, tokens, targets, generator, loss, held)
    seen = run(watch_weights=True) or run(watch_weights=False)
    assert seen is not None, "without watching, autograd keeps every gradient"
    return seen


def _run(
    decoder: Decoder,
    tokens: Tensor,
    targets: Tensor,
    generator: Callable[[str], torch.Generator],
    loss: Loss,
    pieces: Sequence[Slice],
    *,
    watch_weights: bool,
) -> Observation | None:
    """The pass; None where watching the weights has missed a part of their gradients."""
    if any(module.training for module in decoder.modules()):
        decoder.eval()
    norms = GradientNorms(pieces=pieces)
    parameters = {piece.info.path: piece.parameter for piece in pieces}
    structured = loss in STRUCTURED
    with norms.watched(decoder) if watch_weights else nullcontext():
        with Watcher(decoder) as seen, contracts_watched(decoder):
            output = decoder.hidden(tokens)  # (B, T, D)
        value = probe_loss(loss, output, decoder.logits, targets, generator)
        points = [seen.embedded[0], *seen.streams]
        at = [output, *points]
        with norms.recorded():
            found = torch.autograd.grad(
                value, [*at, *parameters.values()], retain_graph=structured, allow_unused=True
            )
    gradient_norms = norms.of(dict(zip(parameters, found[len(at) :], strict=True)))
    if gradient_norms is None:
        return None
    output_gradient, *gradients = (  # zeros where the loss does not depend on it
        torch.zeros_like(point) if gradient is None else gradient
        for point, gradient in zip(at, found, strict=False)
    )
    assert seen.left is not None, "a decoder has a block"
    last, x = seen.last_norm(output)
    survives = None
    if last is not None and x is not None:
        survives = surviving_fraction(last, x, output_gradient, generator)
    shares = [survives]
    if structured:  # a norm further in, or one that hides behind another operation
        noise = noise_like(output_gradient, generator)
        of_noise = torch.autograd.grad(output, points, noise, materialize_grads=True)
        shares += [
            share_of_noise(output_gradient, through, noise, of)
            for through, of in zip(gradients, of_noise, strict=True)
        ]
    return Observation(
        tokens=tokens,
        loss=value.detach(),
        last_stream=seen.left,
        output=output.detach(),
        output_gradient=output_gradient,
        summed=seen.summed,
        embedded_gradient=gradients[0],
        streams=tuple(stream.detach() for stream in seen.streams),
        stream_gradients=tuple(gradients[1:]),
        gradient_norms=gradient_norms,
        branches=tuple(seen.branches),
        mixings=tuple(seen.mixings),
        surviving_fraction=survives,
        cancelled=any(share is not None and share < CANCELLED for share in shares),
    )


def pass_flops(decoder: Sized, options: PassOptions) -> float:
    """FLOPs of one pass: three times the forward pass's matrix products, a multiply-add being 2.

    Each matrix inside the blocks and the head takes one product a token, 2 FLOPs an entry;
    attention scores and their use take 4·T²·H·C a sequence and layer, all T² pairs counted.
    An estimate: a component that uses its matrices otherwise computes otherwise.
    """
    architecture = decoder.architecture
    length = options.length or architecture.context
    matrices = decoder.sizes.matrices
    width = architecture.embedding_dim
    projection = architecture.d_model * width if width else 0
    matrices += projection
    if options.loss == "cross_entropy":
        matrices += architecture.vocab_size * (width or architecture.d_model) + projection
    scores = architecture.depth * 4 * length**2 * architecture.n_heads * architecture.head_dim
    return 3.0 * options.batch * (2 * length * matrices + scores)


def pass_bytes(decoder: Sized, options: PassOptions, *, gradients: bool = False) -> int:
    """Memory that one pass needs at least, whatever its components are.

    Weights, drawn in float32, then in the decoder's type; with logits and their softmax, or with
    `gradients` where all of them are kept. What components keep for the backward pass is left out:
    it differs.
    """
    architecture, sizes = decoder.architecture, decoder.sizes
    weights, drawn = sizes.weight_bytes, 4 * sizes.parameters
    logits = 0
    if options.loss == "cross_entropy":
        tokens = options.batch * (options.length or architecture.context)
        logits = 2 * tokens * architecture.vocab_size * sizes.number_bytes
    return max(drawn, weights + logits, 2 * weights if gradients else 0)
