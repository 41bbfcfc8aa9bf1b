"""A grid carried out: states, resume, order, workers, edits; nothing measured twice."""

import dataclasses
import math
import sqlite3

import pytest

import ablations
from ablations import engine, resuming
from ablations.resuming import Standing
from ablations.sources import Sources
from ablations.store import NoRun, RunLocked, Store
from registry import (
    Catalog,
    ComponentSpec,
    InvalidOptions,
    MeasureSpec,
    Metric,
    PluginRecord,
    Provenance,
    discover,
)
from tests.ablations import strangers

GRID = {
    "name": "small",
    "model": {"depth": 2, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 64},
    "factors": {"norm": ["layernorm", "rmsnorm"], "placement": ["pre", "post"]},
    "seeds": 2,
    "measures": ["parameters", "gradient_flow"],
}


def grid(catalog=None, **changes):
    return ablations.load_grid({**GRID, **changes}, catalog or discover())


TIMED = "speed."
"""What begins so is a measured time, another one in each run."""


def values(out):
    """Everything measured but times, by its keys."""
    frames = ablations.open_run(out).frames()
    found = {}
    for frame, column in ((frames.metrics, "metric"), (frames.profiles, "profile")):
        for row in frame.to_dict("records"):
            if row[column].startswith(TIMED):
                continue
            key = (row["cell"], row["seed"], row[column], row.get("position"))
            found[key] = row["value"]
    return found


def strange_catalog(answer=strangers.Answer):
    """The built-ins, and components of a stranger's that fail in their several ways."""
    provenance = Provenance(distribution="strange", version="1.0")
    specs = (
        *(
            ComponentSpec(kind="norm", name=name, target=cls, provenance=provenance)
            for name, cls in strangers.NORMS.items()
        ),
        MeasureSpec(
            name="answer",
            target=answer,
            mode="static",
            metrics=(Metric(name="value", unit="answers", summary="The answer."),),
            provenance=provenance,
        ),
    )
    record = PluginRecord(name="strange:norms", version="1.0", state="loaded", specs=specs)
    return Catalog([*discover().plugins, record])


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """Writing a report takes longer than these runs; the fixture below and one test write it."""
    real = engine.write_report
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    return real


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The small grid, run inline from start to end."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    summary = ablations.run(grid(), out, executor="inline")
    return out, summary


def test_a_run_leaves_the_run_directory(undisturbed):
    out, summary = undisturbed
    assert (summary.trials, summary.reused, summary.failed) == (8, 0, 0)
    assert summary.states == {"done": 8}
    assert {p.name for p in out.iterdir() if not p.name.startswith(".")} == {
        "results.sqlite",
        "report.html",
        "tables",
        "grid.yaml",
        "log.jsonl",
    }
    assert ablations.load_grid(out / "grid.yaml").factors == grid().factors
    frames = ablations.open_run(out).frames()
    assert set(frames.trials["state"]) == {"done"}
    assert len(frames.trials) == 4 * 2 * 2
    assert len(frames.cells) == 4


def test_workers_and_order_leave_every_bit(undisturbed, tmp_path):
    reference = values(undisturbed[0])
    assert len(reference) > 8 * 20
    shuffled = grid(
        factors={"placement": ["post", "pre"], "norm": ["rmsnorm", "layernorm"]}, seeds=[1, 0]
    )
    summary = ablations.run(shuffled, tmp_path, workers=2)
    assert summary.states == {"done": 8}
    assert values(tmp_path) == reference


