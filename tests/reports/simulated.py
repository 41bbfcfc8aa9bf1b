"""Runs that never happened, with known effects: frames for the tests of this folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from reports.frames import Frames

DEFAULT_GRID = {
    "norm": ["layernorm", "rmsnorm"],
    "activation": ["gelu", "silu", "swiglu"],
    "attention": ["mha", "gqa(n_kv_heads=2)", "mqa"],
    "bias": ["true", "false"],
    "placement": ["pre", "post"],
}
DEPTH = 12
INFO_COLUMNS = [
    *("metric", "form", "measure", "unit", "better", "scale", "primary", "summary", "convention"),
]
# Planted effects, natural logarithms, of levels that differ from the baseline.
EMBEDDING = {"post": 0.75, "swiglu": -0.12, "silu": -0.02, "mqa": 0.05}
SENSITIVITY = {"post": 0.3, "swiglu": 0.08}


def cells_of(factors: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Every combination of the levels, as the frame `cells`."""
    rows = [dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())]
    cells = pd.DataFrame(rows, columns=list(factors), dtype=object)
    cells.insert(0, "cell", [f"{number:016x}" for number in range(1, len(rows) + 1)])
    labels = [" ".join(f"{k}={v}" for k, v in row.items()) or "the model" for row in rows]
    cells.insert(1, "label", labels)
    return cells


