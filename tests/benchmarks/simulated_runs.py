"""Runs that never happened, as large as one asks for, as an opened store gives them.

Shapes: C cells, S seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ablations.declared.gradient_flow import GRADIENT_FLOW
from ablations.declared.parameters import PARAMETERS
from ablations.declared.training import TRAINING
from registry import MeasureSpec, Metric, Profile
from reports.frames import Frames

FACTORS = {
    "norm": ("layernorm", "rmsnorm", "none", "dynamic_tanh"),
    "activation": ("gelu", "silu", "relu", "swiglu", "geglu"),
    "attention": ("mha", "gqa(n_kv_heads=2)", "mqa", "linear", "window"),
    "placement": ("pre", "post", "sandwich", "parallel", "deepnorm"),
    "initializer": ("normal", "xavier", "he", "small", "mup"),
    "bias": ("true", "false"),
    "position": ("learned", "rope"),
}
RATES = ("0.0001", "0.0003", "0.001", "0.003", "0.01")
DEPTH = 12
POINTS = 30
"""Of each curve of a training."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


def simulated(n: int, seeds: int, *, trained: bool) -> Frames:
    """A run of at most `n` cells, with every metric and profile that its measures declare.

    Its measures are parameters and gradient flow, or a training over learning rates.
    """
    factors = _factors(n, trained=trained)
    levels = np.indices([len(of) for of in factors.values()]).reshape(len(factors), -1)
    ids = [f"{i:016x}" for i in range(levels.shape[1])]
    labels = [
        " ".join(f"{name}={of[i]}" for (name, of), i in zip(factors.items(), row, strict=True))
        for row in levels.T
    ]
    columns = {"cell": ids, "label": labels}
    for (name, of), column in zip(factors.items(), levels, strict=True):
        columns[name] = [of[i] for i in column]
    measures = (TRAINING,) if trained else (PARAMETERS, GRADIENT_FLOW)
    rng = np.random.default_rng(5)
    planted = rng.normal(0, 0.2, size=(len(factors), 8))
    size = planted[np.arange(len(factors))[:, None], levels].sum(axis=0)[:, None]
    size = np.exp(size + rng.normal(0, 0.05, size=(len(ids), seeds)))  # (C, S)
    return Frames(
        name="simulated",
        grid="name: simulated\n",
        cells=pd.DataFrame(columns, dtype="str"),
        trials=_trials(ids, seeds, measures),
        metrics=pd.concat(_metrics(ids, size, measures, rng), ignore_index=True),
        profiles=_profiles(ids, size, measures, rng),
        metric_info=pd.DataFrame([row for spec in measures for row in _info(spec)]),
        factors=pd.DataFrame(
            [
                {"factor": name, "level": level, "position": place, "baseline": place == 0}
                for name, of in factors.items()
                for place, level in enumerate(of)
            ]
        ),
        settings=pd.DataFrame({"key": ["depth"], "value": ["12"], "origin": ["default"]}),
        components=pd.DataFrame(
            columns=["kind", "name", "plugin", "version", "options", "summary", "source"]
        ),
        environment=pd.DataFrame({"key": ["threads"], "value": ["1"]}),
    )


def _factors(n: int, *, trained: bool) -> dict[str, tuple[str, ...]]:
    """As many levels of each in turn as make no more than `n` cells."""
    factors: dict[str, tuple[str, ...]] = dict(FACTORS)
    if trained:
        del factors["initializer"]
        factors = {"training.learning_rate": RATES} | factors
    sizes = dict.fromkeys(factors, 1)
    for most in range(2, 6):
        for name, of in factors.items():
            if math.prod(sizes.values()) // sizes[name] * most <= n and most <= len(of):
                sizes[name] = most
    return {name: of[: sizes[name]] for name, of in factors.items() if sizes[name] > 1}


def _trials(ids: Sequence[str], seeds: int, measures: Sequence[MeasureSpec]) -> pd.DataFrame:
    names = [spec.name for spec in measures]
    n = len(ids) * seeds * len(names)
    return pd.DataFrame(
        {
            "cell": _repeated(ids, np.repeat(np.arange(len(ids)), seeds * len(names))),
            "seed": np.tile(np.repeat(np.arange(seeds), len(names)), len(ids)),
            "measure": _repeated(names, np.tile(np.arange(len(names)), len(ids) * seeds)),
            "state": _repeated(["done"], np.zeros(n, dtype=int)),
            "message": _repeated([""], np.zeros(n, dtype=int)),
            "marks": _repeated([""], np.zeros(n, dtype=int)),
            "seconds": np.full(n, 0.4),
        }
    ).astype(dict.fromkeys(["cell", "measure", "state", "message", "marks"], "str"))