@pytest.mark.slow
def test_costs_are_exact_and_times_are_measured_against_the_baseline(tmp_path):
    asked = grid(
        factors={"depth": [1, 2]},
        baseline={"depth": 2},
        measures=[{"costs": {"contexts": [16, 32, 64, 128]}}, {"speed": {"repeats": 5}}],
    )
    ablations.run(asked, tmp_path / "inline", executor="inline")
    ablations.run(asked, tmp_path / "local", workers=2)
    assert values(tmp_path / "inline") == values(tmp_path / "local")
    frames = ablations.open_run(tmp_path / "local").frames()
    info = frames.metric_info.set_index(["form", "metric"])
    assert info["exact"].groupby(info["measure"]).unique().map(list).to_dict() == {
        "costs": [True],
        "speed": [False],
    }
    value = frames.metrics.pivot_table(index="cell", columns="metric", values="value")
    shallow, baseline = (
        value.loc[frames.cells.set_index("depth").loc[level, "cell"]] for level in ("1", "2")
    )
    assert shallow["costs.cache_bytes"] == baseline["costs.cache_bytes"] / 2
    # How they compare is no test: times of a busy machine.
    assert 0 < shallow["speed.forward_ratio"] < float("inf")
    again = ablations.run(asked, tmp_path / "local", executor="inline")
    assert (again.reused, again.states) == (4, {})


def test_a_second_run_measures_nothing(undisturbed):
    out, _ = undisturbed
    before = (out / "results.sqlite").read_bytes()
    told = []
    summary = ablations.run(grid(), out, executor="inline", started=told.append)
    assert told == [Standing(reused=8)] == [summary.standing]
    assert (summary.reused, summary.states) == (8, {})
    assert values(out)
    assert (out / "results.sqlite").stat().st_size == len(before)


def test_a_run_that_was_stopped_resumes_to_the_same_bits(undisturbed, tmp_path):
    count = 0

    def stop_after_three(state):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ablations.run(grid(), tmp_path, executor="inline", ended=stop_after_three)
    summary = ablations.run(grid(), tmp_path, executor="inline")
    assert (summary.reused, summary.states) == (3, {"done": 5})
    assert values(tmp_path) == values(undisturbed[0])


def test_an_edited_grid_adds_what_is_new_and_keeps_what_is_there(undisturbed, tmp_path):
    ablations.run(grid(), tmp_path, executor="inline")
    more = grid(seeds=3, factors={**GRID["factors"], "activation": ["gelu", "relu"]})
    summary = ablations.run(more, tmp_path, executor="inline")
    # Cells at the default activation keep their identity: 4 cells × 2 seeds of 8 × 3.
    assert (summary.trials, summary.reused, summary.states) == (24, 8, {"done": 16})
    back = ablations.run(grid(), tmp_path, executor="inline")
    assert (back.trials, back.reused) == (8, 8)
    assert values(tmp_path) == values(undisturbed[0])


def test_a_new_measure_is_added_without_the_old_ones(tmp_path):
    catalog = strange_catalog()
    ablations.run(grid(catalog), tmp_path, executor="inline", catalog=catalog)
    more = grid(catalog, measures=[*GRID["measures"], "answer"])
    summary = ablations.run(more, tmp_path, executor="inline", catalog=catalog)
    assert summary.states == {"done": 8}
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        counts = dict(
            connection.execute("SELECT measure, COUNT(*) FROM trials GROUP BY measure").fetchall()
        )
    assert counts == {"parameters": 8, "gradient_flow": 8, "answer": 8}
    assert (
        ablations.open_run(tmp_path)
        .frames()
        .metrics.query("metric == 'answer.value'")["value"]
        .tolist()
        == [42.0] * 8
    )


UNBUILDABLE = ("breaking", "exiting")


@pytest.mark.parametrize(
    ("name", "state", "message"),
    [
        ("raising", "failed", "RuntimeError: not today"),
        ("exploding", "diverged", "not finite: "),
        ("breaking", "failed", "RuntimeError: cannot be built"),
        ("exiting", "failed", "SystemExit: 0"),
    ],
)
def test_one_bad_level_costs_its_own_trials(tmp_path, undisturbed, name, state, message):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["layernorm", name], "placement": ["pre", "post"]})
    summary = ablations.run(asked, tmp_path, executor="inline", catalog=catalog)
    assert summary.states == {"done": 4, state: 4}
    assert summary.failed == summary.lost == (4 if state == "failed" else 0)
    frames = ablations.open_run(tmp_path).frames()
    flow = frames.trials[frames.trials["measure"] == "gradient_flow"]
    bad = flow[flow["state"] == state]
    assert len(bad) == 4
    assert bad["message"].str.startswith(message).all()
    counted = frames.trials[frames.trials["measure"] == "parameters"]
    assert set(counted["state"]) == ({"done"} if name not in UNBUILDABLE else {"done", "failed"})
    reference = values(undisturbed[0])
    good = {key: value for key, value in values(tmp_path).items() if key in reference}
    assert len(good) >= len(reference) / 2
    assert all(reference[key] == value for key, value in good.items())


