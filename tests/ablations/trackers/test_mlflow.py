"""Runs followed by MLflow, into a SQLite file, asked back with MLflow's own client."""

import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ablations
from ablations import engine
from ablations.cli import run_command_line
from ablations.trackers.mlflow import MlflowTracker, tracker
from registry import RunInfo, TrialInfo, discover, hookimpl
from tests.ablations.followers import followed_by

pytestmark = [
    # MLflow declares its tables in a way that SQLAlchemy is about to give up.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),
]

GRID = {
    "name": "norms",
    "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
    "factors": {"norm": ["layernorm", "rmsnorm"]},
    "seeds": 2,
    "measures": ["parameters", "gradient_flow"],
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A database whose tables MLflow has made, which takes it a second."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(autouse=True)
def asked(tmp_path, monkeypatch, empty):
    """MLflow is asked for, and writes below the test's own folder."""
    shutil.copy(empty, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABLATIONS_MLFLOW", "1")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.setattr(engine, "write_report", report)


def report(out):
    """A report that takes no time."""
    page = out / "report.html"
    page.write_text("<p>effects</p>")
    return page


def run(out, *plugins, given=GRID, **options):
    catalog = followed_by(*plugins)
    grid = ablations.load_grid(given, catalog)
    summary = ablations.run(grid, out, executor="inline", catalog=catalog, **options)
    assert summary.unfollowed == {}
    return summary


def client():
    from mlflow import MlflowClient

    return MlflowClient()


def runs(experiment="norms", **which):
    """The MLflow runs of an experiment: those of this tool's runs, and of their trials."""
    (found,) = [e for e in client().search_experiments() if e.name == experiment]
    all_of_them = client().search_runs([found.experiment_id], **which)
    parents = [r for r in all_of_them if "ablations.run" in r.data.tags]
    children = [r for r in all_of_them if "mlflow.parentRunId" in r.data.tags]
    assert len(parents) + len(children) == len(all_of_them)
    return parents, children


def trials(children):
    return sorted((r.data.params["norm"], int(r.data.params["seed"])) for r in children)


ALL = [(norm, seed) for norm in ("layernorm", "rmsnorm") for seed in (0, 1)]


def test_a_run_is_a_run_with_a_child_for_each_trial(tmp_path, capsys):
    run(tmp_path / "runs" / "first")
    assert f"MLflow follows this run, at sqlite:///{tmp_path}/mlflow.db" in capsys.readouterr().err
    (parent,), children = runs()
    assert (parent.info.run_name, parent.info.status) == ("first", "FINISHED")
    assert parent.data.tags["ablations.trials"] == "4 done"
    artifacts = {f.path for f in client().list_artifacts(parent.info.run_id)}
    assert artifacts == {"grid.yaml", "report.html"}
    page = client().download_artifacts(parent.info.run_id, "report.html", str(tmp_path))
    assert Path(page).read_text() == "<p>effects</p>"
    assert trials(children) == ALL
    frames = ablations.open_run(tmp_path / "runs" / "first").frames()
    for child in children:
        tags, params = child.data.tags, child.data.params
        assert tags["mlflow.parentRunId"] == parent.info.run_id
        assert (tags["ablations.state"], child.info.status) == ("done", "FINISHED")
        assert child.info.run_name == f"norm={params['norm']}, seed {params['seed']}"
        (cell,) = frames.cells.query(f"norm == '{params['norm']}'")["cell"]
        assert tags["ablations.cell"] == cell
        stored = frames.metrics.query(f"cell == '{cell}' and seed == {params['seed']}")
        metrics = dict(zip(stored["metric"], stored["value"], strict=True))
        assert len(metrics) > 10
        took = child.data.metrics.pop("seconds")
        assert child.data.metrics == metrics
        assert child.info.end_time - child.info.start_time >= math.floor(took * 1000)


def test_a_resumed_run_continues_and_nothing_is_there_twice(tmp_path):
    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", ended=stop)
    (parent,), children = runs()
    assert (parent.info.status, parent.data.tags["ablations.trials"]) == (
        "KILLED",
        "1 done, 3 missing",
    )
    assert client().list_artifacts(parent.info.run_id)[0].path == "grid.yaml"
    seen = []

    class Looking:
        @hookimpl
        def trial_finished(self, run, trial):
            seen.append(runs()[0][0].info.status)

    run(tmp_path / "run", Looking())
    assert seen == ["RUNNING"] * 3
    (again,), more = runs()
    assert (again.info.run_id, again.info.status) == (parent.info.run_id, "FINISHED")
    assert {child.info.run_id for child in children} < {child.info.run_id for child in more}
    run(tmp_path / "run")
    assert trials(runs()[1]) == ALL
    run(tmp_path / "run", fresh=True)
    parents, _ = runs()
    assert len(parents) == 2


def test_what_mlflow_did_not_hear_of_is_made_up_for(tmp_path, monkeypatch):
    monkeypatch.setenv("ABLATIONS_MLFLOW", "0")
    run(tmp_path / "run")
    assert [found.name for found in client().search_experiments()] == ["Default"]
    monkeypatch.setenv("ABLATIONS_MLFLOW", "1")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    run(tmp_path / "run")
    assert trials(runs("mine")[1]) == ALL


INFO = RunInfo(
    id="0123",
    name="norms",
    out=None,  # set by each test
    grid="name: norms\n",
    factors={"norm": ("layernorm",)},
    baseline={"norm": "layernorm"},
    seeds=(0,),
    measures=("flow",),
    trials=1,
)
TRIAL = TrialInfo(
    cell="c0",
    label="norm=layernorm",
    levels={"norm": "layernorm"},
    seed=0,
    state="diverged",
    states={"flow": "diverged"},
    messages={"flow": "not finite: flow.loss"},
    metrics={"flow.loss": math.nan, "flow.top": math.inf, "flow.low": -math.inf, "flow.ok": 0.5},
    marks=("leaks", "odd"),
    seconds=0.25,
)


def test_what_is_not_finite_is_a_tag_and_never_a_finite_metric(tmp_path):
    tracker = MlflowTracker()
    info = replace(INFO, out=tmp_path)
    assert tracker.run_started(info)
    tracker.trial_finished(info, TRIAL)
    _, (child,) = runs()
    assert child.data.metrics == {"flow.ok": 0.5, "seconds": 0.25}
    assert {k: v for k, v in child.data.tags.items() if k.startswith("ablations.")} == {
        "ablations.cell": "c0",
        "ablations.seed": "0",
        "ablations.state": "diverged",
        "ablations.marks": "leaks, odd",
        "ablations.messages": "flow: not finite: flow.loss",
        "ablations.not_finite": "flow.loss nan, flow.top inf, flow.low -inf",
        "ablations.digest": child.data.tags["ablations.digest"],
    }
    assert runs(filter_string="metrics.`flow.loss` < 1")[1] == []
    assert child.info.status == "FINISHED"


def test_a_trial_measured_anew_takes_the_place_of_the_old_one(tmp_path):
    info = replace(INFO, out=tmp_path)
    many = {f"flow.m{n}": float(n) for n in range(2000)}
    failed = replace(TRIAL, state="failed", metrics={"flow.gone": 1.0})
    anew = replace(TRIAL, state="done", metrics=many, marks=(), messages={})
    for told, status in ((failed, "FAILED"), (failed, "FAILED"), (anew, "FINISHED")):
        tracker = MlflowTracker()
        tracker.run_started(info)
        tracker.trial_finished(info, told)
        tracker.run_finished(replace(info, state="done"), [told])
        (parent,), (child,) = runs()
        assert (parent.info.status, child.info.status) == ("FINISHED", status)
    assert child.data.metrics == many | {"seconds": 0.25}
    from mlflow.entities import ViewType

    _, deleted = runs(run_view_type=ViewType.DELETED_ONLY)
    assert [set(child.data.metrics) for child in deleted] == [{"flow.gone", "seconds"}]


def test_a_child_that_was_cut_off_is_replaced(tmp_path, monkeypatch):
    from mlflow import MlflowClient

    info = replace(INFO, out=tmp_path)
    tracker = MlflowTracker()
    tracker.run_started(info)
    with monkeypatch.context() as patch:

        def killed(*args, **kwargs):
            raise KeyboardInterrupt

        patch.setattr(MlflowClient, "set_terminated", killed)
        with pytest.raises(KeyboardInterrupt):
            tracker.trial_finished(info, TRIAL)
    assert [child.info.status for child in runs()[1]] == ["RUNNING"]
    tracker = MlflowTracker()
    tracker.run_started(info)
    tracker.run_finished(replace(info, state="stopped"), [TRIAL])
    (parent,), (child,) = runs()
    assert (parent.info.status, child.info.status) == ("FAILED", "FINISHED")


def test_it_is_registered_as_a_strangers_would_be_and_asks_to_be_asked(monkeypatch):
    (record,) = [r for r in discover().plugins if r.name == "ablations:mlflow"]
    assert (record.state, record.specs, record.plugin) == ("loaded", (), tracker)
    assert sorted(record.follows) == ["run_finished", "run_started", "trial_finished"]
    for value in ("", "0", "No", "false"):
        monkeypatch.setenv("ABLATIONS_MLFLOW", value)
        assert tracker.run_started(INFO) is False
    monkeypatch.delenv("ABLATIONS_MLFLOW")  # MLFLOW_TRACKING_URI is still set
    assert tracker.run_started(INFO) is False
    monkeypatch.setenv("ABLATIONS_MLFLOW", "maybe")
    with pytest.raises(ValueError, match=r"^ABLATIONS_MLFLOW is 1 or 0, not 'maybe'$"):
        tracker.run_started(INFO)


@pytest.mark.parametrize("absent", ["mlflow", "sqlalchemy", "alembic"])
def test_without_the_extra_nothing_runs_and_one_line_says_what_to_install(
    tmp_path, monkeypatch, capsys, absent
):
    (tmp_path / "grid.yaml").write_text(ablations.load_grid(GRID).text)
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, "ablations.trackers.mlflow_run", raising=False)
    assert run_command_line(["run", "grid.yaml", "--executor", "inline"]) == 3
    assert capsys.readouterr().err == (
        "ABLATIONS_MLFLOW=1 asks for MLflow, which does not load (ModuleNotFoundError: import of "
        f"{absent} halted; None in sys.modules): python -m pip install 'ablations[mlflow]'\n"
    )
    assert set(ablations.open_run("runs/norms").frames().trials["state"]) == {"missing"}
