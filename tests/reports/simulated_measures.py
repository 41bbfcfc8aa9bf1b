"""Runs that never happened with every built-in measure: many profiles, marks, attention maps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from tests.reports.simulated import DEFAULT_GRID, DEPTH, cells_of, default_run, factors_of, info

MEASURED_GRID = {
    "norm": ["layernorm", "rmsnorm"],
    "activation": ["gelu", "swiglu"],
    "attention": ["mha", "mqa"],
    "placement": ["pre", "post"],
    "initializer": ["normal", "xavier"],
    "gradient_flow.loss": ["cross_entropy", "sum"],
    "placebo": ["first", "second"],
}
ROLES = (
    *("q", "k", "v", "attention_output", "gate", "up", "down", "norm", "bias", "key_bias", "other"),
)
SIZES = {"xavier": 16.0}
"""How many times as large the embedded stream is under a level."""

Array = NDArray[np.float64]


class Maps(Mapping[tuple[str, int, str], NDArray[np.float32]]):
    """Attention maps that are made when asked for; ``loaded`` says which were."""

    def __init__(self, keys: Sequence[tuple[str, int, str]], tokens: int, leaks: str = "") -> None:
        self._keys = dict.fromkeys(keys)
        self._tokens = tokens
        self._leaks = leaks
        self.loaded: list[tuple[str, int, str]] = []

    def __getitem__(self, key: tuple[str, int, str]) -> NDArray[np.float32]:
        if key not in self._keys:
            raise KeyError(key)
        self.loaded.append(key)
        cell, seed, name = key
        rng = np.random.default_rng([int(cell, 16), seed, sum(map(ord, name))])
        scores = rng.normal(0, 0.8, size=(self._tokens, self._tokens))
        if cell != self._leaks:
            scores[np.triu_indices(self._tokens, 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)

    def __iter__(self) -> Iterator[tuple[str, int, str]]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def measured_run(
    factors: Mapping[str, Sequence[str]] = MEASURED_GRID,
    *,
    seeds: int = 3,
    tokens: int = 64,
    heads: Sequence[tuple[int, int]] = ((0, 0),),
    leaks: bool = False,
    sizes: Mapping[str, float] = SIZES,
) -> Frames:
    """Parameters of nothing, but gradient flow, signal propagation and attention maps of a grid.

    ``sum`` behind a layer norm cancels, ``post`` under Xavier vanishes; with ``leaks`` the last
    cell that is drawn reads the future. Maps have ``tokens`` rows, for each of ``heads``.
    """
    cells = cells_of(factors)
    rng = np.random.default_rng(1)
    columns = {name: cells[name].to_numpy() for name in factors}

    def at(level: str) -> NDArray[np.bool_]:
        """(C, 1) which cells have a level."""
        found = np.zeros(len(cells), dtype=bool)
        for values in columns.values():
            found |= values == level
        return found[:, None]

    shape = (len(cells), seeds)
    noise = rng.normal(0, 0.03, size=(1, seeds)) + rng.normal(0, 0.02, size=shape)
    ratio = np.exp(0.3 * at("post") + 0.08 * at("swiglu") + noise)  # (C, S)
    size = np.ones(shape)
    for level, times in sizes.items():
        size = size * np.where(at(level), times, 1.0)
    vanishing = np.broadcast_to(at("post") & at("xavier"), shape)
    metrics = _metrics(ratio, size, vanishing, rng)
    profiles = _profiles(at, ratio, size, rng)
    ids = cells["cell"].to_numpy()
    cancelled = np.broadcast_to(at("sum") & at("layernorm"), shape)
    trials = pd.DataFrame(
        [
            (ids[c], s, measure, "done", "", _marks(measure, cancelled[c, s], vanishing[c, s]), 0.4)
            for measure in ("gradient_flow", "signal_propagation", "attention_map")
            for c, s in product(range(len(cells)), range(seeds))
        ],
        columns=["cell", "seed", "measure", "state", "message", "marks", "seconds"],
    )
    near = [c for c in range(len(cells)) if _distance(cells, factors, c) <= 1]
    if leaks:
        last = (trials["cell"] == ids[near[-1]]) & (trials["measure"] == "attention_map")
        trials.loc[last, "marks"] = "leaks"
    keys = [
        (str(ids[c]), s, f"attention_map.layer_{layer}_head_{head}")
        for c in range(len(cells))
        for s in range(seeds)
        for layer, head in heads
    ]
    base = default_run(seeds=1)
    return replace(
        base,
        name="measured",
        cells=cells,
        trials=trials,
        metrics=_long(ids, metrics),
        profiles=_long_profiles(ids, profiles),
        metric_info=_info(metrics, profiles),
        factors=factors_of(factors),
        arrays=Maps(keys, tokens, str(ids[near[-1]]) if leaks else ""),
    )


def default_measured_run(seeds: int = 5) -> Frames:
    """The default grid under every measure: what a report of a real run has to draw."""
    return measured_run(DEFAULT_GRID, seeds=seeds)


def _marks(measure: str, cancelled: bool, vanishing: bool) -> str:
    if measure != "gradient_flow":
        return ""
    given = {"cancelled_probe": cancelled, "vanishing": vanishing and not cancelled}
    return ",".join(mark for mark, carried in given.items() if carried)


def _distance(cells: pd.DataFrame, factors: Mapping[str, Sequence[str]], row: int) -> int:
    return sum(cells[name].iloc[row] != levels[0] for name, levels in factors.items())


def _metrics(
    ratio: Array, size: Array, vanishing: NDArray[np.bool_], rng: np.random.Generator
) -> dict[str, Array]:
    """(C, S) each."""

    def noise() -> Array:
        return np.exp(rng.normal(0, 0.02, size=ratio.shape))

    return {
        "gradient_flow.embedding": 0.65 * ratio**2 / size * noise(),
        "gradient_flow.sensitivity_ratio": ratio,
        "gradient_flow.raw_ratio": 15 * ratio / size * noise(),
        "gradient_flow.embedded_rms": 0.02 * size * noise(),
        "gradient_flow.surviving_fraction": np.ones(ratio.shape),
        "gradient_flow.vanishing": vanishing.astype(float),
        "gradient_flow.worst_ratio": ratio * noise(),
        "signal_propagation.last_similarity": 0.2 * ratio * noise(),
        "attention_map.entropy": 0.97 * noise(),
    }


def _profiles(at: Any, ratio: Array, size: Array, rng: np.random.Generator) -> dict[str, Array]:
    """(C, S, L) each, NaN where the cell has no such thing."""
    depth = np.arange(DEPTH)
    fall = ratio[..., None] ** (1 - depth / (DEPTH - 1))
    grown = np.where(at("pre")[..., None], 0.02 + 0.028 * depth, np.minimum(0.7, depth) + 0.02)
    rms = grown * size[..., None]

    def noisy(values: Array, amount: float = 0.05) -> Array:
        full = np.broadcast_to(values, fall.shape)
        return np.asarray(full * np.exp(rng.normal(0, amount, size=fall.shape)))

    profiles = {
        "gradient_flow.sensitivity": noisy(1.3 * fall),
        "gradient_flow.stream_gradient": noisy(1.3 * fall / rms),
        "gradient_flow.stream_rms": noisy(rms),
        "gradient_flow.block_gradient_norm": noisy(0.6 * fall),
        "gradient_flow.block_gradient_rms": noisy(6e-4 * fall),
    }
    gated = at("swiglu")[..., None]
    for place, role in enumerate(ROLES):
        norm = noisy((0.05 + 0.02 * place) * fall ** (1 + place / 4))
        if role == "gate":
            norm = np.where(gated, norm, np.nan)
        if role == "key_bias":
            norm = noisy(np.full(fall.shape, 3e-9), 0.8)
        profiles[f"gradient_flow.{role}_gradient_norm"] = norm
        profiles[f"gradient_flow.{role}_gradient_rms"] = norm / 256
    profiles |= {
        "signal_propagation.stream_rms": noisy(rms),
        "signal_propagation.attention_update": noisy(np.full(DEPTH, 0.015)),
        "signal_propagation.feed_forward_update": noisy(0.02 * fall),
        "signal_propagation.token_similarity": noisy(0.05 + 0.02 * depth),
        "attention_map.entropy": noisy(np.full(DEPTH, 0.97), 0.005),
        "attention_map.largest_logit": noisy(0.4 * fall),
        "attention_map.row_max": noisy(np.full(DEPTH, 0.12), 0.01),
    }
    return profiles


def _long(ids: NDArray[Any], metrics: Mapping[str, Array]) -> pd.DataFrame:
    c, s = np.indices(next(iter(metrics.values())).shape)
    parts = [
        pd.DataFrame(
            {"cell": ids[c.ravel()], "seed": s.ravel(), "metric": name, "value": v.ravel()}
        )
        for name, v in metrics.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _long_profiles(ids: NDArray[Any], profiles: Mapping[str, Array]) -> pd.DataFrame:
    parts: list[pd.DataFrame] = []
    for name, values in profiles.items():
        c, s, block = np.nonzero(~np.isnan(values))
        parts.append(
            pd.DataFrame(
                {
                    "cell": ids[c],
                    "seed": s,
                    "profile": name,
                    "axis": "depth",
                    "position": block,
                    "step": 0,
                    "value": values[c, s, block],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _info(metrics: Mapping[str, Array], profiles: Mapping[str, Array]) -> pd.DataFrame:
    primary = {
        *("gradient_flow.embedding", "gradient_flow.sensitivity_ratio"),
        *("gradient_flow.sensitivity", "signal_propagation.last_similarity"),
    }
    raw = {
        *("gradient_flow.embedding", "gradient_flow.raw_ratio", "gradient_flow.stream_gradient"),
    }
    linear = {"gradient_flow.vanishing"}
    table = info(
        *(
            (
                *(name, form, name.split(".")[0], "unit", "neither"),
                "linear" if name in linear else "log",
                name in primary,
                f"About {name}.",
                "",
            )
            for form, names in (("metric", metrics), ("profile", profiles))
            for name in names
        )
    )
    sized = ["gradient_flow.embedded_rms" if name in raw else "" for name in table["metric"]]
    return table.assign(scales_with=pd.Series(sized, dtype=object))
