"""A text as the tokens that a model is trained on: how many, how predictable, what is held out.

Shapes: N tokens of the text, V one more than the largest token id.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ablations.data import BYTES, TEXT, bytes_of, files_of, text_of, versions_of
from registry.errors import MissingExtra

HELD_OUT = 10
"""One token of so many, at the end of the text, is never trained on."""

COUNTED = 1 << 26
"""Tokens, from the start, that a longer text's entropies are taken over."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Text:
    """The tokens (N,) of a text, in the order in which it is read."""

    name: str
    tokens: NDArray[np.uint8] | NDArray[np.uint32]
    tokenizer: str = ""

    @property
    def training(self) -> NDArray[np.uint8] | NDArray[np.uint32]:
        """What is trained on: all but the end."""
        return self.tokens[: len(self.tokens) - len(self.tokens) // HELD_OUT]

    @property
    def held_out(self) -> NDArray[np.uint8] | NDArray[np.uint32]:
        """The tenth at the end."""
        return self.tokens[len(self.training) :]

    @cached_property
    def largest(self) -> int:
        """The largest token id; −1 of nothing."""
        return int(self.tokens.max()) if len(self.tokens) else -1

    @cached_property
    def constant(self) -> bool:
        """Whether what is trained on is one token again and again."""
        return bool(self.training.min() == self.training.max())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tokens."""
        return hashlib.sha256(np.ascontiguousarray(self.tokens).tobytes()).hexdigest()

    @cached_property
    def surprise(self) -> NDArray[np.float64]:
        """(V,) −log of each token's frequency in what is trained on, one unseen taken as seen once.

        Its mean over tokens is what a model loses that knows letter frequencies alone.
        """
        counts = np.bincount(self.training[:COUNTED], minlength=self.largest + 1)
        return np.asarray(-np.log(np.maximum(counts, 1) / counts.sum()), dtype=np.float64)

    @cached_property
    def unigram_entropy(self) -> float:
        """H₁ = −Σ p(a) log p(a) in nats, of what is trained on."""
        counts = np.bincount(self.training[:COUNTED])
        return _entropy(counts)

    @cached_property
    def bigram_entropy(self) -> float:
        """H₂ = −Σ p(a, b) log p(b | a) in nats, of what is trained on.

        Counted from the pairs that are there: of a text with few tokens a pair it is too low.
        """
        tokens = np.asarray(self.training[:COUNTED], dtype=np.int64)
        pairs = tokens[:-1] * (self.largest + 1) + tokens[1:]
        together = _entropy(np.unique(pairs, return_counts=True)[1])
        return together - _entropy(np.bincount(tokens[:-1]))

    @property
    def in_words(self) -> str:
        """What it is, for a report: its size, content and entropies."""
        unit = "bytes" if not self.tokenizer else f"tokens of {self.tokenizer}"
        name = "the built-in text" if self.name == TEXT else f"the text {self.name}"
        return (
            f"{name} ({len(self.tokens):,} {unit}, SHA-256 {self.digest[:12]}, unigram entropy "
            f"{self.unigram_entropy:.3f} and bigram entropy {self.bigram_entropy:.3f} nats; the "
            f"last tenth is held out)"
        )


def read_text(source: str, tokenizer: str | None = None) -> Text:
    """A text as bytes, or as the tokens of a Hugging Face `tokenizers` file.

    Raises: OSError for a file that cannot be read; ValueError for a tokenizer's file that is none,
    and for text that is not UTF-8 and so cannot be tokenized; MissingExtra without `tokenizers`.
    """
    if tokenizer is None:
        return _of_bytes(source, versions_of(source))
    return _tokenized(source, tokenizer, (*versions_of(source), *versions_of(tokenizer)))


def text_refusal(source: str, tokenizer: str | None, *, length: int, vocab_size: int) -> str | None:
    """Why a model of that vocabulary cannot be trained on sequences of a text, or None."""
    if tokenizer is None and vocab_size < BYTES:
        return f"data {source!r} is read byte by byte: vocab_size must be at least {BYTES}"
    try:
        text = read_text(source, tokenizer)
    except OSError as error:
        return f"data {error.filename or source!r} cannot be read: {error.strerror or error}"
    except ValueError as error:
        return str(error)
    if text.largest >= vocab_size:
        return (
            f"token id {text.largest} of data {source!r} is outside the vocabulary: vocab_size "
            f"must be at least {text.largest + 1}, not {vocab_size}"
        )
    if not len(text.tokens):
        return f"data {source!r} is empty"
    least = min(len(text.training), len(text.held_out))
    if least <= length:
        return (
            f"data {source!r} is too short: its last tenth, which is held out, has "
            f"{len(text.held_out):,} of {len(text.tokens):,} tokens, and length {length} needs "
            f"{length + 1} or more"
        )
    if text.constant:
        return f"data {source!r} has one token alone, again and again: there is nothing to learn"
    return None


def text_files(source: str, tokenizer: str | None = None) -> list[str]:
    """The files that the tokens depend on."""
    return [*map(str, files_of(source)), *([tokenizer] if tokenizer is not None else [])]


@lru_cache(maxsize=4)
def _of_bytes(source: str, versions: object) -> Text:
    return Text(name=source, tokens=text_of(source))


@lru_cache(maxsize=4)
def _tokenized(source: str, tokenizer: str, versions: object) -> Text:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra(
            "training.tokenizer needs the package tokenizers: "
            "python -m pip install 'ablations[tokenizers]'"
        ) from error
    try:
        encoder = Tokenizer.from_str(bytes_of(Path(tokenizer)).tobytes().decode("utf-8"))
    except OSError:
        raise
    except Exception as error:  # the library raises plain Exception
        raise ValueError(
            f"tokenizer {tokenizer!r} is no Hugging Face tokenizers file: {error}"
        ) from error
    parts = []
    for name, data in _documents(source):
        try:
            document = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"data {name!r} is not UTF-8, so it cannot be tokenized: byte {error.start} is "
                f"{data[error.start]:#04x}; without a tokenizer it is read byte by byte"
            ) from error
        parts.append(np.asarray(encoder.encode(document).ids, dtype=np.uint32))
    tokens = np.concatenate(parts) if parts else np.empty(0, np.uint32)
    return Text(name=source, tokens=tokens, tokenizer=Path(tokenizer).name)


def _documents(source: str) -> list[tuple[str, bytes]]:
    """Each file of a text by its name; the built-in text is one."""
    if source == TEXT:
        return [(source, text_of(source).tobytes())]
    return [(str(file), text_of(str(file)).tobytes()) for file in files_of(source)]


def _entropy(counts: NDArray[np.int64]) -> float:
    """−Σ p log p in nats of counts, zeros among them."""
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log(p)).sum())
