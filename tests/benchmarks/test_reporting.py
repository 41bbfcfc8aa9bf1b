"""What a report takes is told of runs of every size, with all that their measures declare."""

import sys

import pytest

from ablations.declared.gradient_flow import GRADIENT_FLOW
from ablations.declared.parameters import PARAMETERS
from reports.training.compared import compare
from tests.benchmarks.reporting import report_rows
from tests.benchmarks.simulated_runs import simulated


def test_a_simulated_run_has_every_metric_and_profile_in_every_trial():
    frames = simulated(100, 2, trained=False)
    specs = (PARAMETERS, GRADIENT_FLOW)
    n_trials = 2 * len(frames.cells)
    metrics = [f"{spec.name}.{metric.name}" for spec in specs for metric in spec.metrics]
    profiles = [f"{spec.name}.{profile.name}" for spec in specs for profile in spec.profiles]
    assert frames.metrics.groupby("metric").size().to_dict() == dict.fromkeys(metrics, n_trials)
    assert frames.profiles.groupby("profile").size().to_dict() == dict.fromkeys(
        profiles, 12 * n_trials
    )


@pytest.mark.parametrize(("n", "cells"), [(10_000, 10_000), (72, 64), (2, 2)])
def test_there_are_as_many_cells_as_levels_give_and_no_more(n, cells):
    assert len(simulated(n, 1, trained=False).cells) == cells


def test_a_simulated_training_varies_the_rate_and_has_effects():
    found = compare(simulated(200, 3, trained=True))
    assert found.at_best is not None
    assert not found.effects["within_noise"].all()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the most memory held")
@pytest.mark.slow
def test_each_report_is_told_with_what_it_took():
    rows = report_rows([40], seeds=2)
    assert [row["measures"] for row in rows] == ["parameters, gradient_flow", "training"]
    for row in rows:
        assert row["cells"] <= 40
        assert 50 < row["peak_mib"] < 2000
        assert row["html_bytes"] > 100_000
