"""The training loop: one cell's next-token training, step by step.

Shapes: B batch, T tokens, V vocabulary, P parameters, S steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from ablations.checkpoints import Checkpoint
from ablations.decoder import Decoder
from ablations.losses import cross_entropy
from ablations.sizes import Sized
from ablations.streams import seed_process, seeded_process
from ablations.training.evaluating import Evaluation, Probe, evaluate, probe
from ablations.training.material import Material, Sequences
from ablations.training.optimizing import (
    FlatParameters,
    Optimizer,
    Schedule,
    optimizer_of,
    rates,
    restore,
    set_rate,
    state_of,
)

Precision = Literal["float32", "float64", "bfloat16"]

ROWS = ("loss", "gradient_norm", "update", "frequency_loss")
"""What is kept of each step."""

LOOKED_AT = 32
"""Steps between two looks at whether the training has diverged, and at the clock."""


@dataclass(frozen=True, kw_only=True)
class Regime:
    """How a model is trained; the options of the measure, checked."""

    learning_rate: float
    steps: int
    batch: int
    optimizer: Optimizer
    betas: tuple[float, float]
    momentum: float
    weight_decay: float
    clip_norm: float | None
    warmup_steps: int = 0
    schedule: Schedule = "constant"
    autocast: bool = False
    compile: bool = False
    evaluations: int = 1
    held_out_batches: int = 1
    probes: tuple[int, ...] = ()

    @property
    def evaluated(self) -> frozenset[int]:
        """Steps after which the held-out sequences are looked at, the last among them."""
        n = min(self.evaluations, self.steps)
        return frozenset(round(self.steps * (place + 1) / n) for place in range(n))

    def least_bytes(self, decoder: Sized) -> int:
        """Memory that training needs at least, in bytes, after its first step.

        Weights in float32 or better, their gradients, the weights before a step, and what the
        optimizer keeps. Activations are left out: they differ by component.
        """
        kept = (1 if self.momentum else 0) if self.optimizer == "sgd" else 2
        return (3 + kept) * decoder.sizes.wide_bytes


@dataclass(kw_only=True)
class History:
    """What was seen on the way.

    `steps` (len(ROWS), S) holds a row for each of `ROWS`: the loss of each step's batch before its
    update, the norm of its gradient before clipping, the norm of its update over that of the
    parameters, and what the batch costs a model that knows frequencies alone. NaN from the step on
    that was not reached.
    """

    steps: Tensor
    evaluations: dict[int, Evaluation] = field(default_factory=dict)
    probes: dict[int, Probe] = field(default_factory=dict)
    seconds: float = 0.0
    timed: int = 0

    def row(self, name: str) -> list[float]:
        """One row (S,), as numbers."""
        values: list[float] = self.steps[ROWS.index(name)].tolist()
        return values


class Loop:
    """One training, made anew or taken up where a checkpoint left it."""

    def __init__(
        self,
        decoder: Decoder,
        regime: Regime,
        material: Material,
        *,
        seed: int,
        generator: Callable[[str], torch.Generator],
        checkpoint: Checkpoint,
    ) -> None:
        self.decoder = decoder
        self.regime = regime
        self.material = material
        self.history = History(
            steps=torch.full(
                (len(ROWS), regime.steps), math.nan, dtype=torch.float64, device=decoder.device
            )
        )
        self._seed = seed
        self._generator = generator
        self._checkpoint = checkpoint
        self._flat = FlatParameters(decoder)
        self._before = torch.empty_like(self._flat.values)
        self._optimizer = optimizer_of(
            self._flat,
            regime.optimizer,
            learning_rate=regime.learning_rate,
            betas=regime.betas,
            momentum=regime.momentum,
            weight_decay=regime.weight_decay,
        )
        self._rates = list(
            rates(
                regime.learning_rate,
                steps=regime.steps,
                warmup_steps=regime.warmup_steps,
                schedule=regime.schedule,
            )
        )
        self._sequences = Sequences(material, "training", generator, decoder.device)
        self._held_out = Sequences(material, "held_out", generator, decoder.device)
        self._forward: Callable[[Tensor], Tensor] = (
            torch.compile(decoder) if regime.compile else decoder
        )
        self._auxiliary: list[Any] = [m for m in decoder.modules() if hasattr(m, "auxiliary_loss")]
        self._done = 0

    def first(self, count: int) -> tuple[Tensor, Tensor]:
        """Token ids and targets of the first sequences that are read, (count, T) each."""
        return self._sequences.take(0, count)

    def run(self) -> History:
        """Train to the end, or until something is not finite; a checkpoint is taken up."""
        self._take_up()
        stops = self._stops()
        with seeded_process(self._seed, "process/training"):
            if self._done == 0:
                self._look()
            for stop in (stop for stop in stops if stop > self._done):
                started = time.perf_counter()
                self.decoder.train()
                for step in range(self._done, stop):
                    self.step(step)
                finite = bool(torch.isfinite(self.history.steps[:, self._done : stop]).all())
                self.history.seconds += time.perf_counter() - started
                self.history.timed += stop - self._done
                self._done = stop
                if not finite:
                    break
                self._look()
                if self._checkpoint.due and stop < self.regime.steps:
                    self._save()
        return self.history

    def _stops(self) -> list[int]:
        """Steps after which something is done beside training."""
        regime = self.regime
        looks: Iterable[int] = range(LOOKED_AT, regime.steps, LOOKED_AT)
        return sorted({*looks, *regime.evaluated, *regime.probes, regime.steps} - {0})

    def step(self, step: int) -> None:
        """Read the batch of that step, and update the parameters."""
        regime, flat = self.regime, self._flat
        seed_process(self._seed, f"process/training/{step}")
        tokens, targets = self._sequences.take(step * regime.batch, regime.batch)  # (B, T)
        flat.gradients.zero_()
        with torch.autocast(self._flat.values.device.type, torch.bfloat16, enabled=regime.autocast):
            logits = self._forward(tokens)  # (B, T, V)
        loss = cross_entropy(logits, targets)
        objective = loss
        for module in self._auxiliary:
            objective = objective + module.auxiliary_loss()
        objective.backward()  # type: ignore[no-untyped-call]
        norm = torch.linalg.vector_norm(flat.gradients)
        if regime.clip_norm is not None:
            flat.gradients.mul_((regime.clip_norm / norm).clamp(max=1.0))
        self._before.copy_(flat.values)
        set_rate(self._optimizer, self._rates[step])
        self._optimizer.step()
        size = torch.linalg.vector_norm(self._before)
        self._before.sub_(flat.values)
        rows = self.history.steps[:, step]
        rows[0], rows[1] = loss.detach(), norm
        rows[2] = torch.linalg.vector_norm(self._before) / size
        rows[3] = self.material.frequency_losses(targets).mean()

    def _look(self) -> None:
        """Evaluate and probe where it is time to."""
        regime, done = self.regime, self._done
        if done in regime.evaluated or done == 0:
            self.history.evaluations[done] = evaluate(
                self.decoder,
                self._held_out,
                batch=regime.batch,
                batches=regime.held_out_batches,
            )
        if done in regime.probes:
            self.history.probes[done] = probe(self.decoder, self._held_out, self._generator)

    def _save(self) -> None:
        tensors = {
            "values": self._flat.values,
            "history": self.history.steps,
            **{f"buffer.{name}": buffer for name, buffer in self.decoder.named_buffers()},
            **state_of(self._optimizer),
        }
        state = {
            "done": self._done,
            "evaluations": {k: asdict(v) for k, v in self.history.evaluations.items()},
            "probes": {k: asdict(v) for k, v in self.history.probes.items()},
        }
        self._checkpoint.save(tensors, state)

    def _take_up(self) -> None:
        kept = self._checkpoint.load()
        if kept is None:
            return
        tensors, state = kept
        with torch.no_grad():
            self._flat.values.copy_(tensors["values"])
            for name, buffer in self.decoder.named_buffers():
                buffer.copy_(tensors[f"buffer.{name}"])
        self.history.steps.copy_(tensors["history"])
        restore(self._optimizer, tensors)
        self.history.evaluations = {
            int(step): Evaluation(**values) for step, values in state["evaluations"].items()
        }
        self.history.probes = {
            int(step): Probe.of(values) for step, values in state["probes"].items()
        }
        self._done = int(state["done"])
