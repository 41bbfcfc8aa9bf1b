"""Synthetic sequences that tell small architectures apart: what came before is asked for later.

What is to be remembered stands in the first part of a sequence, what asks for it in the last, and
between them lie at least `gap` tokens that say nothing of it. A model that reads the latest
gap + 1 tokens alone is at chance: L layers with a window of w tokens read L·(w − 1) + 1.

Shapes: N sequences, T tokens, V vocabulary, K things to remember.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar

import torch
from annotated_types import Ge, Gt
from torch import Tensor

from ablations.losses import UNSCORED
from registry.errors import nearest
from registry.options import check_options, signature_of


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A kind of sequences, and what each of them asks for.

    `gap` is the least number of tokens between what is to be remembered and the first that asks
    for it: by default half the length, or all that is left over where that is less.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    things: ClassVar[str]
    """The option that says how many things there are to remember."""
    tokens_a_thing: ClassVar[int]
    """Tokens that a thing takes, where it is told and where it is asked for together."""

    gap: Annotated[int, Ge(0)] | None = None

    def sequences(
        self, count: int, length: int, vocab_size: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Token ids and targets, both (N, T) int64.

        The target at t is what the tokens up to t ask for there, `UNSCORED` where they ask nothing.

        Raises: ValueError for what `refusal` refuses.
        """
        reason = self.refusal(length, vocab_size)
        if reason:
            raise ValueError(reason)
        return self._draw(count, length, vocab_size, generator)

    def refusal(self, length: int, vocab_size: int) -> str | None:
        """Why there are no such sequences, in a line; None if there are."""
        shortest, fewest = self._shortest + (self.gap or 0), self._fewest_ids
        options, faults = f"{self.things} {self._things}", []
        if length < shortest:
            options += f" and gap {self.gap}" if self.gap else ""
            faults.append(f"a length of at least {shortest}, not {length}")
        if vocab_size < fewest:
            faults.append(f"a vocab_size of at least {fewest}, not {vocab_size}")
        if not faults:
            return None
        return f"task {self.name!r} with {options} needs {', and '.join(faults)}"

    def in_words(self) -> str:
        """What it is, for a report."""
        gap = "up to half the length" if self.gap is None else self.gap
        return f"{self.title} ({self.things} {self._things}, gap {gap})"

    @abstractmethod
    def n_answers(self, length: int, vocab_size: int) -> int:
        """How many answers are equally likely: chance is right once in so many."""

    @property
    @abstractmethod
    def _fewest_ids(self) -> int:
        """The smallest vocabulary: one token of each kind, the things, and two answers."""

    @abstractmethod
    def _draw(
        self, count: int, length: int, vocab_size: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """What `sequences` returns."""

    @property
    def _things(self) -> int:
        things: int = getattr(self, self.things)
        return things

    @property
    def _shortest(self) -> int:
        """The shortest sequence without a gap."""
        return self.tokens_a_thing * self._things

    def _gap(self, length: int) -> int:
        return min(length // 2, length - self._shortest) if self.gap is None else self.gap


@dataclass(frozen=True, kw_only=True)
class Recall(Task):
    """Key–value pairs, and later every key once more, at which its value is to be predicted.

    k₁ v₁ … k_K v_K, then the gap, then the keys in random order at random places:
    target(t) = vᵢ where token(t) = kᵢ. Which keys there are, and each one's value, is drawn anew
    for every sequence; keys differ, values need not. All other tokens are noise. A third of the
    vocabulary each is noise, keys and values, in this order (values have what does not divide).

    Source: arXiv:2312.04927. Deviation: noise is neither key nor value; two keys may have one
    value; places are uniform, where the paper has many queries close to the pairs.
    """

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "multi-query associative recall"
    things: ClassVar[str] = "pairs"
    tokens_a_thing: ClassVar[int] = 3

    pairs: Annotated[int, Gt(0)] = 4

    def n_answers(self, length: int, vocab_size: int) -> int:
        """The number of values."""
        return vocab_size - 2 * (vocab_size // 3)

    @property
    def _fewest_ids(self) -> int:
        return max(3 * self.pairs, 4)

    def _draw(
        self, count: int, length: int, vocab_size: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        third, answers = vocab_size // 3, self.n_answers(length, vocab_size)
        tokens, targets = _noise(count, length, 0, third, generator)
        keys = third + _distinct(count, self.pairs, third, generator)  # (N, K)
        values = 2 * third + torch.randint(answers, keys.shape, generator=generator)  # (N, K)
        tokens[:, 0 : 2 * self.pairs : 2] = keys
        tokens[:, 1 : 2 * self.pairs : 2] = values
        start = 2 * self.pairs + self._gap(length)
        places = start + _distinct(count, self.pairs, length - start, generator)  # (N, K)
        return tokens.scatter(1, places, keys), targets.scatter(1, places, values)


@dataclass(frozen=True, kw_only=True)
class Copying(Task):
    """Items among noise, and later a marker for each, at which they are to be told in order.

    K items x₁ … x_K at random places of the first part, then the gap, then K markers:
    target(t) = xᵢ at the i-th marker. Items are independent and may repeat. Token 0 is the marker,
    noise is the rest of the lower half of the vocabulary, items are the upper half (and what does
    not divide).

    Source: the selective copying of arXiv:2403.17844. Deviation: noise has many tokens, not one;
    what the paper puts after a single marker is that marker again.
    """

    name: ClassVar[str] = "copying"
    title: ClassVar[str] = "selective copying"
    things: ClassVar[str] = "items"
    tokens_a_thing: ClassVar[int] = 2

    items: Annotated[int, Gt(0)] = 4

    def n_answers(self, length: int, vocab_size: int) -> int:
        """The number of different items."""
        return vocab_size - vocab_size // 2

    @property
    def _fewest_ids(self) -> int:
        return 4

    def _draw(
        self, count: int, length: int, vocab_size: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        half, answers = vocab_size // 2, self.n_answers(length, vocab_size)
        tokens, targets = _noise(count, length, 1, half, generator)
        items = half + torch.randint(answers, (count, self.items), generator=generator)  # (N, K)
        first_part = length - self.items - self._gap(length)
        places = _distinct(count, self.items, first_part, generator).sort(dim=1).values  # (N, K)
        tokens[:, length - self.items :] = 0
        targets[:, length - self.items :] = items
        return tokens.scatter(1, places, items), targets


@dataclass(frozen=True, kw_only=True)
class Induction(Task):
    """Triggers among ordinary tokens, and at the end again: what followed each is to be predicted.

    In the first part each of K triggers stands once, in random order at random places, followed by
    an ordinary token; then comes the gap; the last K tokens are the triggers in random order:
    target(t) = the token that followed token(t) there. Triggers are the first K tokens of the
    vocabulary in every sequence; all other tokens are independent and uniform over the rest, so
    that nothing but its place sets an answer apart.

    Source: the induction heads of arXiv:2212.14052, which has one trigger.
    """

    name: ClassVar[str] = "induction"
    title: ClassVar[str] = "induction heads"
    things: ClassVar[str] = "triggers"
    tokens_a_thing: ClassVar[int] = 3

    triggers: Annotated[int, Gt(0)] = 4

    def n_answers(self, length: int, vocab_size: int) -> int:
        """The number of ordinary tokens."""
        return vocab_size - self.triggers

    @property
    def _fewest_ids(self) -> int:
        return self.triggers + 2

    def _draw(
        self, count: int, length: int, vocab_size: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        k = self.triggers
        tokens, targets = _noise(count, length, k, vocab_size, generator)
        first_part = length - k - self._gap(length)
        # Places among first_part − K, moved on by one for each before: no two are neighbours.
        places = _distinct(count, k, first_part - k, generator).sort(dim=1).values  # (N, K)
        places += torch.arange(k)
        told = _distinct(count, k, k, generator)  # (N, K)
        answers = tokens.gather(1, places + 1)  # (N, K), what follows each of `told`
        tokens.scatter_(1, places, told)
        order = _distinct(count, k, k, generator)  # (N, K)
        tokens[:, length - k :] = told.gather(1, order)
        targets[:, length - k :] = answers.gather(1, order)
        return tokens, targets


TASKS: Mapping[str, type[Task]] = MappingProxyType(
    {task.name: task for task in (Copying, Induction, Recall)}
)


def task_of(name: str, options: Mapping[str, int]) -> Task:
    """The task of that name with those options.

    Raises: ValueError for a name, options or values that it has not, all of them at once.
    """
    if name not in TASKS:
        raise ValueError(f"no task is named {name!r}; {nearest(name, TASKS)}")
    task = TASKS[name]
    return task(**check_options(f"task {name!r}", signature_of(task, takes_dims=False), options))


def _noise(
    count: int, length: int, first: int, end: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Tokens uniform from `first` to `end` − 1, and targets of which none is scored, (N, T)."""
    tokens = torch.randint(first, end, (count, length), generator=generator)
    return tokens, torch.full_like(tokens, UNSCORED)


def _distinct(count: int, k: int, choices: int, generator: torch.Generator) -> Tensor:
    """K different numbers under `choices` a row, in random order, (N, K)."""
    drawn = torch.rand(count, choices, generator=generator)  # (N, choices)
    return drawn.argsort(dim=1, stable=True)[:, :k]