def test_a_component_that_rolls_dice_rolls_the_same_for_a_seed(tmp_path):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["dicing", "layernorm"]})
    ablations.run(asked, tmp_path / "inline", executor="inline", catalog=catalog)
    ablations.run(asked, tmp_path / "local", workers=2, catalog=catalog)
    assert values(tmp_path / "inline") == values(tmp_path / "local")


def test_conventions_name_every_option_that_a_cell_has(tmp_path):
    asked = grid(factors={"gradient_flow.batch": [1, 4]})
    ablations.run(asked, tmp_path, executor="inline")
    info = ablations.open_run(tmp_path).frames().metric_info.set_index(["form", "metric"])
    told = info.loc[("metric", "gradient_flow.loss"), "convention"]
    assert "on 1 × context random tokens" in told
    assert "on 4 × context random tokens" in told
    assert "on 2" not in told
    assert "initializer.std 0.02" in told
    assert info["exact"].groupby(info["measure"]).unique().map(list).to_dict() == {
        "gradient_flow": [False],
        "parameters": [True],
    }


def test_fresh_does_not_move_a_folder_of_other_things(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("")
    with pytest.raises(NoRun) as caught:
        ablations.run(grid(), tmp_path / "run", executor="inline", fresh=True)
    assert str(caught.value) == (
        f"{tmp_path / 'run'} holds no run, so it is not moved aside: choose another directory"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_diverged_value_is_kept_as_it_is(tmp_path):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["layernorm", "exploding"]})
    ablations.run(asked, tmp_path, executor="inline", catalog=catalog)
    losses = ablations.open_run(tmp_path).frames().metrics.query("metric == 'gradient_flow.loss'")
    assert len(losses) == 4
    assert sum(map(math.isnan, losses["value"])) == 2


def test_a_component_that_cannot_be_built_is_skipped_with_its_reason(tmp_path):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["layernorm", "even"], "d_model": [32, 36]})
    summary = ablations.run(asked, tmp_path, executor="inline", catalog=catalog)
    assert summary.trials == 3 * 2
    frames = ablations.open_run(tmp_path).frames()
    skipped = frames.trials[frames.trials["state"] == "skipped"]
    assert set(skipped["message"]) == {"norm 'even': d_model must divide by 8, not 36"}
    assert len(skipped) == 1 * 2 * 2


def test_a_level_that_is_skipped_everywhere_is_an_error_before_anything_runs(tmp_path):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["layernorm", "never"]})
    with pytest.raises(ablations.GridError, match=r"never.*no dims suit it"):
        ablations.run(asked, tmp_path / "run", executor="inline", catalog=catalog)
    assert not (tmp_path / "run").exists()


def test_failed_trials_are_run_again_and_done_ones_are_not(tmp_path, monkeypatch):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["layernorm", "raising"]})
    ablations.run(asked, tmp_path, executor="inline", catalog=catalog)
    monkeypatch.setattr(strangers.Raising, "forward", lambda self, x: x)
    summary = ablations.run(asked, tmp_path, executor="inline", catalog=catalog)
    assert (summary.reused, summary.states) == (2, {"done": 2})


def test_fail_fast_stops_at_the_first_failure(tmp_path):
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["raising", "layernorm"]}, seeds=5)
    summary = ablations.run(asked, tmp_path, executor="inline", catalog=catalog, fail_fast=True)
    assert summary.stopped
    assert summary.states == {"done": 1, "failed": 1}
    assert summary.report == tmp_path / "report.html"