def _metrics(
    ids: Sequence[str], size: Floats, measures: Sequence[MeasureSpec], rng: np.random.Generator
) -> list[pd.DataFrame]:
    """A frame for each metric: what is planted, to some power, with noise where seeds matter."""
    cell, seed = np.indices(size.shape).reshape(2, -1)
    found = []
    for place, (spec, metric) in enumerate((s, m) for s in measures for m in s.metrics):
        values = _values(metric, spec, size, place, rng)
        found.append(
            pd.DataFrame(
                {
                    "cell": _repeated(ids, cell),
                    "seed": seed,
                    "metric": f"{spec.name}.{metric.name}",
                    "value": values.ravel(),
                }
            )
        )
    return found


def _values(
    metric: Metric, spec: MeasureSpec, size: Floats, place: int, rng: np.random.Generator
) -> Floats:
    """(C, S)."""
    if spec.mode == "static":  # no seed changes a count
        return np.broadcast_to(np.round(1e6 * size[:, :1] ** (1 / (1 + place))), size.shape)
    noisy: Floats = size ** (1 / (1 + place)) * np.exp(rng.normal(0, 0.02, size=size.shape))
    if metric.name in ("learnt", "stalled", "diverged"):
        learnt = size < np.quantile(size, 0.8)
        return {"learnt": learnt, "stalled": ~learnt}.get(metric.name, learnt & ~learnt) * 1.0
    if metric.name in ("vanishing", "exploding", "loss_spikes"):
        return np.zeros(size.shape)
    return noisy


def _profiles(
    ids: Sequence[str], size: Floats, measures: Sequence[MeasureSpec], rng: np.random.Generator
) -> pd.DataFrame:
    """Trial by trial, as the store orders them."""
    declared = [(spec, profile) for spec in measures for profile in spec.profiles]
    declared = [(s, p) for s, p in declared if "accuracy" not in p.name]
    along = [np.arange(POINTS if p.axis == "step" else DEPTH) for _, p in declared]
    names = [f"{spec.name}.{profile.name}" for spec, profile in declared]
    axes = ["depth", "step"]
    which = np.repeat(np.arange(len(along)), [len(x) for x in along])  # (K,) of a trial
    x = np.concatenate(along)
    stepwise = np.array([p.axis == "step" for _, p in declared])[which]
    n_trials, n_points = size.size, len(x)
    value = np.repeat(size.ravel(), n_points).reshape(n_trials, n_points)
    value *= np.exp(rng.normal(0, 0.05, size=(1, n_points)) - 0.02 * x)
    value *= 1 + 1e-3 * rng.random((n_trials, 1))
    cell, seed = np.indices(size.shape).reshape(2, -1)
    return pd.DataFrame(
        {
            "cell": _repeated(ids, np.repeat(cell, n_points)),
            "seed": np.repeat(seed, n_points),
            "profile": _repeated(names, np.tile(which, n_trials)),
            "axis": _repeated(axes, np.tile(stepwise.astype(int), n_trials)),
            "position": np.tile(np.where(stepwise, 0, x), n_trials),
            "step": np.tile(np.where(stepwise, 10 * x, 0), n_trials),
            "value": value.ravel(),
        }
    )


def _repeated(texts: Sequence[str], codes: Any) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype="str"))


def _info(spec: MeasureSpec) -> list[dict[str, Any]]:
    entries: tuple[Metric | Profile, ...] = (*spec.metrics, *spec.profiles)
    return [
        {
            "metric": f"{spec.name}.{entry.name}",
            "form": "metric" if isinstance(entry, Metric) else "profile",
            "measure": spec.name,
            "unit": entry.unit,
            "better": entry.better if isinstance(entry, Metric) else "neither",
            "scale": entry.scale,
            "primary": isinstance(entry, Metric) and entry.primary,
            "summary": entry.summary,
            "convention": entry.convention,
            "exact": spec.mode == "static",
            "scales_with": f"{spec.name}.{entry.scales_with}" if entry.scales_with else "",
        }
        for entry in entries
    ]
