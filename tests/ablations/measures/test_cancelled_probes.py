"""A loss that the last norm cancels leaves no gradient to compare, and is marked.

The familiar lesson that the embedding gradient behind pre is an order of magnitude above that
behind post comes of such losses; others put the two within a factor of two.
"""

from __future__ import annotations

import csv
import html
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ablations
from ablations.losses import Loss
from ablations.measures.gradient_flow import GradientFlow
from ablations.models.resolution import resolve
from ablations.trial import Measurement, Trial, TrialContext
from registry import Catalog, ComponentSpec, Dims, PluginRecord, Provenance, discover

WIDE = {"depth": 6, "d_model": 384, "n_heads": 6, "context": 16, "vocab_size": 256}
NARROW = {"depth": 2, "d_model": 32, "n_heads": 4, "context": 32, "vocab_size": 256}
"""At a small width the eps of a norm weighs more, so that a mean square is cancelled less."""

LOSSES = ("cross_entropy", "random_projection", "sum", "mean_square")
HONEST = LOSSES[:2]
FACTORS = {
    "gradient_flow.loss": list(LOSSES),
    "final_norm": [True, False],
    "placement": ["pre", "post"],
    "norm": ["layernorm", "rmsnorm"],
}


class Saturating(nn.Module):
    """y = f(alpha · x), (B, T, D) → (B, T, D), f bounded: for a large alpha almost all saturated.

    A tanh lets next to nothing pass but where x is small, a softsign a little everywhere.
    """

    def __init__(
        self, dims: Dims, *, f: Literal["tanh", "softsign"] = "tanh", alpha: float = 0.5
    ) -> None:
        super().__init__()
        self.f = {"tanh": torch.tanh, "softsign": F.softsign}[f]
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return self.f(self.alpha * x)


PROVENANCE = Provenance(distribution="strange", version="1.0")
SATURATING = ComponentSpec(kind="norm", name="saturating", target=Saturating, provenance=PROVENANCE)
STRANGE = PluginRecord(name="strange:norm", version="1.0", state="loaded", specs=(SATURATING,))


def context(model: Mapping[str, Any], seed: int = 0, dtype: str = "float32") -> TrialContext:
    architecture = resolve(model, Catalog([*discover().plugins, STRANGE]))
    trial = Trial(cell="", seed=seed, architecture=architecture, measures=(), dtype=dtype)
    return TrialContext(trial)


def flow(model: Mapping[str, Any], seed: int = 0, **options: Any) -> Measurement:
    return GradientFlow(**options).measure(context(model, seed))


