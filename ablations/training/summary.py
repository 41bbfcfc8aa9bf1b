"""What a training comes to: its metrics and its curves.

Shapes: S steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from ablations.results import ProfileValues
from ablations.training.loop import History
from ablations.training.material import Material

POINTS = 200
"""Places of a curve; of a longer training each is the mean of as many steps as it takes."""

SPIKE_DEVIATIONS = 7.0
"""Of the window before it, over its mean: a spike (arXiv:2501.00656)."""

MIN_WINDOW = 5


def window(steps: int) -> int:
    """Steps in the last tenth, over which a loss is averaged; at least one."""
    return max(1, steps // 10)


def state(history: History, material: Material) -> str:
    """`diverged`, `learnt` or `stalled`.

    Diverged: some loss, gradient or update was not finite. Learnt: over the last tenth of the
    steps, what the same targets cost a model that knows frequencies alone less the loss is more
    than a twentieth of what a model that knows bigrams would gain; of a task, the held-out accuracy
    at the end is a twentieth of the way from chance to one. Stalled: neither.
    """
    losses, frequency = history.row("loss"), history.row("frequency_loss")
    if not finite(history):
        return "diverged"
    if material.scored_by_accuracy:
        gained = history.evaluations[len(losses)].accuracy - material.chance
    else:
        last = window(len(losses))
        gained = _mean(frequency[-last:]) - _mean(losses[-last:])
    return "learnt" if gained > material.learnt_margin else "stalled"


def finite(history: History) -> bool:
    """Whether every figure of every step is a number, and of every look at the held-out part."""
    seen = [e.loss for e in history.evaluations.values()]
    return bool(history.steps.isfinite().all()) and all(map(math.isfinite, seen))


def metrics(
    history: History, material: Material, *, target_loss: float | None, tokens: int
) -> dict[str, float]:
    """The metrics of a training; of a diverged one NaN but for what it says of itself.

    `tokens` is what one step reads.
    """
    losses = history.row("loss")
    became = state(history, material)
    known = {name: float(name == became) for name in ("learnt", "stalled", "diverged")}
    known["initial_loss"] = losses[0]
    if history.timed:
        known["tokens_per_second"] = tokens * history.timed / history.seconds
    known["largest_gradient_norm"] = _largest(history.row("gradient_norm"))
    known["largest_update"] = _largest(history.row("update"))
    if became == "diverged":
        names = ["final_loss", "held_out_loss", "best_loss", "mean_loss", "loss_spikes"]
        names += ["frequency_loss"]
        names += ["accuracy"] if material.scored_by_accuracy else []
        return known | dict.fromkeys(names, math.nan) | {"steps_to_loss": math.inf}
    last = window(len(losses))
    moving = moving_mean(losses, last)
    target = target_loss
    if target is None:
        target = (material.frequency_loss + material.known_loss) / 2
    late = [e for step, e in history.evaluations.items() if step > len(losses) - last]
    known |= {
        "final_loss": moving[-1],
        "held_out_loss": _mean([e.loss for e in late]),
        "frequency_loss": _mean(history.row("frequency_loss")[-last:]),
        "best_loss": min(moving),
        "mean_loss": _mean(losses),
        "steps_to_loss": next(
            (float(last + place) for place, loss in enumerate(moving) if loss <= target), math.inf
        ),
        "loss_spikes": float(spikes(losses)),
    }
    if material.scored_by_accuracy:
        known["accuracy"] = _mean([e.accuracy for e in late])
    return known


def profiles(history: History, *, accuracy: bool) -> dict[str, ProfileValues]:
    """The curves of a training, each up to where it is not finite any more."""
    found = {name: _curve(history.row(name)) for name in ("loss", "gradient_norm")}
    looks = {step: e for step, e in sorted(history.evaluations.items()) if math.isfinite(e.loss)}
    found["held_out_loss"] = _at({step: e.loss for step, e in looks.items()})
    if accuracy:
        found["held_out_accuracy"] = _at({step: e.accuracy for step, e in looks.items()})
    logits = {s: e.largest_logit for s, e in looks.items() if e.largest_logit is not None}
    if logits:
        found["largest_attention_logit"] = _at(logits)
    return {name: curve for name, curve in found.items() if curve.values} | _probed(history)


def moving_mean(values: Sequence[float], length: int) -> list[float]:
    """Means of each `length` values in a row."""
    sums = [0.0, *accumulate(values)]
    return [(sums[end] - sums[end - length]) / length for end in range(length, len(sums))]


def spikes(losses: Sequence[float]) -> int:
    """How often the loss jumps above what the steps before it let expect.

    A step is in a spike where its loss is over the mean of the window before it, a tenth of the
    steps long, by more than `SPIKE_DEVIATIONS` of that window's standard deviations; steps in a row
    are one spike.
    """
    length = max(MIN_WINDOW, window(len(losses)))
    inside = [False]
    for step in range(length, len(losses)):
        before = losses[step - length : step]
        mean = _mean(before)
        deviation = math.sqrt(_mean([(loss - mean) ** 2 for loss in before]))
        inside.append(losses[step] > mean + SPIKE_DEVIATIONS * deviation)
    return sum(now and not earlier for earlier, now in pairwise(inside))


def _curve(values: list[float]) -> ProfileValues:
    """Means of as many steps in a row as it takes, at the first of each."""
    length = next((i for i, v in enumerate(values) if not math.isfinite(v)), len(values))
    stride = -(-len(values) // POINTS)
    return _at(
        {
            start: _mean(values[start : min(start + stride, length)])
            for start in range(0, length, stride)
        }
    )


def _at(values: Mapping[int, float]) -> ProfileValues:
    """Values by training step."""
    return ProfileValues(
        axis="step",
        positions=(0,) * len(values),
        steps=tuple(values),
        values=tuple(values.values()),
    )


def _probed(history: History) -> dict[str, ProfileValues]:
    """Profiles along depth at the probed steps, and what they come to along steps."""
    probes = dict(sorted(history.probes.items()))
    if not probes:
        return {}
    rows: dict[str, list[tuple[int, int, float]]] = {}
    for step, probe in probes.items():
        for name, layers in probe.along_depth.items():
            rows.setdefault(name, []).extend((step, layer, v) for layer, v in layers.items())
    found = {
        name: ProfileValues(
            axis="depth",
            positions=tuple(layer for _, layer, _ in values),
            steps=tuple(step for step, _, _ in values),
            values=tuple(value for _, _, value in values),
        )
        for name, values in rows.items()
    }
    return found | {
        "sensitivity_ratio": _at({step: probe.sensitivity_ratio for step, probe in probes.items()})
    }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _largest(values: Sequence[float]) -> float:
    """The largest of the steps that were reached; one that is not finite is the largest."""
    seen = [v for v in values if not math.isnan(v)]
    return max(seen, default=math.nan)
