"""Next-token training of a cell: whether it learns, how far and how steadily."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le

from ablations.architecture import Architecture
from ablations.data import TEXT
from ablations.measures.of_training import Beta, OfTraining
from ablations.sizes import Sized
from ablations.training.evaluating import reads_ahead
from ablations.training.loop import Precision, Regime
from ablations.training.material import Source
from ablations.training.optimizing import Optimizer, Schedule
from ablations.training.summary import metrics, profiles
from ablations.trial import Measurement, TrialContext

MAX_STEPS, MAX_LOOKS = 10_000_000, 10_000
"""Four numbers are kept of each step in memory, and each look at held-out sequences is planned."""

LEAKS, STALLED = "leaks", "stalled"


class Training(OfTraining):
    """Train a decoder on the next token of a text, or on a synthetic task.

    Every cell and seed starts from its initial weights (`initializer`), in training mode, so with
    the model's dropout, and reads the same sequences in the same order: the n-th depends on the
    seed alone. A `batch` of sequences of `length` tokens (default: the model's context) is read a
    step, for `steps` steps; the loss is the mean cross-entropy of the scored targets, in nats.

    `data` is `text` (bytes of the standard library's `pydoc_data.topics`), a text file or folder,
    read byte by byte or with a `tokenizer` (a Hugging Face tokenizers file), or a task (`recall`,
    `copying`, `induction`) with options in `task`. The last tenth of a text is held out.

    The `learning_rate` rises linearly over `warmup_steps` and then follows the `schedule`.
    `weight_decay` acts on what has two or more dimensions; `betas` are those of adam and adamw,
    `momentum` sgd's; `clip_norm` bounds the gradient's norm (null: nothing does). An initializer
    may scale the rate of a parameter, and a feed-forward add an auxiliary loss to what is
    minimized.

    `dtype` is by default the grid's; with `bfloat16` weights are in float32 and products in
    bfloat16 (autocast). `compile` compiles the model (torch.compile), which costs a minute before
    the first step. The held-out loss is taken at the start and `evaluations` times, evenly, the
    end among them, over `held_out_batches` batches; gradient flow and signal propagation after the
    steps in `probes`. `target_loss` is the loss that `steps_to_loss` counts to; by default halfway
    between knowing frequencies and knowing bigrams (of a task: its answers).

    A model whose first half of a sequence depends on the second is marked `leaks`; one that ends
    no better than letter frequencies, or than chance, `stalled`.
    """

    def __init__(
        self,
        *,
        data: str = TEXT,
        tokenizer: str | None = None,
        task: dict[str, int] | None = None,
        steps: Annotated[int, Gt(0), Le(MAX_STEPS)] = 150,
        batch: Annotated[int, Gt(0)] = 8,
        length: Annotated[int, Gt(0)] | None = None,
        learning_rate: Annotated[float, Gt(0)] = 1e-3,
        warmup_steps: Annotated[int, Ge(0)] = 0,
        schedule: Schedule = "constant",
        optimizer: Optimizer = "adamw",
        betas: tuple[Beta, Beta] = (0.9, 0.95),
        momentum: Beta = 0.9,
        weight_decay: Annotated[float, Ge(0)] = 0.1,
        clip_norm: Annotated[float, Gt(0)] | None = 1.0,
        dtype: Precision | None = None,
        compile: bool = False,
        target_loss: Annotated[float, Gt(0)] | None = None,
        evaluations: Annotated[int, Gt(0), Le(MAX_LOOKS)] = 5,
        held_out_batches: Annotated[int, Gt(0)] = 8,
        probes: tuple[Annotated[int, Ge(0)], ...] = (),
    ) -> None:
        self.source = Source(data=data, tokenizer=tokenizer, task=task)
        self.length = length
        self.precision = dtype
        self._target_loss = target_loss
        self.regime = Regime(
            learning_rate=learning_rate,
            warmup_steps=warmup_steps,
            schedule=schedule,
            steps=steps,
            batch=batch,
            optimizer=optimizer,
            betas=betas,
            momentum=momentum,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
            compile=compile,
            evaluations=evaluations,
            held_out_batches=held_out_batches,
            probes=probes,
        )

    def convention(self) -> str:
        """What the figures rest on, in words, but for what grids vary of an optimizer."""
        regime = self.regime
        return (
            f"next-token cross-entropy on {self.source.in_words}, "
            f"{regime.batch} × {self.length or 'context'} tokens a step, {regime.optimizer}"
        )

    def unsupported(self, architecture: Architecture) -> str | None:
        """Why a cell cannot be trained so, told before anything runs."""
        regime = self.regime
        if regime.warmup_steps > regime.steps:
            return (
                f"warmup_steps {regime.warmup_steps} is longer than the training, "
                f"{regime.steps} steps"
            )
        late = [step for step in regime.probes if step > regime.steps]
        if late:
            return f"probes are after steps 0 to {regime.steps}: got {late[0]}"
        return super().unsupported(architecture)

    def flops(self, decoder: Sized) -> float:
        """What one trial computes: the steps, and a third of one for each held-out batch."""
        regime = self.regime
        looks = (len(regime.evaluated) + 1) * regime.held_out_batches
        return self.step_flops(decoder) * (regime.steps + looks / 3)

    def measure(self, context: TrialContext) -> Measurement:
        """Train, and return metrics and curves."""
        material = self.material(context.architecture)
        training = self.loop(context, material)
        leaks = reads_ahead(training.decoder, training.first(2)[0])
        history = training.run()
        tokens = self.regime.batch * material.length
        found = metrics(history, material, target_loss=self._target_loss, tokens=tokens)
        marks = [*([LEAKS] if leaks else []), *([STALLED] if found["stalled"] else [])]
        return Measurement(
            metrics=found,
            profiles=profiles(history, accuracy=material.scored_by_accuracy),
            marks=tuple(marks),
        )