def test_fresh_moves_the_old_run_aside(tmp_path):
    out = tmp_path / "run"
    ablations.run(grid(), out, executor="inline")
    summary = ablations.run(grid(), out, executor="inline", fresh=True)
    assert summary.states == {"done": 8}
    assert summary.aside is not None
    (old,) = (path for path in tmp_path.iterdir() if path != out)
    assert old == summary.aside
    assert old.name.startswith("run.")
    assert values(old) == values(out)


def test_fresh_leaves_a_run_that_is_going_on(tmp_path):
    ablations.run(grid(), tmp_path / "run", executor="inline")
    with Store.create_or_open(tmp_path / "run"), pytest.raises(RunLocked):
        ablations.run(grid(), tmp_path / "run", executor="inline", fresh=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_other_bits_are_measured_anew(undisturbed, tmp_path):
    ablations.run(grid(), tmp_path, executor="inline")
    summary = ablations.run(grid(dtype="float64"), tmp_path, executor="inline")
    assert (summary.reused, summary.states) == (0, {"done": 8})


def test_an_edited_source_is_measured_anew(tmp_path, monkeypatch):
    ablations.run(grid(), tmp_path, executor="inline")
    monkeypatch.setattr(resuming, "FINAL", frozenset())
    assert ablations.run(grid(), tmp_path, executor="inline").reused == 0
    monkeypatch.undo()
    real = Sources.of
    monkeypatch.setattr(
        Sources, "of", lambda self, name: "edited" if "norms" in name else real(self, name)
    )
    assert ablations.run(grid(), tmp_path, executor="inline").reused == 0


def test_an_unknown_executor_is_named(tmp_path):
    with pytest.raises(LookupError, match=r"^unknown executor 'locl'; did you mean 'local'\?"):
        ablations.run(grid(), tmp_path / "run", executor="locl")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        (
            {"timeout": 5},
            {},
            "executor 'inline' would ignore the grid's timeout, since it cannot stop a trial; "
            "choose 'local' or leave it out",
        ),
        (
            {"memory": "4 GiB"},
            {},
            "executor 'inline' would ignore the grid's memory limit, since it cannot stop a trial; "
            "choose 'local' or leave it out",
        ),
        (
            {},
            {"workers": 2},
            "executor 'inline' would ignore 2 workers, since it is this process alone; "
            "choose 'local' or leave it out",
        ),
    ],
)
def test_what_an_executor_would_ignore_is_refused(tmp_path, changes, arguments, message):
    with pytest.raises(InvalidOptions) as caught:
        ablations.run(grid(**changes), tmp_path / "run", executor="inline", **arguments)
    assert str(caught.value) == message
    assert not (tmp_path / "run").exists()


def test_the_report_can_be_written_while_a_run_goes_on(tmp_path, no_report):
    seen = []

    def look(state):
        if not seen:
            page = no_report(tmp_path).read_text(encoding="utf-8")
            assert "Unfinished: 7 of 8 trials are still to be run." in page
        frames = ablations.open_run(tmp_path).frames()
        seen.append(int((frames.trials["state"] == "missing").sum()))

    ablations.run(grid(), tmp_path, executor="inline", ended=look)
    assert seen == [14, 12, 10, 8, 6, 4, 2, 0]


def test_a_stored_result_of_another_identity_is_missing(tmp_path):
    ablations.run(grid(), tmp_path, executor="inline")
    planned = ablations.plan(grid())
    from ablations.record import run_plan
    from registry import Execution

    recorded = run_plan(planned, executor="inline", execution=Execution())
    other = dict.fromkeys(recorded.identities, "0" * 16)
    with Store.create_or_open(tmp_path) as store:
        store.begin(dataclasses.replace(recorded, identities=other))
    frames = ablations.open_run(tmp_path).frames()
    assert set(frames.trials["state"]) == {"missing"}
    assert frames.metrics.empty
