"""What happens in a worker: a trial in, a plain picklable result out.

All that a trial needs is imported with this module, so that no trial's time limit pays for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import torch

from ablations.architecture import Architecture
from ablations.checkpoints import Checkpoint, CheckpointFolder, checkpoint_of
from ablations.decoder import Decoder, skeleton
from ablations.devices import out_of_memory
from ablations.executors.failures import describe
from ablations.initialization import Slice, initialize, initialized_decoder, slices
from ablations.kept_decoders import Built, decoders_of_process
from ablations.observation import Observation, PassOptions, observe
from ablations.results import FINAL, ArrayValues, MeasureResult, ProfileValues, State, TrialResult
from ablations.sizes import dtype_of
from ablations.strangers import is_ours
from ablations.streams import generator_of, seeded_process, stream_seed
from ablations.warned import collected
from ablations.weight_bank import WeightBank, bank_of_process
from registry.errors import Incompatible
from registry.spec import Choice

Value = TypeVar("Value")

MOST_STATIC = 10_000
"""What static measures returned that a worker keeps at most."""


class NotApplicable(Exception):
    """Raised by a measure whose need a component does not offer; the reason is reported."""


class TooLarge(Exception):
    """Instead of a measure that cannot fit into memory."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a measure returns, its names without the measure's own.

    A metric that has no meaning for the trial is left out; NaN and infinity are results.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    profiles: Mapping[str, ProfileValues] = field(default_factory=dict)
    arrays: Mapping[str, ArrayValues] = field(default_factory=dict)
    marks: tuple[str, ...] = ()


_STATIC: dict[tuple[str, str], tuple[Measurement, list[str]]] = {}
"""What static measures returned in this process, and what they warned of, by name and identity,
which tells all of it."""


