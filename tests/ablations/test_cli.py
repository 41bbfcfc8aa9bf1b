"""The command line: exit statuses, streams, messages; each command as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from ablations import cli

ROOT = Path(__file__).parents[2]
SMALL = (ROOT / "tests" / "small.yaml").read_text(encoding="utf-8")


def ablate(*arguments, cwd, check=None, **environment):
    """Run `python -m ablations` in a folder."""
    ended = subprocess.run(
        [sys.executable, "-m", "ablations", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if check is not None:
        assert ended.returncode == check, ended.stderr
    return ended


@pytest.fixture
def inline(capsys, tmp_path, monkeypatch):
    """Run a command in this process; returns its status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.run_command_line([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.mark.slow
def test_run_with_workers_writes_the_report_and_resumes(tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    first = ablate("run", "grid.yaml", "--workers", 2, cwd=tmp_path, check=0)
    assert first.stdout == "runs/small/report.html\n"
    assert "12 trials: 12 done, " in first.stderr
    page = (tmp_path / "runs/small/report.html").read_text(encoding="utf-8")
    assert "placement" in page
    again = ablate("run", "grid.yaml", cwd=tmp_path, check=0)
    assert "12 reused\n" in again.stderr
    assert "12 trials: nothing to do, 12 reused, " in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_told_to_end_can_be_resumed(tmp_path, sent, status):
    text = SMALL.replace("seeds: 3", "seeds: 400")
    (tmp_path / "grid.yaml").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "ablations", "run", "grid.yaml", "--workers", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What is started in the background inherits that it ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    store = tmp_path / "runs/small/results.sqlite"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and done(store) < 3:
        time.sleep(0.2)
    assert done(store) >= 3
    if sent == signal.SIGINT:  # a terminal tells the whole group, a batch system the driver
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert told.splitlines()[-1] == (
        "stopped; what ended is kept. To resume: ablations run grid.yaml --out runs/small"
    )
    assert "Traceback" not in told
    kept = done(store)
    (tmp_path / "grid.yaml").write_text(SMALL)
    ended = ablate("run", "grid.yaml", "--out", "runs/small", cwd=tmp_path, check=0)
    assert " reused" in ended.stderr
    assert done(store) >= kept


def done(store):
    import sqlite3

    if not store.exists():
        return 0
    try:
        with sqlite3.connect(store) as connection:
            (count,) = connection.execute(
                "SELECT COUNT(*) FROM trials WHERE state = 'done'"
            ).fetchone()
    except sqlite3.Error:
        return 0
    return count


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "name: a\nmodel: {depht: 3}\nfactors: {norm: [layernorm, rmsnorm]}\n"
            "measures: [parameters]\n",
            "2:9: model.depht: ",
        ),
        (
            "name: a\nfactors: {norm: [layernorm, rmsnrom]}\nmeasures: [parameters]\n",
            "2:29: factors.norm[1]: ",
        ),
        ("- a\n- b\n", "1:1: "),
        ("name: [\n", "2:1: "),
    ],
)
def test_a_wrong_grid_is_one_line_a_finding_and_leaves_nothing(inline, tmp_path, text, finding):
    (tmp_path / "grid.yaml").write_text(text)
    status, out, err = inline("run", "grid.yaml")
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"grid.yaml:{finding}")
    assert {path.name for path in tmp_path.iterdir()} == {"grid.yaml"}


def test_a_grid_that_is_not_there_is_named(inline):
    status, out, err = inline("run", "gird.yaml")
    assert (status, out) == (2, "")
    assert err.startswith("gird.yaml: ")
    assert len(err.splitlines()) == 1


