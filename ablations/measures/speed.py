"""How fast a cell is, against the baseline cell in the same process.

Shapes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

import copy
import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated

import torch
from annotated_types import Ge, Gt
from torch import Tensor
from torch.nn import functional as F

from ablations.decoder import Decoder
from ablations.measures.of_a_pass import OfAPass
from ablations.observation import PassOptions
from ablations.sizes import Sized
from ablations.trial import Measurement, TrialContext
from registry.errors import Incompatible

Times = Mapping[str, float]
"""Seconds by what was timed: `forward` and `backward`, or `decode`."""


class Speed(OfAPass):
    """Times of forward pass, backward pass and one cached token, as ratios to the baseline cell's.

    Both decoders are built in one process and timed in turn: in each of `repeats` rounds each once,
    now the one first, now the other, so that both meet the same load. A `…_ratio` is the median
    over the rounds of the cell's time over the baseline's, a `…_spread` the distance between the
    quartiles of these ratios. `warmup` rounds before them are not counted; garbage is collected
    before, and not while it is timed. The baseline cell is timed against a copy of itself: how far
    its ratios are from 1 is noise.

    What is timed is a training step on B sequences of T random tokens, that is the forward pass
    with its cross-entropy, in training mode, and the backward pass; then, in inference mode, one
    token for each of B sequences of which the cache holds T − 1. T is `length`, by default the
    cell's context, but never more than the baseline's context. Where the cell or the baseline has
    no cache nothing is told of decoding.

    In a process with one thread time is what it computes (CPU time), so that waiting for a core
    that others use does not count; with several threads it is what passes; on a GPU, what passes
    there. Seconds are medians too,
    and never compared.
    """

    keeps_gradients = True

    def __init__(
        self,
        *,
        batch: Annotated[int, Gt(0)] = 2,
        length: Annotated[int, Gt(0)] | None = None,
        repeats: Annotated[int, Ge(5)] = 21,
        warmup: Annotated[int, Ge(1)] = 3,
    ) -> None:
        self.options = PassOptions(batch=batch, length=length)
        self._repeats = repeats
        self._warmup = warmup

    def convention(self) -> str:
        """What the figures rest on, in words."""
        return (
            f"{self._repeats} rounds on {self.options.tokens_in_words}; CPU time of a process with "
            "one thread, elapsed time of one with several"
        )

    def flops(self, decoder: Sized) -> float:
        """What one trial computes: two steps a round, were the baseline like the cell."""
        return 2 * (self._repeats + self._warmup) * super().flops(decoder)

    def measure(self, context: TrialContext) -> Measurement:
        """Time both in turn. Raises: NotApplicable where the baseline cell cannot be built."""
        both = context.fresh_decoder(), context.baseline_decoder()
        contexts = [decoder.architecture.context for decoder in both]
        length = min(self.options.length or contexts[0], contexts[1])
        vocabulary = min(decoder.architecture.vocab_size for decoder in both)
        tokens, targets = torch.randint(
            vocabulary, (2, self.options.batch, length), generator=context.generator("tokens")
        ).to(context.device)  # (B, T) each
        rounds = self._in_turn(*(_Step(decoder, tokens, targets) for decoder in both))
        metrics = figures(rounds)
        try:
            decoding = [_Decoding(decoder, tokens) for decoder in both]
        except Incompatible:
            return Measurement(metrics=metrics)
        return Measurement(metrics=metrics | figures(self._in_turn(*decoding)))

    def _in_turn(
        self, cell: Callable[[], Times], baseline: Callable[[], Times]
    ) -> list[tuple[Times, Times]]:
        """The times of both in each round that counts, the cell's first."""
        rounds = []
        with _garbage_kept():
            for number in range(self._warmup + self._repeats):
                if number % 2:
                    theirs, ours = baseline(), cell()
                else:
                    ours, theirs = cell(), baseline()
                rounds.append((ours, theirs))
        return rounds[self._warmup :]


def figures(rounds: Sequence[tuple[Times, Times]]) -> dict[str, float]:
    """Ratio, spread and seconds of what was timed, in rounds of (the cell's, the baseline's)."""
    found = {}
    for name in rounds[0][0]:
        ratios = [ours[name] / theirs[name] for ours, theirs in rounds]
        lower, median, upper = statistics.quantiles(ratios, n=4, method="inclusive")
        found[f"{name}_ratio"] = median
        found[f"{name}_spread"] = upper - lower
        found[f"{name}_seconds"] = statistics.median(ours[name] for ours, _ in rounds)
    return found


class _Step:
    """A training step without an update: forward and backward pass of one batch, (B, T)."""

    def __init__(self, decoder: Decoder, tokens: Tensor, targets: Tensor) -> None:
        self._decoder = decoder.train()
        self._tokens, self._targets = tokens, targets

    def __call__(self) -> Times:
        self._decoder.zero_grad(set_to_none=True)
        clock = _Clock(self._tokens.device)
        clock.mark()
        logits = self._decoder(self._tokens)  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), self._targets.flatten())
        clock.mark()
        torch.autograd.backward(loss)
        clock.mark()
        forward, backward = clock.seconds()
        return {"forward": forward, "backward": backward}


class _Decoding:
    """One more token for sequences (B, T) of which caches hold all before it.

    Raises: Incompatible when an attention has no cache.
    """

    def __init__(self, decoder: Decoder, tokens: Tensor) -> None:
        self._decoder = decoder.eval()
        self._last = tokens[:, -1:]  # (B, 1)
        self._held = decoder.new_caches()
        with torch.inference_mode():
            if tokens.shape[1] > 1:
                decoder(tokens[:, :-1], caches=self._held)

    def __call__(self) -> Times:
        with torch.inference_mode():
            caches = copy.deepcopy(self._held)  # since each pass adds its token
            clock = _Clock(self._last.device)
            clock.mark()
            self._decoder(self._last, caches=caches)
            clock.mark()
            (decode,) = clock.seconds()
            return {"decode": decode}


class _Clock:
    """Marks in a stretch of computing, and the seconds between them.

    A GPU computes beside the process, and tells by events when it came by.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[float] = []
        self._events: list[torch.cuda.Event] = []
        if self._on_gpu:
            torch.cuda.synchronize(device)

    def mark(self) -> None:
        """Now."""
        if self._on_gpu:
            self._events.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
            self._events[-1].record()
        else:
            self._marks.append(_now())

    def seconds(self) -> list[float]:
        """Between each mark and the next."""
        if self._on_gpu:
            self._events[-1].synchronize()
            pairs = itertools.pairwise(self._events)
            return [float(one.elapsed_time(two)) / 1000 for one, two in pairs]
        return [two - one for one, two in itertools.pairwise(self._marks)]


def _now() -> float:
    """Seconds of computing in a process with one thread, so that other processes do not count."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """No garbage is collected inside, what there is before."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