@dataclass(frozen=True, kw_only=True)
class PlannedMeasure:
    """A measure chosen for a trial, with the identity under which its result is kept.

    `declared` names the metrics and profiles that it may return, `infinite` the metrics of which
    infinity is a value like others. What a `static` one returns depends on shapes alone, so that a
    worker takes it once for all seeds. `refusal` says why it must not begin, as for want of memory.
    """

    choice: Choice
    identity: str
    declared: frozenset[str]
    infinite: frozenset[str] = frozenset()
    static: bool = False
    refusal: str = ""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A cell with one seed, and the measures still to be done; plain, so that it travels.

    `stream` names the stream of the seed that all is drawn from, weights and data alike; where it
    is empty, that is the seed itself. `checkpoints` is the folder in which a long measure may keep
    how far it got; without one it keeps nothing. `baseline` is the architecture of the grid's
    baseline cell, for the measures that say they are `against_baseline`. `strangers` names whose
    code it runs beside this project's own, so that no other trial shares a process with that.
    """

    cell: str
    seed: int
    architecture: Architecture
    measures: tuple[PlannedMeasure, ...]
    dtype: str = "float32"
    device: str = "cpu"
    stream: str = ""
    checkpoints: CheckpointFolder | None = None
    baseline: Architecture | None = None
    strangers: frozenset[str] = frozenset()

    @property
    def drawn_from(self) -> int:
        """The seed that every stream of this trial derives from."""
        return stream_seed(self.seed, self.stream) if self.stream else self.seed


class TrialContext:
    """What a measure may ask for; each thing is made once, when it is first asked for."""

    def __init__(self, trial: Trial) -> None:
        self.architecture = trial.architecture
        self.seed = trial.drawn_from
        self.checkpoint = Checkpoint()
        self._trial = trial
        self._observations: dict[PassOptions, Observation] = {}

    @property
    def dtype(self) -> torch.dtype:
        """The type that the trial computes in."""
        return dtype_of(self._trial.dtype)

    @property
    def device(self) -> torch.device:
        """Where the trial computes; what it draws is drawn on the CPU, and then brought there."""
        return torch.device(self._trial.device)

    def generator(self, name: str) -> torch.Generator:
        """A random stream of this trial's seed; equal names give equal streams in every cell."""
        return generator_of(self.seed, f"data/{name}")

    def skeleton(self) -> Decoder:
        """The decoder for its shapes alone: on the meta device, unless it has been built."""
        return self._built.decoder if "_built" in vars(self) else self._skeleton

    def decoder(self) -> Decoder:
        """The decoder with its initial weights, to evaluate; a measure must not change it."""
        return self._built.decoder

    def slices(self) -> Sequence[Slice]:
        """The parameters of `decoder()`, fused ones by their ranges."""
        return self._built.pieces

    def fresh_decoder(self, dtype: torch.dtype | None = None) -> Decoder:
        """A decoder of the measure's own, to change as it likes, with the same initial weights."""
        return self._own(self.architecture, dtype)

    def baseline_decoder(self, dtype: torch.dtype | None = None) -> Decoder:
        """A decoder of the grid's baseline cell, of the measure's own, as `fresh_decoder`.

        Raises: NotApplicable where it cannot be built; LookupError for a measure whose spec does
        not say that it is `against_baseline`.
        """
        if self._trial.baseline is None:
            raise LookupError(
                "there is no baseline here: a measure that builds it is declared with "
                "against_baseline=True"
            )
        try:
            return self._own(self._trial.baseline, dtype)
        except Incompatible as reason:
            raise NotApplicable(f"the baseline cell cannot be built: {reason}") from reason

    def keep_checkpoints(self, planned: PlannedMeasure) -> None:
        """Give the measure that comes next a place of its own for its checkpoint."""
        self.checkpoint = checkpoint_of(
            self._trial.checkpoints,
            cell=self._trial.cell,
            seed=self._trial.seed,
            measure=planned.choice.name,
            identity=planned.identity,
        )

    def observe(self, options: PassOptions) -> Observation:
        """A watched forward and backward pass, shared by equal options."""
        if options not in self._observations:
            built = self._built
            with seeded_process(self.seed, "process/pass"):
                self._observations[options] = observe(
                    built.decoder, options, self.generator, built.pieces
                )
        return self._observations[options]

    def give_back(self) -> None:
        """Keep the decoder for other seeds; the context is not to be used any more."""
        if "_built" in vars(self) and self._keeps:
            decoders_of_process().put(self._trial.cell, self._built)

    @property
    def _keeps(self) -> bool:
        """Whether a decoder may come from another trial and serve another.

        A stranger's measure may change what it is lent, and a conversion or a move to a GPU leaves
        its traces.
        """
        as_drawn = self.dtype is torch.float32 and self.device.type == "cpu"
        return as_drawn and self._by_ours and bank_of_process().bound > 0

    @cached_property
    def _by_ours(self) -> bool:
        return all(is_ours(planned.choice.target) for planned in self._trial.measures)

    @property
    def _bank(self) -> WeightBank | None:
        return bank_of_process() if self._by_ours else None

    def _own(self, architecture: Architecture, dtype: torch.dtype | None) -> Decoder:
        """With weights of its own."""
        with seeded_process(self.seed, "process/decoder"):
            decoder = initialized_decoder(
                architecture, self.seed, dtype=dtype or self.dtype, bank=self._bank
            ).to(self.device)
        for parameter in decoder.parameters():
            parameter.data = parameter.data.clone()
        return decoder

    @cached_property
    def _skeleton(self) -> Decoder:
        return skeleton(self.architecture)

    @cached_property
    def _built(self) -> Built:
        """With weights that it may share."""
        trial = self._trial
        with seeded_process(self.seed, "process/decoder"):
            if self._keeps:
                kept = decoders_of_process().take(trial.cell, self.architecture)
                if kept is not None:
                    initialize(kept.decoder, self.seed, self._bank, kept.pieces)
                    return kept
            decoder = initialized_decoder(
                self.architecture, self.seed, dtype=self.dtype, bank=self._bank
            ).to(self.device)
        return Built(decoder=decoder.eval(), pieces=tuple(slices(decoder)))


