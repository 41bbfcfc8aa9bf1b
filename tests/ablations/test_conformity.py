"""Components are held to their contracts once, and what is found stands beside every trial."""

import json

import pytest
from torch import nn

import ablations
from ablations.checking import check
from ablations.conformity import (
    Cache,
    Conformity,
    as_document,
    cell_marks,
    from_document,
)
from ablations.engine import run
from ablations.examining import Examination, conformity_of, examine
from registry import Catalog, ComponentSpec, PluginRecord, Provenance, discover
from registry.contracts import Dims, Outcome
from registry.examples import Example

HELD = Conformity(passed=True, leaks=False, n_run=20)
LEAKY = Conformity(passed=False, leaks=True, n_run=20, faults=("causality: it leaks",))
ODD = Conformity(passed=False, leaks=False, n_run=20, faults=("finite: NaN",))


class Ahead(nn.Module):
    """Each token takes from the next."""

    def __init__(self, dims) -> None:
        super().__init__()
        self.out = nn.Linear(dims.d_model, dims.d_model)

    def forward(self, x):
        return self.out(x.roll(-1, dims=1))


class Mixing(nn.Module):
    """A norm over the batch."""

    def __init__(self, dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.Linear(1, dims.d_model).bias.detach() * 0 + 1)

    def forward(self, x):
        return (x - x.mean(0, keepdim=True)) * self.weight


def catalog() -> Catalog:
    specs = (
        ComponentSpec(kind="attention", name="ahead", target=Ahead),
        ComponentSpec(kind="norm", name="mixing", target=Mixing),
    )
    named = tuple(
        ComponentSpec(
            kind=spec.kind,
            name=spec.name,
            target=spec.target,
            provenance=Provenance(distribution="strange", version="1"),
        )
        for spec in specs
    )
    record = PluginRecord(name="strange:parts", version="1", state="loaded", specs=named)
    return Catalog([*discover().plugins, record])


def grid(**factors):
    return ablations.load_grid(
        {
            "name": "marks",
            "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 16},
            "factors": factors,
            "seeds": 1,
            "measures": ["parameters", "gradient_flow"],
        },
        catalog(),
    )


def marks_of(frames):
    level = frames.cells.set_index("cell")
    factor = next(c for c in frames.cells.columns if c not in ("cell", "label"))
    rows = zip(level.loc[frames.trials["cell"], factor], frames.trials["marks"], strict=True)
    return {name: marks for name, marks in rows}  # noqa: C416


def test_a_leak_and_a_fault_are_marked_and_told(tmp_path):
    run(grid(attention=["mha", "ahead"]), tmp_path / "a", executor="inline")
    frames = ablations.open_run(tmp_path / "a").frames()
    assert marks_of(frames) == {"mha": "", "ahead": "leaks"}
    told = frames.components.set_index("name")["conformance"]
    assert told["ahead"].startswith("failed: ")
    assert "causality: " in told["ahead"]
    assert told["mha"].startswith("passed ")
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    told = "1 of 2 trials is no evidence: a component reads the future there: attention ahead"
    assert told in page

    run(grid(norm=["layernorm", "mixing"]), tmp_path / "b", executor="inline")
    assert marks_of(ablations.open_run(tmp_path / "b").frames()) == {
        "layernorm": "",
        "mixing": "nonconforming",
    }


def test_an_expected_leak_passes_and_is_marked_all_the_same(tmp_path):
    seen = {"mha": {"causal": False}}
    run(grid(attention=["mha", seen]), tmp_path, executor="inline")
    frames = ablations.open_run(tmp_path).frames()
    assert marks_of(frames) == {"mha": "", "mha(causal=false)": "leaks"}
    said = frames.components.set_index("options")["conformance"]
    (leak,) = [text for options, text in said.items() if "causal=False" in options]
    assert leak.endswith("checks, but reads the future, as expected")


