"""What a training reads: sequences of a text or of a synthetic task, the same for every cell.

Shapes: N sequences, T tokens, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from ablations.architecture import Architecture
from ablations.data import RANDOM, TEXT, is_name
from ablations.losses import UNSCORED
from ablations.tasks import TASKS, Task, task_of
from ablations.training.texts import Text, read_text, text_files, text_refusal
from registry.errors import nearest

Part = Literal["training", "held_out"]

CHUNK = 256
"""Sequences that are drawn from one random stream: the n-th is the same whatever the batch is."""

CPU = torch.device("cpu")

MARGIN = 0.05
"""Of the way from knowing frequencies alone to knowing all: a model further on has learnt."""


class Material(Protocol):
    """What sequences are drawn from, and what a model that has learnt nothing loses on them."""

    length: int
    frequency_loss: float
    """Nats that a model loses which knows frequencies alone."""
    known_loss: float
    """Nats that one loses which knows the next step: bigrams of a text, the answers of a task."""
    scored_by_accuracy: bool
    learnt_margin: float
    """How far beyond frequencies, in nats or in accuracy, a model has learnt."""

    def draw(self, part: Part, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`CHUNK` sequences: token ids and targets, both (N, T); targets may be `UNSCORED`."""
        ...

    def frequency_losses(self, targets: Tensor) -> Tensor:
        """What each scored target costs a model that knows frequencies alone."""
        ...

    @property
    def chance(self) -> float:
        """The accuracy of a model that guesses."""
        ...


@dataclass(frozen=True, kw_only=True)
class Source:
    """The material as a grid names it: a text, with a tokenizer or read byte by byte, or a task."""

    data: str = TEXT
    tokenizer: str | None = None
    task: Mapping[str, int] | None = None

    @property
    def is_task(self) -> bool:
        """Whether it is a synthetic task; else a text."""
        return self.data in TASKS

    def refusal(self, *, length: int, vocab_size: int) -> str | None:
        """Why a model of that vocabulary cannot be trained on it, in a line; None if it can."""
        if self.is_task:
            if self.tokenizer is not None:
                return f"tokenizer has no effect on the task {self.data!r}"
            try:
                return task_of(self.data, self.task or {}).refusal(length, vocab_size)
            except ValueError as error:
                return str(error)
        if self.task is not None:
            known = ", ".join(TASKS)
            return f"task has no effect on data {self.data!r}: it gives options of {known}"
        if not is_name(self.data):
            return f"data {self.data!r} names no text: {TEXT!r}, a file or folder, or a task"
        if self.data == RANDOM:
            return f"data {RANDOM!r} has nothing to learn: choose {TEXT!r}, a file, or a task"
        reason = text_refusal(self.data, self.tokenizer, length=length, vocab_size=vocab_size)
        if reason and reason.endswith("No such file or directory"):
            reason += f"; {nearest(self.data, [TEXT, *TASKS])}"
        return reason

    def files(self) -> list[str]:
        """The files that the material depends on."""
        return [] if self.is_task else text_files(self.data, self.tokenizer)

    def unsupported(self, architecture: Architecture, length: int | None) -> str | None:
        """Why a cell cannot be trained on it, `length` None standing for its context."""
        context = architecture.context
        if length is not None and length > context:
            return f"length {length} is over the context {context}"
        return self.refusal(length=length or context, vocab_size=architecture.vocab_size)

    @property
    def in_words(self) -> str:
        """What it is, for a report."""
        if self.is_task:
            return task_of(self.data, self.task or {}).in_words()
        return read_text(self.data, self.tokenizer).in_words

    def material(self, *, length: int, vocab_size: int) -> Material:
        """The material for a model. Raises: ValueError for what `refusal` refuses."""
        reason = self.refusal(length=length, vocab_size=vocab_size)
        if reason:
            raise ValueError(reason)
        if self.is_task:
            task = task_of(self.data, self.task or {})
            return TaskMaterial(task, length=length, vocab_size=vocab_size)
        return TextMaterial(read_text(self.data, self.tokenizer), length=length)


class TextMaterial:
    """Windows of a text that start anywhere in it; each token's target is the one after it."""

    scored_by_accuracy = False

    def __init__(self, text: Text, *, length: int) -> None:
        self.length = length
        self.frequency_loss = text.unigram_entropy
        self.known_loss = text.bigram_entropy
        self.learnt_margin = MARGIN * (self.frequency_loss - self.known_loss)
        self._text = text
        self._surprise = torch.from_numpy(text.surprise)

    def draw(self, part: Part, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`CHUNK` windows, (N, T) and (N, T)."""
        tokens = self._text.training if part == "training" else self._text.held_out
        starts = torch.randint(len(tokens) - self.length, (CHUNK, 1), generator=generator)
        places = starts + torch.arange(self.length + 1)  # (N, T + 1)
        windows = torch.from_numpy(tokens[places.numpy()].astype(np.int64))
        return windows[:, :-1], windows[:, 1:]

    def frequency_losses(self, targets: Tensor) -> Tensor:
        """−log of the targets' frequencies, of their shape."""
        return self._surprise.to(targets.device)[targets]

    @property
    def chance(self) -> float:
        """That of the most frequent token."""
        return float((-self._surprise.min()).exp())


class TaskMaterial:
    """Sequences of a synthetic task; positions without an answer are not scored."""

    scored_by_accuracy = True

    def __init__(self, task: Task, *, length: int, vocab_size: int) -> None:
        answers = task.n_answers(length, vocab_size)
        self.length = length
        self.frequency_loss = math.log(answers)
        self.known_loss = 0.0
        self.learnt_margin = MARGIN * (1 - 1 / answers)
        self.chance = 1 / answers
        self._task = task
        self._vocab_size = vocab_size

    def draw(self, part: Part, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`CHUNK` sequences; those held out come from other streams."""
        return self._task.sequences(CHUNK, self.length, self._vocab_size, generator)

    def frequency_losses(self, targets: Tensor) -> Tensor:
        """log n for each scored target, n equally likely answers."""
        return torch.full_like(
            targets[targets != UNSCORED], self.frequency_loss, dtype=torch.float64
        )


class Sequences:
    """The sequences of one part in their order, from streams named by what is drawn.

    So the n-th sequence is the same in every cell, batch size and length of training, and after a
    resumption. They are drawn on the CPU, and kept on the device that reads them.
    """

    def __init__(
        self,
        material: Material,
        part: Part,
        generator: Callable[[str], torch.Generator],
        device: torch.device = CPU,
    ) -> None:
        self._device = device
        self._material = material
        self._part = part
        self._generator = generator
        self._chunks: dict[int, tuple[Tensor, Tensor]] = {}

    def take(self, first: int, count: int) -> tuple[Tensor, Tensor]:
        """Token ids and targets of `count` sequences from the `first` on, (count, T) each."""
        chunks = range(first // CHUNK, (first + count - 1) // CHUNK + 1)
        self._chunks = {chunk: self._chunks.get(chunk) or self._drawn(chunk) for chunk in chunks}
        start = first - chunks[0] * CHUNK
        tokens, targets = (
            torch.cat(parts)[start : start + count]
            if len(parts) > 1
            else parts[0][start : start + count]
            for parts in zip(*self._chunks.values(), strict=True)
        )
        return tokens, targets

    def _drawn(self, chunk: int) -> tuple[Tensor, Tensor]:
        generator = self._generator(f"sequences/{self._part}/{chunk}")
        tokens, targets = self._material.draw(self._part, generator)
        return tokens.to(self._device), targets.to(self._device)
