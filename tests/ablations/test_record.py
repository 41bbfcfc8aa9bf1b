"""What a run keeps of its plan: identities, and what explains a figure."""

import pytest

import ablations
from ablations import engine
from ablations.read_files import UnreadableFile
from ablations.record import run_plan
from ablations.trial import Measurement
from registry import (
    Catalog,
    ComponentSpec,
    Execution,
    MeasureSpec,
    Metric,
    PluginRecord,
    Profile,
    Provenance,
    discover,
)
from tests.ablations.test_engine import grid


class Letters:
    """Counts the letters of a text."""

    def __init__(self, *, text: str) -> None:
        self.text = text

    def files(self):
        return [self.text]

    def measure(self, context):
        with open(self.text) as file:
            return Measurement(metrics={"count": float(len(file.read()))})


def letters():
    """The built-ins, and a measure that reads a file."""
    provenance = Provenance(distribution="strange", version="1.0")
    spec = MeasureSpec(
        name="letters",
        target=Letters,
        mode="observing",
        metrics=(
            Metric(name="count", unit="letters", summary="How many.", scales_with="pages"),
            Metric(name="pages", unit="pages", summary="How long."),
        ),
        profiles=(
            Profile(name="row", unit="1", summary="A row.", axis="depth", scales_with="pages"),
        ),
        provenance=provenance,
    )
    record = PluginRecord(name="strange:m", version="1.0", state="loaded", specs=(spec,))
    return Catalog([*discover().plugins, record])


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


def reading(path):
    catalog = letters()
    return catalog, grid(catalog, measures=["parameters", {"letters": {"text": str(path)}}])


def test_an_edited_text_is_measured_anew_and_the_rest_reused(tmp_path):
    text = tmp_path / "text"
    text.write_text("abc")
    catalog, asked = reading(text)

    def counts():
        summary = ablations.run(asked, tmp_path / "run", executor="inline", catalog=catalog)
        metrics = ablations.open_run(tmp_path / "run").frames().metrics
        found = metrics[metrics["metric"] == "letters.count"]["value"].tolist()
        return summary.reused, summary.states, found

    assert counts() == (0, {"done": 8}, [3.0] * 8)
    assert counts() == (8, {}, [3.0] * 8)
    text.write_text("abcd")
    before = run_plan(ablations.plan(asked, catalog=catalog), executor="", execution=Execution())
    assert counts() == (0, {"done": 8}, [4.0] * 8)
    text.write_text("abc")
    after = run_plan(ablations.plan(asked, catalog=catalog), executor="", execution=Execution())
    changed = {key for key in before.identities if before.identities[key] != after.identities[key]}
    assert {measure for _, measure in changed} == {"letters"}
    assert len(changed) == 4


def test_a_text_that_is_not_there_is_told_before_anything_runs(tmp_path):
    catalog, asked = reading(tmp_path / "absent")
    with pytest.raises(UnreadableFile) as caught:
        ablations.run(asked, tmp_path / "run", executor="inline", catalog=catalog)
    assert str(caught.value) == (
        f"measure 'letters' reads {tmp_path / 'absent'}, which cannot be read: No such file or "
        "directory"
    )
    assert not (tmp_path / "run").exists()


def info(asked, catalog):
    plan = ablations.plan(asked, catalog=catalog)
    rows = run_plan(plan, executor="", execution=Execution()).metric_info
    return {(row["form"], row["metric"]): row for row in rows}


def test_what_a_figure_scales_with_is_named_in_full(tmp_path):
    (tmp_path / "text").write_text("")
    catalog, asked = reading(tmp_path / "text")
    rows = info(asked, catalog)
    assert rows["metric", "letters.count"]["scales_with"] == "letters.pages"
    assert rows["profile", "letters.row"]["scales_with"] == "letters.pages"
    assert rows["metric", "letters.pages"]["scales_with"] == ""
    ablations.run(asked, tmp_path / "run", executor="inline", catalog=catalog)
    kept = ablations.open_run(tmp_path / "run").frames().metric_info
    assert kept.set_index(["form", "metric"])["scales_with"].to_dict() == {
        key: row["scales_with"] for key, row in rows.items()
    }


def test_a_figure_states_what_it_was_computed_in_unless_shapes_tell_it(tmp_path):
    rows = info(grid(dtype="bfloat16"), discover())
    assert rows["metric", "gradient_flow.loss"]["convention"].endswith(", dtype bfloat16")
    assert "dtype" not in rows["metric", "parameters.total"]["convention"]


@pytest.mark.parametrize(
    ("model", "stated"),
    [
        ({}, []),
        ({"logit_scale": 2, "logit_softcap": 30}, ["logit_scale 2.0", "logit_softcap 30.0"]),
        ({"embedding_dim": 12}, ["embedding_dim 12"]),
    ],
)
def test_a_figure_states_what_was_done_to_embeddings_and_logits(model, stated):
    asked = grid()
    mapping = {**asked.document.data, "model": {**asked.document.data["model"], **model}}
    told = info(ablations.load_grid(mapping), discover())
    words = told["metric", "gradient_flow.loss"]["convention"].split(", ")
    assert [word for word in words if word.startswith(("logit", "embedding_dim"))] == stated


def test_a_class_that_two_plugins_register_is_told_as_each_ones(tmp_path):
    def record(owner, version):
        spec = ComponentSpec(
            kind="norm",
            name="shared",
            target="components.norms:RMSNorm",
            summary=f"As {owner} has it.",
            provenance=Provenance(distribution=owner, version=version),
        )
        return PluginRecord(name=f"{owner}:p", version=version, state="loaded", specs=(spec,))

    catalog = Catalog([*discover().plugins, record("one", "1"), record("two", "2")])
    asked = grid(catalog, factors={"norm": ["one/shared", "rmsnorm", "layernorm"]}, seeds=1)
    plan = ablations.plan(asked)
    rows = run_plan(plan, executor="", execution=Execution()).components
    told = {row["name"]: (row["plugin"], row["version"], row["summary"]) for row in rows}
    assert told["one/shared"] == ("one", "1", "As one has it.")
    assert told["rmsnorm"][0] == "ablations"


def test_the_wiring_of_each_distinct_block_is_kept(tmp_path):
    catalog = Catalog(discover().plugins)
    asked = grid(catalog, factors={"norm": ["layernorm", "rmsnorm"], "placement": ["pre", "post"]})
    ablations.run(asked, tmp_path / "run", executor="inline", catalog=catalog)
    blocks = ablations.open_run(tmp_path / "run").frames().blocks
    assert blocks["block"].to_list() == ["pre"] * 7 + ["post"] * 7
    assert blocks["call"].to_list() == [*range(1, 8)] * 2
    assert blocks["part"].to_list()[7:] == [
        "attention", "residual", "norm", "feed_forward", "residual", "norm", "out",
    ]  # fmt: skip
    assert blocks["inputs"].to_list()[7:] == ["0", "0, 1", "2", "3", "3, 4", "5", "6"]