def test_each_component_is_examined_once_a_version(tmp_path, monkeypatch):
    examined = []

    def examine(examination):
        examined.append((examination.kind, examination.choice.name))
        return HELD

    monkeypatch.setattr("ablations.engine.examine", examine)
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    run(grid(norm=["layernorm", "rmsnorm"]), tmp_path / "a", executor="inline")
    assert len(examined) == len(set(examined)) == 9
    run(grid(norm=["layernorm", "rmsnorm", "none"]), tmp_path / "a", executor="inline")
    assert examined[9:] == [("norm", "none")]
    run(grid(norm=["layernorm", "none"]), tmp_path / "b", executor="inline")  # from the cache
    assert len(examined) == 10
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "other"))
    run(grid(norm=["layernorm", "rmsnorm"]), tmp_path / "a", executor="inline")  # from the run
    assert len(examined) == 10
    # Other options are another component.
    wide = {"layernorm": {"eps": 0.1}}
    run(grid(norm=["layernorm", wide]), tmp_path / "a", executor="inline")
    assert len(examined) == 11


@pytest.mark.slow
def test_workers_examine_too(tmp_path, monkeypatch):
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    run(grid(norm=["layernorm", "rmsnorm"]), tmp_path / "a", workers=2)
    frames = ablations.open_run(tmp_path / "a").frames()
    assert set(frames.trials["marks"]) == {""}
    assert frames.components["conformance"].str.startswith("passed").all()
    assert len(list((tmp_path / "cache").iterdir())) == 9


def test_what_is_not_examined_yet_is_said():
    known = {"a": HELD, "b": LEAKY, "c": ODD}
    assert cell_marks(["a"], known) == ()
    assert cell_marks(["a", "b", "c", "d"], known) == ("leaks", "nonconforming", "unchecked")


class Cut(nn.Module):
    """Returns another shape than its kind must, so that most checks cannot run."""

    def __init__(self, dims) -> None:
        super().__init__()

    def forward(self, x):
        return x[..., :-1]


def test_a_run_says_what_did_not_run_as_check_does():
    record = PluginRecord(
        name="strange:parts",
        version="1",
        state="loaded",
        specs=(ComponentSpec(kind="norm", name="cut", target=Cut),),
    )
    known = Catalog([*discover().plugins, record])
    (spec,) = (s for s in known.components() if s.name == "cut")
    examination = Examination(
        key="cut",
        kind="norm",
        choice=known.choose(spec, {}),
        dims=Dims(
            d_model=32, n_heads=4, n_kv_heads=4, head_dim=8, d_ff=64, context=16, depth=2, layer=0
        ),
    )
    (checked,) = check([spec], workers=1)
    said = checked.text.splitlines()
    output = "shape: output: expected (B, T, D) = (5, 7, 60), got (B, T, 59)"
    waiting = "not run, as shape failed: 15 checks"
    assert said[0] == "norm cut: FAILED, 4 checks ran"
    assert said[-2:] == [f"  failed: {output}", f"  {waiting}"]
    assert examine(examination).text == f"failed: {output}; {waiting}"


@pytest.mark.parametrize("state", ["crashed", "timeout", "failed"])
def test_a_component_that_kills_its_examination_has_failed(state):
    found = conformity_of(Outcome(trial=None, state=state, message="died"))
    assert found.text == f"failed: the examination {state}: died"
    assert found.marks == ("nonconforming",)


def test_a_cache_keeps_what_was_found_and_no_accident(tmp_path, monkeypatch):
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    cache = Cache()
    cache.keep("k", ODD)
    cache.keep("dead", Conformity(passed=False, leaks=False, n_run=0, faults=("crashed",)))
    assert dict(cache.found(["k", "dead", "none"])) == {"k": ODD}
    (path,) = (tmp_path / "cache").iterdir()
    for damage in ("", "{}", "[]", json.dumps({"passed": True})):
        path.write_text(damage)
        assert dict(cache.found(["k"])) == {}
    path.write_text(json.dumps(as_document(ODD)))
    assert dict(cache.found(["k"])) == {"k": ODD}


def test_a_cache_that_cannot_be_written_costs_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "file" / "cache"))
    Cache().keep("k", HELD)
    assert dict(Cache().found(["k"])) == {}


def test_documents_are_plain_and_come_back():
    assert from_document(json.loads(json.dumps(as_document(LEAKY)))) == LEAKY


def test_examples_of_a_spec_tell_what_is_expected():
    (causal,) = [
        example
        for example in discover().component("attention", "mha").examples
        if example.options.get("causal") is False
    ]
    assert isinstance(causal, Example)
    assert "causality" in causal.expected_failures
