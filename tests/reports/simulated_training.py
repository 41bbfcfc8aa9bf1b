"""Trainings that never happened, with known losses: byte-level text at twelve layers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reports.frames import Frames
from tests.reports.simulated import INFO_COLUMNS, cells_of, default_run, factors_of

TRAINING_GRID = {
    "placement": ["pre", "post"],
    "initializer": ["normal", "xavier"],
    "training.learning_rate": ["0.0003", "0.001", "0.003"],
    "training.warmup_steps": ["0", "50"],
}
MODEL = {
    "placement": "pre",
    "initializer": "normal",
    "training.learning_rate": "0.001",
    "training.warmup_steps": "0",
}
"""Levels of what a grid does not vary."""

LOSSES = {
    ("0.0003", "normal"): (2.736, 2.830, 2.704, 2.795),
    ("0.0003", "xavier"): (2.756, 2.786, 3.203, 3.155),
    ("0.001", "normal"): (3.145, 2.745, 3.265, 2.556),
    ("0.001", "xavier"): (2.767, 2.701, 3.274, 3.270),
    ("0.003", "normal"): (3.177, 3.156, 3.279, 3.286),
    ("0.003", "xavier"): (2.810, 2.652, 3.282, 3.279),
}
"""Final losses by learning rate and initializer: pre, pre with 50 steps of warm-up, post, post with
warm-up. Post-LN does not blow up, it stalls at the entropy of single bytes."""

UNIGRAM, BIGRAM = 3.261, 2.453
LEARNT_BELOW = UNIGRAM - 0.05 * (UNIGRAM - BIGRAM)
"""Above it a model knows no more than how frequent each byte is."""

N_STEPS = 150
EVERY = 5  # steps between the points of a curve
INITIAL = 5.6

Levels = Mapping[str, str]


def expected_loss(levels: Levels) -> float:
    """The final loss of a cell, before noise."""
    of_rate = LOSSES[levels["training.learning_rate"], levels["initializer"]]
    warm = levels["training.warmup_steps"] != "0"
    return of_rate[2 * (levels["placement"] == "post") + warm]


def training_run(
    factors: Mapping[str, Sequence[str]] = TRAINING_GRID,
    *,
    seeds: int = 3,
    diverged: Sequence[tuple[Levels, int]] = (),
    failed: Sequence[tuple[Levels, int]] = (),
    initialization: bool = False,
    accuracy: bool = False,
    loss: Callable[[Levels], float] = expected_loss,
    noise: float = 0.02,
    shared: float = 0.02,
) -> Frames:
    """A run of the measure ``training``, with metrics, profiles along steps, and states.

    Args:
        factors: The grid, the first level of each factor its baseline; what it lacks is as `MODEL`.
        seeds: How many.
        diverged: Levels and a seed; all trials that have them diverge at a third of the steps.
        failed: The same; all trials that have them fail and leave no value.
        initialization: Whether parameters, gradient flow and signal propagation are there too; they
            know placement and initializer alone.
        accuracy: Whether the task has one, as synthetic tasks do.
        loss: The final loss of a cell, before noise.
        noise: Standard deviation of a trial's loss.
        shared: That of what a seed does to every cell.
    """
    cells = cells_of(factors)
    rng = np.random.default_rng(7)
    of_seed = rng.normal(0, shared, size=seeds)
    trials: list[tuple[Any, ...]] = []
    metrics: list[tuple[str, int, str, float]] = []
    profiles: list[tuple[str, int, str, str, int, int, float]] = []
    for record in cells.to_dict("records"):
        levels = MODEL | {name: str(record[name]) for name in factors}
        for seed in range(seeds):
            key = (str(record["cell"]), seed)
            expected = loss(levels)
            stalls = abs(expected - UNIGRAM) < 0.1
            final = expected + (of_seed[seed] + rng.normal(0, noise)) * (0.1 if stalls else 1)
            if initialization:
                before = _initialization(levels, seed)
                metrics += [(*key, name, value) for name, value in before.items()]
                measures = dict.fromkeys(name.split(".")[0] for name in before)
                trials += [(*key, measure, "done", "", "", 0.4) for measure in measures]
            curve = _curve(final, rng)
            state, message = "done", ""
            if _among(levels, seed, failed):
                trials.append((*key, "training", "failed", "RuntimeError: boom", "", 1.0))
                continue
            if _among(levels, seed, diverged):
                state, message = "diverged", f"loss is not finite at step {N_STEPS // 3}"
                curve = {step: value for step, value in curve.items() if step < N_STEPS // 3}
                final = np.nan
            trials.append((*key, "training", state, message, "", 30.0))
            found = _metrics(final, curve, rng, accuracy=accuracy)
            metrics += [(*key, f"training.{name}", value) for name, value in found.items()]
            profiles += [
                (*key, f"training.{name}", "step", 0, step, value)
                for name, points in _profiles(curve, rng).items()
                for step, value in points.items()
            ]
    return replace(
        default_run(seeds=1),
        name="trainability",
        grid="name: trainability\n",
        cells=cells,
        trials=pd.DataFrame(
            trials, columns=["cell", "seed", "measure", "state", "message", "marks", "seconds"]
        ),
        metrics=pd.DataFrame(metrics, columns=["cell", "seed", "metric", "value"]),
        profiles=pd.DataFrame(
            profiles, columns=["cell", "seed", "profile", "axis", "position", "step", "value"]
        ),
        metric_info=_info(initialization=initialization),
        factors=factors_of(factors),
        settings=pd.DataFrame(
            [
                (
                    key,
                    " | ".join(factors.get(key, [value])),
                    "factor" if key in factors else "default",
                )
                for key, value in MODEL.items()
            ],
            columns=["key", "value", "origin"],
        ),
    )


def _among(levels: Levels, seed: int, chosen: Sequence[tuple[Levels, int]]) -> bool:
    return any(seed == one and wanted.items() <= levels.items() for wanted, one in chosen)


def _curve(final: float, rng: np.random.Generator) -> dict[int, float]:
    """The loss by step: down to single bytes' entropy within a third, then on to its end."""
    steps = np.arange(0, N_STEPS, EVERY)
    fast = (INITIAL - UNIGRAM) * np.exp(-steps / 12)
    slow = (final - UNIGRAM) * np.clip((steps - 30) / 100, 0, 1)
    values = UNIGRAM + fast + slow + rng.normal(0, 0.01, size=len(steps))
    return dict(zip(steps.tolist(), values.tolist(), strict=True))