def measure_trial(trial: Trial) -> TrialResult:
    """Do every measure of a trial; what one of them raises is its own state, not the others'."""
    context = TrialContext(trial)
    result = TrialResult(
        cell=trial.cell,
        seed=trial.seed,
        measures=tuple(_measure(context, planned) for planned in trial.measures),
    )
    if all(measured.state in FINAL for measured in result.measures):
        context.give_back()
    return result


def _checked(returned: object, planned: PlannedMeasure) -> Measurement:
    """What a measure returned. Raises: TypeError, LookupError for what the report cannot show."""
    if not isinstance(returned, Measurement):
        raise TypeError(
            f"measure {planned.choice.name!r} must return a Measurement, "
            f"not {type(returned).__name__}"
        )
    undeclared = sorted({*returned.metrics, *returned.profiles} - planned.declared)
    if undeclared:
        raise LookupError(
            f"measure {planned.choice.name!r} returned {', '.join(undeclared)}, which its "
            "MeasureSpec does not declare"
        )
    return returned


def _measure(context: TrialContext, planned: PlannedMeasure) -> MeasureResult:
    started = time.perf_counter()
    choice = planned.choice
    state: State = "done"
    message, trace, measurement = "", "", Measurement()
    context.keep_checkpoints(planned)
    told: list[str] = []
    try:
        if planned.refusal:
            raise TooLarge(planned.refusal)
        with collected() as told:
            measurement = _measurement(context, planned, told)
    except (Incompatible, NotApplicable) as reason:
        state, message = "skipped", f"not applicable: {reason}"
    except TooLarge as reason:
        state, message = "failed", str(reason)
    except torch.OutOfMemoryError:
        state, message = "failed", out_of_memory()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a part that calls sys.exit costs its measure alone
        state, (message, trace) = "failed", describe(error)
    metrics = _named(choice, measurement.metrics)
    profiles = _named(choice, measurement.profiles)
    usual = {f"{choice.name}.{name}" for name in planned.infinite}
    lost = [
        name
        for name, value in metrics.items()
        if not math.isfinite(value) and not (name in usual and math.isinf(value))
    ]
    lost += [name for name, row in profiles.items() if not all(map(math.isfinite, row.values))]
    if lost:
        state, message = "diverged", f"not finite: {', '.join(dict.fromkeys(lost))}"
    return MeasureResult(
        measure=choice.name,
        identity=planned.identity,
        state=state,
        message=message,
        traceback=trace,
        marks=measurement.marks,
        seconds=time.perf_counter() - started,
        metrics=metrics,
        profiles=profiles,
        arrays=_named(choice, measurement.arrays),
        warnings=tuple(told),
    )


def _measurement(context: TrialContext, planned: PlannedMeasure, told: list[str]) -> Measurement:
    """What a measure returns; of a static one what it returned for another seed of the cell.

    `told` is where its warnings go; those of the other seed are put there.
    """
    choice = planned.choice
    key = (choice.name, planned.identity)
    if planned.static and key in _STATIC:
        measurement, before = _STATIC[key]
        told += before
        return measurement
    # By name, so that a resumed trial, which has fewer measures, draws the same.
    with seeded_process(context.seed, f"process/{choice.name}"):
        returned = choice.load()(**choice.options).measure(context)
    measurement = _checked(returned, planned)
    if planned.static:
        while len(_STATIC) >= MOST_STATIC:
            del _STATIC[next(iter(_STATIC))]
        _STATIC[key] = measurement, told
    return measurement


def _named(choice: Choice, values: Mapping[str, Value]) -> dict[str, Value]:
    """The names of a measure's values in full: `parameters.total`."""
    return {f"{choice.name}.{name}": value for name, value in values.items()}