def test_plan_tells_what_would_run_and_writes_nothing(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    status, out, err = inline("plan", "grid.yaml")
    assert (status, err) == (0, "")
    assert out.startswith("small: 4 cells × 3 seeds, 12 trials\n")
    assert "norm: layernorm (baseline), rmsnorm" in out
    assert "initializer" in out
    assert {path.name for path in tmp_path.iterdir()} == {"grid.yaml"}


def test_plan_as_json_is_one_document_and_nothing_else(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(
        SMALL.replace("seeds:", "exclude: [{norm: rmsnorm, placement: post, because: why}]\nseeds:")
    )
    status, out, _ = inline("plan", "grid.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    keys = {"cells", "trials", "skipped", "parameters", "flops", "seconds", "memory"}
    assert set(document) == keys
    assert document["memory"]["limit"] > 0
    assert document["memory"]["too_large"] == []
    assert (document["cells"], document["trials"]) == (4, 9)
    (skipped,) = document["skipped"]
    assert skipped["reason"].endswith("why")
    assert "norm=rmsnorm" in skipped["cell"]
    assert "placement=post" in skipped["cell"]
    low, high = document["parameters"]["min"], document["parameters"]["max"]
    assert 0 < low < high
    assert document["flops"] > 0
    assert document["seconds"] > 0


@pytest.mark.slow
def test_report_writes_the_page_again(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    assert inline("run", "grid.yaml", "--executor", "inline")[0] == 0
    page = tmp_path / "runs/small/report.html"
    page.unlink()
    status, out, err = inline("report", "runs/small")
    assert (status, out, err) == (0, "runs/small/report.html\n", "")
    assert page.is_file()


@pytest.mark.slow
def test_report_writes_what_is_asked_for_and_says_what(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    assert inline("run", "grid.yaml", "--executor", "inline")[0] == 0
    status, out, err = inline("report", "runs/small", "--format", "csv,latex,markdown")
    told = "".join(f"runs/small/{name}\n" for name in ("report.md", "report.tex", "tables"))
    assert (status, out, err) == (0, told, "")
    assert r"\toprule" in (tmp_path / "runs/small/report.tex").read_text(encoding="utf-8")
    assert (tmp_path / "runs/small/report.md").read_text(encoding="utf-8").startswith("# small\n")


def test_report_in_a_format_that_there_is_not(inline, tmp_path):
    status, out, err = inline("report", tmp_path, "--format", "pdf")
    assert (status, out) == (2, "")
    assert err == "--format: there is no 'pdf'; known: csv, html, latex, markdown, parquet\n"


def test_report_in_a_format_whose_library_is_missing(inline, tmp_path, monkeypatch):
    monkeypatch.setattr("ablations.asked_formats.find_spec", lambda name: None)
    status, out, err = inline("report", tmp_path, "--format", "parquet")
    assert (status, out) == (3, "")
    assert err == "--format parquet needs the package pyarrow: pip install 'ablations[parquet]'\n"


@pytest.mark.slow
def test_report_needs_no_torch(tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    ablate("run", "grid.yaml", "--executor", "inline", cwd=tmp_path, check=0)
    code = (
        "import sys; from ablations.cli import run_command_line\n"
        "assert run_command_line(['report', 'runs/small']) == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_report_of_a_folder_without_a_run(inline, tmp_path):
    status, out, err = inline("report", tmp_path)
    assert (status, out) == (3, "")
    assert len(err.splitlines()) == 1


def test_components_lists_what_is_registered(inline):
    status, out, _ = inline("components", "--json")
    documents = json.loads(out)
    assert status == 0
    assert {frozenset(document) for document in documents} == {
        frozenset({"kind", "name", "plugin", "version", "options", "summary", "source"})
    }
    (gqa,) = (d for d in documents if d["name"] == "gqa")
    assert gqa["plugin"] == "ablations"
    assert gqa["options"][0] == {
        "name": "n_kv_heads",
        "type": "int > 0, required",
        "default": None,
    }
    status, text, _ = inline("components")
    assert status == 0
    listed, _, measures = text.partition("\n\nmeasure\n")
    assert "rmsnorm" in listed
    assert "  gradient_flow: How the loss's gradient reaches each depth at init" in measures
    assert "      cost: one forward and backward pass" in measures


def test_plugins_lists_who_registered_what(inline):
    status, out, _ = inline("plugins", "--json")
    documents = {document["name"]: document for document in json.loads(out)}
    assert status == 0
    ours = documents["ablations:components"]
    assert set(ours) == {"name", "version", "state", "message", "components"}
    assert ours["state"] == "loaded"
    assert "norm rmsnorm" in ours["components"]
    assert "loaded" in inline("plugins")[1]


def test_recipes_tells_totals_roles_and_sources(inline):
    status, out, err = inline("recipes", "gpt2", "opt-350m", "gpt2")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("gpt2: 124,439,808 parameters, as published (Radford et al. 2019")
    assert lines[1] == (
        "  embedding 39,383,808, attention 28,348,416, feed_forward 56,669,184, norm 38,400; "
        "a block 7,087,872"
    )
    assert ", other 1,048,576; " in out  # the projections of the embedding
    assert lines[-1] == "2 recipes, as published"


def test_recipes_as_json_is_one_document_and_nothing_else(inline):
    status, out, err = inline("recipes", "smollm2-135m", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == [
        {
            "name": "smollm2-135m",
            "assembled": 134_515_008,
            "published": 134_515_008,
            "equal": True,
            "source": "arXiv:2502.02737; huggingface.co/HuggingFaceTB/SmolLM2-135M",
        }
    ]


@pytest.mark.parametrize("count", ["parameters", "block", "embedding", "head"])
def test_a_count_that_is_not_as_published_is_status_1(inline, monkeypatch, count):
    from ablations.recipes import recipe

    right = recipe.read_recipe("smollm2-135m")
    other = {**right.published.model_dump(), count: getattr(right.published, count) + 1}
    wrong = right.model_copy(update={"published": recipe.Published(**other)})
    monkeypatch.setattr(recipe, "read_recipe", lambda name: wrong)
    status, out, _ = inline("recipes", "smollm2-135m")
    assert status == 1
    ours = f"{getattr(right.published, count):,}"
    assert f"  {count}: assembled {ours}, published {other[count]:,}, -1\n" in out
    assert out.endswith("1 recipe, not as published: smollm2-135m\n")
    status, out, _ = inline("recipes", "smollm2-135m", "--json")
    assert status == 1
    assert json.loads(out)[0]["equal"] is False


def test_a_recipe_that_is_not_there_is_one_line(inline):
    status, out, err = inline("recipes", "gpt2", "lama-3-8b")
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(
        "no recipe is named 'lama-3-8b'; did you mean 'llama-3-8b'? known: bloom-560m, "
    )


def test_schema_is_a_json_schema(inline):
    status, out, _ = inline("schema")
    document = json.loads(out)
    assert status == 0
    assert document["$schema"].startswith("https://json-schema.org/")
    assert "model" in document["properties"]


def test_new_grid_runs_as_it_is_and_overwrites_nothing(inline, tmp_path):
    assert inline("new", "grid")[:2] == (0, "grid.yaml\n")
    status, out, _ = inline("plan", "grid.yaml", "--json")
    assert status == 0
    assert json.loads(out)["cells"] == 16
    status, _, err = inline("new", "grid")
    assert (status, err) == (2, "grid.yaml exists and is left as it is; give another path\n")


OPTIONAL_KEYS = (
    "exclude", "placebo", "dtype", "threads", "timeout", "memory", "requires", "design",
)  # fmt: skip


def test_every_example_in_a_new_grid_is_valid(inline, tmp_path):
    inline("new", "grid", "grid.yaml")
    text = (tmp_path / "grid.yaml").read_text(encoding="utf-8")
    keys = ("  - {", *(f"{key}:" for key in OPTIONAL_KEYS))
    lines = [
        line.removeprefix("# ") if line.removeprefix("# ").startswith(keys) else line
        for line in text.splitlines()
    ]
    (tmp_path / "grid.yaml").write_text("\n".join(lines))
    status, out, _ = inline("plan", "grid.yaml", "--json")
    assert status == 0
    assert json.loads(out)["skipped"][0]["reason"] == "nobody builds it"


def test_the_version_is_printed(inline):
    assert inline("--version") == (0, f"ablations {version('ablations')}\n", "")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "grid.yaml", "--wrokers", "2"], ["rnu"], ["plan", "a", "b"]]
)
def test_wrong_arguments_are_status_2(inline, arguments):
    status, out, err = inline(*arguments)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "command",
    [
        *("run", "plan", "report", "compare", "serve", "components", "plugins", "check", "recipes"),
        *("schema", "new grid", "new plugin"),
    ],
)
def test_help_says_what_a_command_does_with_an_example(inline, command):
    status, out, _ = inline(*command.split(), "--help")
    assert status == 0
    assert f"python -m ablations {command}" in out


def test_the_command_line_overrides_the_environment_and_says_so(inline, tmp_path, monkeypatch):
    (tmp_path / "grid.yaml").write_text(SMALL)
    monkeypatch.setenv("ABLATIONS_EXECUTOR", "local")
    monkeypatch.setenv("ABLATIONS_OUT", "elsewhere")
    status, out, err = inline("run", "grid.yaml", "--executor", "inline")
    assert status == 0
    assert out == "elsewhere/report.html\n"
    assert "--executor inline overrides ABLATIONS_EXECUTOR=local" in err


def test_the_command_line_overrides_the_grids_executor_and_says_so(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(f"{SMALL}executor: {{ray: {{gpus: 0.5}}}}\n")
    status, _, err = inline("run", "grid.yaml", "--executor", "inline")
    assert status == 0
    assert "--executor inline overrides executor ray(gpus=0.5) of the grid" in err.splitlines()


def test_a_failed_trial_is_status_1(inline, tmp_path, monkeypatch):
    (tmp_path / "grid.yaml").write_text(SMALL)

    def fail(self, context):
        raise RuntimeError("not today")

    monkeypatch.setattr("ablations.measures.gradient_flow.GradientFlow.measure", fail)
    status, out, err = inline("run", "grid.yaml", "--executor", "inline")
    assert status == 1
    assert out == "runs/small/report.html\n"
    assert "12 trials: 12 failed" in err


@pytest.mark.slow
def test_fresh_says_where_the_old_run_went(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    inline("run", "grid.yaml", "--executor", "inline")
    status, _, err = inline("run", "grid.yaml", "--executor", "inline", "--fresh")
    assert status == 0
    assert "the old run is now runs/small." in err


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    script = tmp_path / "sweep.py"
    (tmp_path / "grid.yaml").write_text(SMALL)
    script.write_text("import ablations\nablations.run(ablations.load_grid('grid.yaml'), 'run')\n")
    ended = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    assert 'put the call under `if __name__ == "__main__":`' in ended.stderr.splitlines()[-1]


def test_built_ins_that_are_not_installed_are_missed_clearly(inline, tmp_path, monkeypatch):
    (tmp_path / "grid.yaml").write_text(SMALL)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    status, _, err = inline("run", "grid.yaml")
    assert status == 3
    assert err == (
        "ablations is not installed here, so its own components are not registered: "
        "python -m pip install ablations\n"
    )
