"""What the initial model foretells: planted orders, and models that are counted once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.panel import panel
from reports.training.prediction import PREDICTION_COLUMNS, predictions
from reports.training.prediction_section import prediction_findings, predictions_section
from tests.reports.simulated import info
from tests.reports.simulated_training import FLAGS, training_run

WIDTHS = {"width": [str(width) for width in range(1, 9)]}
OPTIONS = {"training.learning_rate": ["0.0003", "0.001"]}
FLOW = "gradient_flow.embedding"


def loss_of_width(levels: Mapping[str, str]) -> float:
    return 3.2 - 0.1 * float(levels["width"]) + 0.01 * (levels["training.learning_rate"] == "0.001")


def foretold(
    factors: Mapping[str, list[str]], flow: Mapping[str, float], **options: object
) -> Frames:
    """A run whose initial gradient is told by the width, in every cell alike."""
    known: dict[str, Any] = {"loss": loss_of_width, "noise": 0.001, "shared": 0.001, **options}
    frames = training_run(factors, **known)
    width = frames.cells.set_index("cell")["width"]
    seeds = sorted(frames.trials["seed"].unique())
    rows = [(cell, s, FLOW, flow[width[cell]]) for cell in width.index for s in seeds]
    trials = [(cell, s, "gradient_flow", "done", "", "", 0.1) for cell, s, _, _ in rows]
    about = (FLOW, "metric", "gradient_flow", "norm", "neither", "log", True, "About it.", "")
    flags = dict.fromkeys(FLAGS, False) | {"compared": True}
    more = info(about).assign(**flags, scales_with="")
    return replace(
        frames,
        trials=pd.concat(
            [frames.trials, pd.DataFrame(trials, columns=frames.trials.columns)], ignore_index=True
        ),
        metrics=pd.concat(
            [frames.metrics, pd.DataFrame(rows, columns=frames.metrics.columns)], ignore_index=True
        ),
        metric_info=pd.concat([frames.metric_info, more], ignore_index=True),
    )


RISING = {str(width): float(width) for width in range(1, 9)}
SHUFFLED = dict(zip(RISING, [3.0, 7.0, 1.0, 5.0, 8.0, 2.0, 6.0, 4.0], strict=True))


def table_of(frames: Frames) -> pd.DataFrame:
    return predictions(frames, panel(frames)).set_index("outcome")


def test_a_planted_order_is_found_over_models_not_over_trainings() -> None:
    frames = foretold(WIDTHS | OPTIONS, RISING)
    assert len(frames.cells) == 16
    table = predictions(frames, panel(frames))
    assert tuple(table.columns) == PREDICTION_COLUMNS
    row = table.set_index("outcome").loc["training.final_loss"]
    assert row["correlation"] == -1  # a large gradient, a small loss
    assert row["n_settings"] == 8
    assert row["n_left_out"] == 0
    assert row["low"] == -1
    assert -0.95 < row["high"] < -0.3
    assert row["shown"]


def test_no_order_is_shown_where_none_is_planted() -> None:
    row = table_of(foretold(WIDTHS | OPTIONS, SHUFFLED)).loc["training.final_loss"]
    assert abs(row["correlation"]) < 0.5
    assert not row["shown"]
    assert row["low"] < 0 < row["high"]


def test_the_placebo_and_options_of_other_measures_make_no_further_models() -> None:
    more = {"placebo": ["first", "second"], "gradient_flow.loss": ["cross_entropy", "sum"]}
    frames = foretold(WIDTHS | OPTIONS | more, RISING)
    assert len(frames.cells) == 64
    assert table_of(frames).loc["training.final_loss", "n_settings"] == 8
    # What the probe says under another loss is another figure, and not averaged in.
    under_sum = frames.cells.loc[frames.cells["gradient_flow.loss"] == "sum", "cell"]
    other = (frames.metrics["metric"] == FLOW) & frames.metrics["cell"].isin(under_sum)
    values = frames.metrics["value"].where(~other, 1 / frames.metrics["value"] ** 3)
    changed = replace(frames, metrics=frames.metrics.assign(value=values))
    assert table_of(changed).loc["training.final_loss", "correlation"] == -1


def test_a_model_that_diverges_is_last() -> None:
    lost = [({"width": "8"}, seed) for seed in range(3)]
    row = table_of(foretold(WIDTHS | OPTIONS, RISING, diverged=lost)).loc["training.final_loss"]
    # The best of eight becomes the worst: d² sums to 7² + 7·1 = 56.
    assert row["correlation"] == pytest.approx(-(1 - 6 * 56 / (8 * 63)))
    assert row["n_settings"] == 8


def test_a_model_of_which_a_training_failed_is_left_out() -> None:
    frames = foretold(WIDTHS | OPTIONS, RISING, failed=[({"width": "3"}, 1)])
    row = table_of(frames).loc["training.final_loss"]
    assert (row["n_settings"], row["n_left_out"], row["correlation"]) == (7, 1, -1)


def test_only_options_that_all_models_are_trained_with_count() -> None:
    """Else a model that is spared a bad learning rate would look better for it."""

    def loss(levels: Mapping[str, str]) -> float:
        return loss_of_width(levels) + 0.9 * (levels["training.learning_rate"] == "0.001")

    frames = foretold(WIDTHS | OPTIONS, RISING, loss=loss)
    spared = frames.cells["cell"].iloc[1]  # width 1 at 0.001
    trials = frames.trials.assign(
        state=frames.trials["state"].where(frames.trials["cell"] != spared, "skipped")
    )
    left = frames.metrics[frames.metrics["cell"] != spared]
    row = table_of(replace(frames, trials=trials, metrics=left)).loc["training.final_loss"]
    assert (row["n_settings"], row["correlation"]) == (8, -1)


@pytest.mark.parametrize(
    ("n", "flow", "because"),
    [
        (4, RISING, "4 settings: fewer than 5"),
        (8, dict.fromkeys(RISING, 2.0), "gradient_flow.embedding is the same in every setting"),
    ],
)
def test_where_nothing_can_be_said_that_is_said(
    n: int, flow: Mapping[str, float], because: str
) -> None:
    factors = {"width": WIDTHS["width"][:n], **OPTIONS}
    frames = foretold(factors, flow)
    row = table_of(frames).loc["training.final_loss"]
    assert row["because"] == because
    assert np.isnan(row[["correlation", "low", "high"]].astype(float)).all()
    assert not row["shown"]
    (first, second) = prediction_findings(predictions(frames, panel(frames)))
    why = "4 settings are fewer than 5" if n == 4 else because
    assert first.text == (
        f"training: whether the initial model foretells training.final_loss is not told: {why}."
    )
    assert predictions_section(predictions(frames, panel(frames))) is None
    assert second.kind == "training"


def test_every_model_learning_says_nothing_of_who_learns() -> None:
    row = table_of(foretold(WIDTHS | OPTIONS, RISING)).loc["training.learnt"]
    assert row["because"] == "training.learnt is the same in every setting"


def test_what_depends_on_the_load_and_the_training_itself_foretell_nothing() -> None:
    frames = foretold(WIDTHS | OPTIONS, RISING)
    assert set(predictions(frames, panel(frames))["metric"]) == {FLOW}
    busy = frames.metric_info["compared"].where(frames.metric_info["metric"] != FLOW, False)
    left = replace(frames, metric_info=frames.metric_info.assign(compared=busy.astype(bool)))
    assert predictions(left, panel(left)).empty
    assert list(prediction_findings(predictions(left, panel(left)))) == []


def test_findings_and_table_say_what_they_rest_on() -> None:
    frames = foretold(WIDTHS | OPTIONS, RISING)
    table = predictions(frames, panel(frames))
    first, _ = prediction_findings(table)
    assert first.text.replace("\u00a0", " ") == (
        "training: of 1 metric of the initial model 1 goes with training.final_loss: "
        "gradient_flow.embedding (−1.00, −1.00 to −0.82, 8 settings) (Spearman's rank "
        "correlation, false discovery rate 5 %; settings share levels and are no independent "
        "draws, so it describes this grid alone)."
    )
    shown = predictions_section(table)
    assert shown is not None
    assert list(shown.rows[0]) == [
        FLOW, "−1.00", "−1.00 to −0.82", "beyond noise, exploratory", "8", "0",
    ]  # fmt: skip
    assert "no independent draws, so it describes this grid alone." in shown.caption
    assert shown.note == (
        "Without an interval for training.learnt: training.learnt is the same in every setting."
    )
    none, _ = prediction_findings(predictions(f := foretold(WIDTHS | OPTIONS, SHUFFLED), panel(f)))
    assert none.claim == (
        "training: of 1 metric of the initial model none is shown to order the settings as "
        "training.final_loss does"
    )


def test_many_metrics_are_adjusted_together() -> None:
    rng = np.random.default_rng(5)
    frames = foretold(WIDTHS | OPTIONS, RISING)
    alone = table_of(frames).loc["training.final_loss"]
    noise = [
        (cell, s, f"gradient_flow.m{i}", value)
        for i in range(20)
        for cell, value in zip(frames.cells["cell"], np.repeat(rng.normal(size=8), 2), strict=True)
        for s in range(3)
    ]
    names = [f"gradient_flow.m{i}" for i in range(20)]
    row = frames.metric_info[frames.metric_info["metric"] == FLOW]
    more = pd.concat([row.assign(metric=name, scale="linear") for name in names])
    many = replace(
        frames,
        metrics=pd.concat([frames.metrics, pd.DataFrame(noise, columns=frames.metrics.columns)]),
        metric_info=pd.concat([frames.metric_info, more], ignore_index=True),
    )
    table = predictions(many, panel(many))
    wide = table[(table["metric"] == FLOW) & (table["outcome"] == "training.final_loss")].iloc[0]
    assert wide["high"] > alone["high"]
    assert wide["shown"]
    rest = table[(table["metric"] != FLOW) & (table["because"] == "")]
    assert len(rest) == 20
    assert rest["shown"].sum() <= 1