def carry_out(model: Mapping[str, Any], factors: Mapping[str, Any], out: Path) -> pd.DataFrame:
    """A row a trial: the factors' levels, `state`, `marks`, and the metrics by name."""
    catalog = Catalog([*discover().plugins, STRANGE])
    grid = ablations.load_grid(
        {
            "name": "theory",
            "model": dict(model),
            "factors": dict(factors),
            "seeds": 1,
            "measures": ["gradient_flow"],
        },
        catalog,
    )
    ablations.run(grid, out, executor="inline", catalog=catalog)
    frames = ablations.open_run(out).frames()
    metrics = frames.metrics.pivot(index="cell", columns="metric", values="value")
    metrics.columns = [name.removeprefix("gradient_flow.") for name in metrics.columns]
    rows = frames.cells.merge(frames.trials, on="cell").merge(metrics, on="cell")
    rows.attrs["out"] = out
    return rows


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ablations.engine.write_report", lambda out: None)  # narrow's is enough
        return carry_out(WIDE, FACTORS, tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return carry_out(NARROW, FACTORS, tmp_path_factory.mktemp("narrow"))


def cancels(loss: str, norm: str) -> bool:
    """Whether a norm makes a loss of its output constant, but for eps."""
    return loss == "mean_square" or (loss == "sum" and norm == "layernorm")


@pytest.mark.parametrize(("width", "kept"), [("wide", 1e-3), ("narrow", 0.05)])
def test_what_the_last_norm_cancels_is_marked_and_nothing_else(
    width: str, kept: float, request: pytest.FixtureRequest
) -> None:
    rows = request.getfixturevalue(width).to_dict("records")
    assert len(rows) == 32
    for row in rows:
        loss, norm = row["gradient_flow.loss"], row["norm"]
        normed_last = row["final_norm"] == "true" or row["placement"] == "post"
        cancelled = normed_last and cancels(loss, norm)
        assert row["state"] == "done"
        assert row["marks"] == ("cancelled_probe" if cancelled else ""), row
        assert math.isnan(row["surviving_fraction"]) != normed_last, row
        if cancelled:
            assert row["surviving_fraction"] < (1e-6 if loss == "sum" else kept), row
        elif normed_last:
            assert row["surviving_fraction"] == pytest.approx(1, abs=0.05), row
        assert math.isnan(row["sensitivity_ratio"]) == cancelled, row


def embedding(rows: pd.DataFrame, loss: str, placement: str, *, final_norm: bool) -> float:
    chosen = rows[
        (rows["gradient_flow.loss"] == loss)
        & (rows["placement"] == placement)
        & (rows["final_norm"] == str(final_norm).lower())
        & (rows["norm"] == "layernorm")
    ]
    return float(chosen["embedding"].item())


def test_the_order_of_magnitude_of_the_lesson_is_that_of_a_cancelled_probe(
    wide: pd.DataFrame,
) -> None:
    """Pre over post: 2e8 and 4e5 without a norm last on pre, 9 and 65 with one, 0.5 to 1.2 else."""
    bare, normed = {}, {}
    for loss in LOSSES:
        post = embedding(wide, loss, "post", final_norm=False)
        bare[loss] = embedding(wide, loss, "pre", final_norm=False) / post
        normed[loss] = embedding(wide, loss, "pre", final_norm=True) / post
    assert bare["sum"] > 1e6
    assert bare["mean_square"] > 1e5
    assert normed["sum"] > 5
    assert normed["mean_square"] > 20
    assert all(0.4 < ratios[loss] < 1.6 for ratios in (bare, normed) for loss in HONEST)


def test_what_is_left_of_a_sum_is_rounding_and_of_a_mean_square_the_eps() -> None:
    model = {**WIDE, "placement": "post"}
    single, double = context(model), context(model, dtype="float64")
    left = {
        loss: [GradientFlow(loss=loss).measure(c).metrics["embedding"] for c in (single, double)]
        for loss in ("sum", "mean_square")
    }
    assert left["sum"][1] < 1e-6 * left["sum"][0]
    assert left["mean_square"][1] == pytest.approx(left["mean_square"][0], rel=0.1)


@pytest.mark.slow
def test_honest_ratios_over_seeds() -> None:
    for seed in range(8):
        contexts = [
            context({**WIDE, "placement": placement, "final_norm": final_norm}, seed)
            for placement, final_norm in (("pre", True), ("pre", False), ("post", False))
        ]
        for loss in HONEST:
            normed, bare, post = (
                GradientFlow(loss=loss).measure(c).metrics["embedding"] for c in contexts
            )
            assert 0.4 < normed / post < 1.6
            assert 0.4 < bare / post < 1.6


def test_marks_are_told_in_the_table_and_on_the_page(narrow: pd.DataFrame) -> None:
    out = narrow.attrs["out"]
    with (out / "tables" / "trials.csv").open(encoding="utf-8", newline="") as file:
        told = {row["cell"]: row["marks"] for row in csv.DictReader(file)}
    assert told == dict(zip(narrow["cell"], narrow["marks"], strict=True))
    assert list(told.values()).count("cancelled_probe") == 9
    page = (out / "report.html").read_text(encoding="utf-8")
    text = " ".join(html.unescape(re.sub("<[^>]*>", " ", page.replace("<wbr>", ""))).split())
    assert "cancelled_probe gradient_flow 9 " in text
    assert "6 of 16 paired observations are not used: 6 with a cancelled probe" in text


def saturated(placement: str, **options: Any) -> dict[str, Any]:
    return {
        **NARROW,
        "norm": {"saturating": options},
        "placement": placement,
        "initializer": {"normal": {"embedding_std": 1.0}},
    }


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("f", ["tanh", "softsign"])
def test_a_saturated_norm_does_not_cancel_the_sum(f: str, placement: str) -> None:
    for alpha in (0.5, 3.0, 10.0, 100.0, 10_000.0):
        for seed in range(4):
            measured = flow(saturated(placement, f=f, alpha=alpha), seed, loss="sum")
            assert "cancelled_probe" not in measured.marks
            # Nothing to tell where not even noise gets through.
            assert measured.metrics.get("surviving_fraction", 1.0) > 0.2


@pytest.mark.parametrize("loss", LOSSES)
def test_a_norm_that_shrinks_every_gradient_cancels_none(loss: Loss) -> None:
    asked = context(saturated("post", f="softsign", alpha=100.0))
    seen: list[Tensor] = []
    last = asked.decoder().blocks[-1].feed_forward_norm
    hook = last.register_forward_hook(lambda _module, args, _out: seen.append(args[0].detach()))
    measured = GradientFlow(loss=loss).measure(asked)
    hook.remove()

    x = seen[0].requires_grad_()
    y = last(x)
    (through,) = torch.autograd.grad(y.sum(), x)
    sizes = [float(part.detach().square().mean().sqrt()) for part in (x, through, y)]
    assert sizes[0] * sizes[1] / sizes[2] < 0.05  # what survives of the sum, 1 its size at y
    assert measured.metrics["surviving_fraction"] > 0.3
    assert "cancelled_probe" not in measured.marks
