"""One component in one setting, called in one way: what most checks are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from registry.conformance.calls import Call, calls
from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.explanation import explain_error, explain_shape
from registry.conformance.raising import raised
from registry.conformance.random_values import normal
from registry.conformance.recording import Recorder
from registry.conformance.size_names import SizeNames
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Setting, Subject
from registry.spec import Kind

POSITION_KV_HEADS = 2
"""The key/value heads that a position is tried with, fewer than the heads."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A way to call a component in a setting."""

    subject: Subject
    setting: Setting
    call: Call

    @property
    def words(self) -> str:
        """What is special about it, as ` with a rotating position`; empty for the plain way."""
        found = (self.setting.words, self.call.words)
        return "".join(f" {words}" for words in found if words)

    def module(self, dtype: torch.dtype = torch.float64, **how: Any) -> nn.Module:
        """A fresh component with random parameters, as `Subject.module` makes it."""
        return self.subject.module(self.setting, dtype, **how)

    def inputs(
        self,
        tokens: int,
        dtype: torch.dtype = torch.float64,
        *,
        batch: int | None = None,
        seed: int = 0,
    ) -> tuple[Tensor, ...]:
        """Random inputs of that many tokens."""
        return tuple(
            normal(self._sizes(shape, tokens, batch), f"input {number}", seed=seed, dtype=dtype)
            for number, shape in enumerate(self.call.inputs)
        )

    def run(
        self, module: nn.Module, inputs: Sequence[Tensor], *, tokens: int = NAMED, start: int = 0
    ) -> tuple[Tensor, ...]:
        """What the component returns for copies of the inputs, as a tuple of tensors.

        `tokens` counts those of a call without inputs; the first one's position is `start`.

        Raises: CheckFailed when it raises or returns anything but tensors of the right shapes.
        """
        batch = inputs[0].shape[0] if inputs else None
        tokens = inputs[0].shape[self.call.inputs[0].index("T")] if inputs else tokens
        outcome = self._run(module, inputs, tokens, start)
        expected = [self._sizes(shape, tokens, batch) for shape in self.call.outputs]
        if isinstance(outcome, Exception) or not _fits(outcome, expected):
            explained = self._explained(module, inputs, tokens, start)
            once = raised(outcome) if isinstance(outcome, Exception) else "returned another shape"
            raise CheckFailed(explained or f"{once}, once and not again{self.words}")
        return outcome if isinstance(outcome, tuple) else (outcome,)

    def record(self, module: nn.Module, inputs: Sequence[Tensor], start: int = 0) -> Recorder:
        """Every operation on tensors of one call, of which no error is raised."""
        recorder = Recorder(dict(module.named_parameters()))
        with recorder:
            self._run(module, inputs, NAMED, start)
        return recorder

    def names(self, tokens: int) -> SizeNames:
        """The names of the sizes in use."""
        return self.setting.sizes.names(tokens, self._n_kv_heads)

    def token_dims(self) -> list[int]:
        """Where the tokens of each input are."""
        return [shape.index("T") for shape in self.call.inputs]

    def _run(self, module: nn.Module, inputs: Sequence[Tensor], tokens: int, start: int) -> Any:
        """What the component returns, or the exception that it raises."""
        positions = torch.arange(start, start + tokens)
        heads = self.setting.sizes.dims.n_heads
        try:
            return self.call.invoke(module, [x.clone() for x in inputs], positions, heads)
        except (KeyboardInterrupt, CheckFailed):
            raise
        except BaseException as error:  # a stranger's forward may even call sys.exit
            return error if isinstance(error, Exception) else RuntimeError(repr(error))

    def _explained(
        self, module: nn.Module, inputs: Sequence[Tensor], tokens: int, start: int
    ) -> str | None:
        """Why a call goes wrong again, told where dimensions have names if it does so there too."""
        dtype = inputs[0].dtype if inputs else torch.float32
        for length, given in ((NAMED, self.inputs(NAMED, dtype)), (tokens, inputs)):
            recorder = Recorder(dict(module.named_parameters()))
            with recorder:
                outcome = self._run(module, given, length, start)
            names, attention = self.names(length), self.subject.kind is Kind.ATTENTION
            at = self.words + ("" if length == NAMED else f" at T = {length}")
            if isinstance(outcome, Exception):
                return explain_error(recorder, outcome, names, attention=attention) + at
            batch = given[0].shape[0] if given else None
            expected = [self._sizes(shape, length, batch) for shape in self.call.outputs]
            if not _fits(outcome, expected):
                shapes = self.call.outputs
                return explain_shape(recorder, outcome, shapes, names, attention=attention) + at
        return None

    def _sizes(self, shape: Sequence[str], tokens: int, batch: int | None) -> tuple[int, ...]:
        dims = self.setting.sizes.dims
        sizes = {
            "B": self.setting.sizes.batch if batch is None else batch,
            "T": tokens,
            "D": dims.d_model,
            "F": dims.d_ff,
            "H": dims.n_heads,
            "K": self._n_kv_heads,
            "C": dims.head_dim,
        }
        return tuple(sizes[name] for name in shape)

    @property
    def _n_kv_heads(self) -> int:
        if self.subject.kind is Kind.POSITION:
            return POSITION_KV_HEADS
        return self.subject.dims(self.setting).n_kv_heads


def trials(subject: Subject, *, every_size: bool = False, fed: bool = False) -> list[Trial]:
    """The ways to call a component; `fed` ones have inputs.

    Raises: NotApplicable when there is none.
    """
    found = [
        Trial(subject=subject, setting=setting, call=call)
        for setting in (subject.settings if every_size else subject.main)
        for call in calls(subject.kind, subject.build(setting).component)
        if call.inputs or not fed
    ]
    if not found:
        raise NotApplicable(
            "it has no hook that takes tensors" if fed else "it has none of the hooks"
        )
    return found


def trials_of(subject: Subject, setting: Setting) -> list[Trial]:
    """The ways to call a component in that setting; there may be none."""
    try:
        found = trials(subject, every_size=True)
    except NotApplicable:
        return []
    return [trial for trial in found if trial.setting == setting]


def cuts(tokens: int) -> Iterator[int]:
    """Some tokens that others follow: the first, one in the middle, the last but one."""
    yield from sorted({0, tokens // 2 - 1, tokens - 2} & set(range(tokens - 1)))


def _fits(outcome: Any, expected: Sequence[tuple[int, ...]]) -> bool:
    outputs = outcome if len(expected) > 1 else (outcome,)
    if not isinstance(outputs, tuple):
        return False
    return len(outputs) == len(expected) and all(
        isinstance(output, Tensor) and output.shape == shape
        for output, shape in zip(outputs, expected, strict=True)
    )