def factors_of(factors: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The frame `factors`; the first level of each is its baseline."""
    return pd.DataFrame(
        [
            (factor, level, position, position == 0)
            for factor, levels in factors.items()
            for position, level in enumerate(levels)
        ],
        columns=["factor", "level", "position", "baseline"],
    )


def info(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """The frame `metric_info` from rows in the order of `INFO_COLUMNS`."""
    return pd.DataFrame(list(rows), columns=INFO_COLUMNS).astype({"primary": bool})


def make_frames(
    factors: Mapping[str, Sequence[str]],
    values: Mapping[str, Any],
    *,
    scale: str = "linear",
    primary: bool = True,
    seeds: Sequence[int] | None = None,
) -> Frames:
    """A run of one measure `m`; ``values`` maps a metric to an array (cells, seeds)."""
    cells = cells_of(factors)
    arrays = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    n_seeds = next(iter(arrays.values())).shape[1] if arrays else 1
    seeds = list(range(n_seeds)) if seeds is None else list(seeds)
    index = list(product(cells["cell"], seeds))
    trials = pd.DataFrame(
        [(cell, seed, "m", "done", "", "", 0.1) for cell, seed in index],
        columns=["cell", "seed", "measure", "state", "message", "marks", "seconds"],
    )
    parts = [
        pd.DataFrame(index, columns=["cell", "seed"]).assign(metric=name, value=array.ravel())
        for name, array in arrays.items()
    ]
    return Frames(
        name="simulated",
        grid="name: simulated\n",
        cells=cells,
        trials=trials,
        metrics=pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["cell", "seed", "metric", "value"]),
        profiles=pd.DataFrame(
            columns=["cell", "seed", "profile", "axis", "position", "step", "value"]
        ),
        metric_info=info(
            *(
                (n, "metric", "m", "unit", "neither", scale, primary, f"About {n}.", "")
                for n in arrays
            )
        ),
        factors=factors_of(factors),
        settings=pd.DataFrame([("depth", "12", "default")], columns=["key", "value", "origin"]),
        components=pd.DataFrame(
            columns=["kind", "name", "plugin", "version", "options", "summary", "source"]
        ),
        environment=pd.DataFrame([("python", "3.11")], columns=["key", "value"]),
    )


def set_state(
    frames: Frames, rows: "pd.Series[bool]", state: str, *, message: str = "", marks: str = ""
) -> Frames:
    """The same run with some trials in another state; only a diverged one keeps its values."""
    trials = frames.trials.copy()
    trials.loc[rows, ["state", "message", "marks"]] = [state, message, marks]
    if state in ("done", "diverged"):
        return replace(frames, trials=trials)
    gone = trials.loc[rows, ["cell", "seed", "measure"]].merge(
        frames.metric_info[["metric", "measure"]], on="measure"
    )
    keys = set(zip(gone["cell"], gone["seed"], gone["metric"], strict=True))

    def kept(frame: pd.DataFrame, name: str) -> pd.DataFrame:
        mask = [k not in keys for k in zip(frame["cell"], frame["seed"], frame[name], strict=True)]
        return frame[np.array(mask, dtype=bool)].reset_index(drop=True)

    return replace(
        frames,
        trials=trials,
        metrics=kept(frames.metrics, "metric"),
        profiles=kept(frames.profiles, "profile"),
    )


def each_table(frames: Frames, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Frames:
    """The same run with something done to each table that has a row or more for a cell."""
    return replace(
        frames,
        cells=change(frames.cells),
        trials=change(frames.trials),
        metrics=change(frames.metrics),
        profiles=change(frames.profiles),
    )


def only_cells(frames: Frames, cells: "pd.Series[str]") -> Frames:
    """The same run with some of its cells."""
    return each_table(frames, lambda t: t[t["cell"].isin(cells)].reset_index(drop=True))


def one_at_a_time(frames: Frames) -> Frames:
    """The baseline's cell, and those that differ from it in one factor."""
    baseline = frames.factors[frames.factors["baseline"]].set_index("factor")["level"]
    away = sum((frames.cells[name] != level).astype(int) for name, level in baseline.items())
    return only_cells(frames, frames.cells["cell"][away <= 1])


def default_run(seeds: int = 5, seed: int = 0) -> Frames:
    """The default grid: 72 cells, parameters and gradient flow, with the planted effects above."""
    rng = np.random.default_rng(seed)
    cells = cells_of(DEFAULT_GRID)
    shared = rng.normal(0, 0.03, size=seeds)  # what one seed does to every cell
    metrics: list[tuple[str, int, str, float]] = []
    profiles: list[tuple[str, int, str, str, int, int, float]] = []
    for record in cells.to_dict("records"):
        row = {str(column): str(value) for column, value in record.items()}
        levels = [row[factor] for factor in DEFAULT_GRID]
        counts = _parameters(row)
        for s in range(seeds):
            key = (row["cell"], s)
            metrics += [(*key, f"parameters.{name}", float(n)) for name, n in counts.items()]
            profiles += [
                (*key, "parameters.per_block", "depth", block, 0, float(counts["per_block"]))
                for block in range(DEPTH)
            ]
            noise = shared[s] + rng.normal(0, 0.02, size=4)
            embedding = 0.65 * np.exp(sum(EMBEDDING.get(v, 0) for v in levels) + noise[0])
            ratio = np.exp(sum(SENSITIVITY.get(v, 0) for v in levels) + noise[1])
            metrics += [
                (*key, "gradient_flow.embedding", embedding),
                (*key, "gradient_flow.sensitivity_ratio", ratio),
                (*key, "gradient_flow.sensitivity_decay", ratio ** (1 / (DEPTH - 1))),
                (*key, "gradient_flow.raw_ratio", 15 * ratio * np.exp(noise[2])),
                (*key, "gradient_flow.loss", 5.6 + 0.1 * noise[3]),
            ]
            profiles += _profiles(key, row, ratio, embedding, counts["per_block"], rng)
    return Frames(
        name="norm-placement",
        grid=_grid_text(seeds),
        cells=cells,
        trials=pd.DataFrame(
            [
                (cell, s, measure, "done", "", "", 0.4)
                for cell, s, measure in product(
                    cells["cell"], range(seeds), ["parameters", "gradient_flow"]
                )
            ],
            columns=["cell", "seed", "measure", "state", "message", "marks", "seconds"],
        ),
        metrics=pd.DataFrame(metrics, columns=["cell", "seed", "metric", "value"]),
        profiles=pd.DataFrame(
            profiles, columns=["cell", "seed", "profile", "axis", "position", "step", "value"]
        ),
        metric_info=_default_info(),
        factors=factors_of(DEFAULT_GRID),
        settings=pd.DataFrame(
            [
                ("model.depth", "12", "given"),
                ("model.d_model", "256", "given"),
                ("model.norm", "layernorm, rmsnorm", "factor"),
                ("model.tie_embeddings", "false", "default"),
                ("gradient_flow.loss", "cross_entropy", "default"),
                ("seeds", ", ".join(map(str, range(seeds))), "given"),
            ],
            columns=["key", "value", "origin"],
        ),
        components=pd.DataFrame(
            [
                (
                    "norm",
                    "layernorm",
                    "ablations",
                    "0.1.0",
                    "eps=1e-05",
                    "Layer norm.",
                    "1607.06450",
                ),
                ("norm", "rmsnorm", "ablations", "0.1.0", "eps=1e-06", "RMS norm.", "1910.07467"),
            ],
            columns=["kind", "name", "plugin", "version", "options", "summary", "source"],
        ),
        environment=pd.DataFrame(
            [("python", "3.11.9"), ("torch", "2.13.0"), ("threads", "1")], columns=["key", "value"]
        ),
    )


def interacting(scale: str, noise: float = 0.01) -> Frames:
    """norm: ×2 under pre, ÷2 under post; placement so that it cancels too; size: ×1.5 always."""
    factors = {"norm": ["a", "b"], "placement": ["pre", "post"], "size": ["1", "2"]}
    flow = np.zeros((2, 2, 2))
    flow[1, 0] += np.log(2)
    flow[1, 1] -= np.log(2)
    flow[:, 1] += np.log(2)
    flow[:, :, 1] += np.log(1.5)
    error = np.random.default_rng(4).normal(0, noise, size=(8, 5))
    values = flow.reshape(8, 1) + error
    return make_frames(factors, {"x": np.exp(values) if scale == "log" else values}, scale=scale)


def twelve_cells(flow: np.ndarray, seed: int = 0) -> Frames:
    """Logarithms ``flow`` by norm (2), placement (2) and act (3), a little noise, five seeds."""
    factors = {"norm": ["a", "b"], "placement": ["pre", "post"], "act": ["gelu", "silu", "swiglu"]}
    noise = np.random.default_rng(seed).normal(0, 0.02, size=(12, 5))
    return make_frames(factors, {"x": np.exp(flow.reshape(12, 1) + noise)}, scale="log")


def empty_run() -> Frames:
    """A run of the default grid in which nothing has been measured yet."""
    frames = default_run(seeds=2)
    return replace(
        frames,
        trials=frames.trials.assign(state="missing"),
        metrics=frames.metrics.iloc[:0],
        profiles=frames.profiles.iloc[:0],
    )


def _parameters(row: Mapping[str, str]) -> dict[str, int]:
    d, heads, vocabulary, context = 256, 4, 256, 64
    kv = {"mha": heads, "mqa": 1}.get(row["attention"], 2)
    bias = row["bias"] == "true"
    kv_width = d // heads * kv
    hidden, matrices = (688, 3) if row["activation"] == "swiglu" else (4 * d, 2)
    attention = d * (d + 2 * kv_width) + d * d
    feed_forward = matrices * d * hidden
    biases = 2 * d + 2 * kv_width + (matrices - 1) * hidden + d if bias else 0
    norms = 2 * d * (2 if row["norm"] == "layernorm" else 1)
    final = norms // 2 if row["placement"] == "pre" else 0
    block = attention + feed_forward + biases + norms
    embedding = (vocabulary + context) * d
    head = vocabulary * d
    return {
        "total": embedding + head + DEPTH * block + final,
        "embedding": embedding,
        "non_embedding": DEPTH * block + final,
        "head": head,
        "per_block": block,
        "attention": DEPTH * attention,
        "feed_forward": DEPTH * feed_forward,
        "norm": DEPTH * norms + final,
        "bias": DEPTH * biases,
    }


def _profiles(
    key: tuple[str, int],
    row: Mapping[str, str],
    ratio: float,
    embedding: float,
    block_size: int,
    rng: np.random.Generator,
) -> list[tuple[str, int, str, str, int, int, float]]:
    depth = np.arange(DEPTH)
    noise = np.exp(rng.normal(0, 0.05, size=(3, DEPTH)))
    sensitivity = 1.3 * ratio ** (1 - depth / (DEPTH - 1)) * noise[0]
    rms = (0.02 + 0.028 * depth if row["placement"] == "pre" else np.minimum(0.7, depth)) + 0.02
    norm = 0.6 * embedding * np.exp(-0.04 * depth) * noise[1]
    series = {
        "sensitivity": sensitivity,
        "stream_gradient": sensitivity / rms,
        "stream_rms": rms * noise[2],
        "block_gradient_norm": norm,
        "block_gradient_rms": norm / np.sqrt(block_size),
    }
    return [
        (*key, f"gradient_flow.{name}", "depth", int(block), 0, float(value))
        for name, values in series.items()
        for block, value in zip(depth, values, strict=True)
    ]


def _default_info() -> pd.DataFrame:
    counts = "Unique parameters; non-embedding leaves out token and position embeddings and head."
    probe = (
        "Cross-entropy on random tokens; weights N(0, 0.02²), embeddings N(0, 0.02²); batch 4 × 64."
    )
    rows: list[tuple[Any, ...]] = [
        (
            f"parameters.{name}",
            *("metric", "parameters", "parameters", "neither", "linear", name == "total"),
            f"Parameters: {name.replace('_', ' ')}.",
            counts,
        )
        for name in _parameters({f: levels[0] for f, levels in DEFAULT_GRID.items()})
    ]
    for name, unit, scale, primary, summary in (
        (
            "embedding",
            "gradient norm",
            "log",
            True,
            "Norm of the gradient of the embedding's output.",
        ),
        (
            "sensitivity_ratio",
            "ratio",
            "log",
            True,
            "Sensitivity of the first block over the last.",
        ),
        (
            "sensitivity_decay",
            "per layer",
            "log",
            False,
            "Factor by which sensitivity falls a layer.",
        ),
        ("raw_ratio", "ratio", "log", False, "Raw gradient of the first block over the last."),
        ("loss", "nats", "linear", False, "Loss at initialization."),
    ):
        rows.append(
            (
                f"gradient_flow.{name}",
                *("metric", "gradient_flow", unit, "neither", scale, primary, summary, probe),
            )
        )
    for name, unit, summary in (
        ("sensitivity", "rms · gradient norm", "Sensitivity of the residual stream, by block."),
        ("stream_gradient", "gradient norm", "Raw gradient of the residual stream, by block."),
        ("stream_rms", "root mean square", "Size of the residual stream entering each block."),
        ("block_gradient_norm", "gradient norm", "Norm of the gradient of a block's parameters."),
        ("block_gradient_rms", "root mean square", "The same, per parameter."),
    ):
        rows.append(
            (
                f"gradient_flow.{name}",
                *("profile", "gradient_flow", unit, "neither", "log", name == "sensitivity"),
                summary,
                probe,
            )
        )
    rows.append(
        (
            "parameters.per_block",
            *("profile", "parameters", "parameters", "neither", "linear", False),
            "Parameters of each block.",
            counts,
        )
    )
    table = info(*rows)
    return table.assign(exact=table["measure"] == "parameters")  # as the engine declares them


def _grid_text(seeds: int) -> str:
    factors = "".join(f"  {name}: [{', '.join(levels)}]\n" for name, levels in DEFAULT_GRID.items())
    return (
        "name: norm-placement\n"
        "model: {depth: 12, d_model: 256, n_heads: 4, context: 64, vocab_size: 256}\n"
        f"factors:\n{factors}seeds: {seeds}\nmeasures: [parameters, gradient_flow]\n"
    )