def _metrics(
    final: float, curve: Mapping[int, float], rng: np.random.Generator, *, accuracy: bool
) -> dict[str, float]:
    ran_off = bool(np.isnan(final))
    learnt = final < LEARNT_BELOW
    below = [step for step, value in curve.items() if value < LEARNT_BELOW]
    found = {
        "final_loss": final,
        "held_out_loss": final + 0.03 + rng.normal(0, 0.005),
        "learnt": float(learnt),
        "stalled": float(not learnt and not ran_off),
        "diverged": float(ran_off),
        "initial_loss": curve[0],
        "best_loss": min(curve.values()),
        "mean_loss": np.nan if ran_off else float(np.mean(list(curve.values()))),
        "steps_to_loss": float(below[0]) if below else np.inf,
        "loss_spikes": float(rng.poisson(0.3)),
        "largest_gradient_norm": np.inf if ran_off else float(rng.lognormal(0.5, 0.2)),
        "largest_update": np.nan if ran_off else float(rng.lognormal(-6, 0.1)),
        "tokens_per_second": float(rng.normal(9000, 800)),
    }
    if accuracy:
        found["accuracy"] = np.nan if ran_off else float(np.clip(1.6 - final / 3.5, 0, 1))
    return found


def _profiles(curve: Mapping[int, float], rng: np.random.Generator) -> dict[str, dict[int, float]]:
    norms = rng.lognormal(0, 0.2, size=len(curve))
    logits = rng.lognormal(-1, 0.1, size=len(curve))
    return {
        "loss": dict(curve),
        "gradient_norm": dict(zip(curve, norms.tolist(), strict=True)),
        "held_out_loss": {step: v + 0.03 for step, v in curve.items() if step % 50 == 0},
        "largest_attention_logit": {
            step: float(logits[i]) * (1 + step / 50) for i, step in enumerate(curve)
        },
    }


def _initialization(levels: Levels, seed: int) -> dict[str, float]:
    """Of the initial model, which no option of the training changes."""
    post, xavier = levels["placement"] == "post", levels["initializer"] == "xavier"
    noise = np.random.default_rng([post, xavier, seed]).normal(0, 0.02, size=3)
    return {
        "parameters.total": 2_450_000.0 - 256 * post,
        "gradient_flow.embedding": float(np.exp(0.7 * post + 0.2 * xavier + noise[0])),
        "gradient_flow.sensitivity_ratio": float(np.exp(0.3 * post * xavier + noise[1])),
        "signal_propagation.token_similarity": float(
            0.1 + 0.2 * post + 0.4 * xavier * post + noise[2] / 5
        ),
    }


TRAINED = (  # metric, unit, better, primary, defined when diverged, compared, may be infinite
    ("final_loss", "nats", "lower", True, False, True, False),
    ("held_out_loss", "nats", "lower", True, False, True, False),
    ("accuracy", "share", "higher", True, False, True, False),
    ("learnt", "share of trials", "higher", True, True, True, False),
    ("stalled", "share of trials", "lower", False, True, True, False),
    ("diverged", "share of trials", "lower", False, True, True, False),
    ("initial_loss", "nats", "neither", False, True, True, False),
    ("best_loss", "nats", "lower", False, False, True, False),
    ("mean_loss", "nats", "lower", False, False, True, False),
    ("steps_to_loss", "steps", "lower", False, False, True, True),
    ("loss_spikes", "spikes", "lower", False, False, True, False),
    ("largest_gradient_norm", "gradient norm", "neither", False, False, True, False),
    ("largest_update", "rms", "neither", False, False, True, False),
    ("tokens_per_second", "tokens/s", "higher", False, False, False, False),
)
CURVES = ("loss", "gradient_norm", "held_out_loss", "largest_attention_logit")
BEFORE = (  # metric, unit, scale, primary, exact
    ("parameters.total", "parameters", "linear", True, True),
    ("gradient_flow.embedding", "gradient norm", "log", True, False),
    ("gradient_flow.sensitivity_ratio", "ratio", "log", True, False),
    ("signal_propagation.token_similarity", "cosine", "linear", True, False),
)
FLAGS = ["exact", "defined_when_diverged", "compared", "may_be_infinite"]


def _info(*, initialization: bool) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = [
        (f"training.{name}", "metric", "training", unit, better, "linear", primary,
         f"About {name}.", "", False, *flags)
        for name, unit, better, primary, *flags in TRAINED
    ]  # fmt: skip
    rows += [
        (f"training.{name}", "profile", "training", "unit", "neither", "linear", name == "loss",
         f"{name}, by step.", "", False, False, True, False)
        for name in CURVES
    ]  # fmt: skip
    rows += [
        (name, "metric", name.split(".")[0], unit, "neither", scale, primary,
         f"About {name}.", "", exact, False, True, False)
        for name, unit, scale, primary, exact in BEFORE
        if initialization
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=[*INFO_COLUMNS, *FLAGS])
    return table.astype(dict.fromkeys(["primary", *FLAGS], bool)).assign(scales_with="")
