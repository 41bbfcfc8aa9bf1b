"""`check`: every component in a worker of its own, told one by one."""

import json
import os

import pytest
from torch import nn

from ablations.checking import check, chosen, summary
from ablations.cli import run_command_line
from registry import Catalog, ComponentSpec, PluginRecord, Provenance, UnknownName, discover
from registry.examples import Example


class Dying(nn.Module):
    def __init__(self, dims) -> None:
        super().__init__()

    def forward(self, x):
        os._exit(3)


class Scaling(nn.Module):
    def __init__(self, dims, *, factor: float = 2.0) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def spec(name, target, kind="norm", distribution="strange", **more):
    return ComponentSpec(
        kind=kind,
        name=name,
        target=target,
        provenance=Provenance(distribution=distribution, version="1"),
        **more,
    )


def catalog(*specs):
    record = PluginRecord(name="strange:parts", version="1", state="loaded", specs=specs)
    return Catalog([*discover().plugins, record])


def test_names_choose_and_nothing_chooses_all():
    known = catalog(spec("scaling", Scaling))
    assert [s.name for s in chosen(known, ["scaling"])] == ["scaling"]
    assert [s.name for s in chosen(known, ["strange/scaling"])] == ["scaling"]
    assert sorted(s.kind for s in chosen(known, ["none", "ablations/none"])) == [
        "norm",
        "position",
        "residual",
    ]
    assert len(chosen(known, [])) == len(tuple(known.components()))
    with pytest.raises(UnknownName, match=r"^no component is named 'scalin'; did you mean"):
        chosen(known, ["scaling", "scalin"])


def test_one_that_dies_costs_its_own_checks():
    examples = (
        Example(),
        Example(options={"factor": 0.5}),
        Example(options={"factor": 3.0}, expected_failures={"finite": "never"}),
    )
    specs = (spec("dying", Dying), spec("scaling", Scaling, examples=examples))
    dead, alive = check(specs, workers=2)
    assert not dead.passed
    assert [c["name"] for c in dead.checks] == ["all"]
    assert dead.checks[0]["message"].startswith("the checks crashed: ")
    names = [c["name"] for c in alive.checks]
    assert {"finite", "finite (factor=0.5)", "finite (factor=3.0)"} <= set(names)
    (unexpected,) = [c for c in alive.checks if c["outcome"] == "unexpected pass"]
    assert unexpected["name"] == "finite (factor=3.0)"
    assert not alive.passed
    assert summary([dead, alive]) == (
        f"2 components, {alive.n_run} checks ran, failed: norm dying, norm scaling"
    )


def test_the_command_prints_one_document(capsys):
    assert run_command_line(["check", "relu", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert list(document) == ["kind", "name", "passed", "checks"]
    assert (document["kind"], document["name"], document["passed"]) == ("activation", "relu", True)
    assert {tuple(check) for check in document["checks"]} == {("name", "outcome", "message")}


def test_the_command_says_how_many_checks_ran_and_what_is_unknown(capsys):
    assert run_command_line(["check", "relu"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("activation relu: passed, ")
    assert out.rstrip().endswith("checks ran, all passed")
    assert run_command_line(["check", "rlu"]) == 2
    assert "did you mean 'relu'?" in capsys.readouterr().err
