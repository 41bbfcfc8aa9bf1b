"""Identities: what must be measured anew after an edit, and what may be reused."""

import ast
import importlib
import sys
from pathlib import Path

import pytest

from ablations.builtin import register_measures
from ablations.identity import BESIDE, COUNTED, ENGINE, TRAINED, components_of, identity
from ablations.read_files import ReadFiles
from ablations.sources import Sources
from registry.spec import Choice
from tests.ablations.decoders import small

BITS = {"torch": "2.13.0", "device": "cpu", "dtype": "float32", "threads": "1"}
MEASURE = Choice(name="parameters", target="ablations.measures.parameters:Parameters")
CONTENT = {"norm": "layernorm", "depth": 3}


def asked(content=CONTENT, measure=MEASURE, bits=BITS, **model):
    return identity(content, small(**model), measure, bits, Sources({}), ReadFiles())


def test_the_same_question_has_the_same_identity():
    assert asked() == asked(content=dict(reversed(CONTENT.items())))


@pytest.mark.parametrize(
    "change",
    [
        {"content": {"norm": "rmsnorm", "depth": 3}},
        {"content": {"norm": "layernorm", "depth": "3"}},
        {"measure": Choice(name="parameters", target=MEASURE.target, options={"batch": 3})},
        {"measure": Choice(name="flow", target="ablations.measures.gradient_flow:GradientFlow")},
        *({"bits": {**BITS, key: "other"}} for key in BITS),
        {"d_ff": 96},
        {"norm": {"layernorm": {"eps": 1e-6}}},
        {"norm": {"layers": ["layernorm", "layernorm", "rmsnorm"]}},
        {"depth": 4},
        {"final_norm": True},
    ],
    ids=str,
)
def test_every_part_of_the_question_counts(change):
    assert asked(**change) != asked()


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A package of a stranger's with a norm; returns its folder."""
    package = tmp_path / "stranger_norms"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "norms.py").write_text("class Norm: ...\n")
    (package / "helper.py").write_text("EPS = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield package
    sys.modules.pop("stranger_norms", None)


def with_norm(target):
    architecture = small()
    import dataclasses

    layers = tuple(
        dataclasses.replace(layer, norm=Choice(name="theirs", target=target))
        for layer in architecture.layers
    )
    return dataclasses.replace(architecture, layers=layers)


def test_an_edit_anywhere_in_a_plugin_counts_for_its_cells_alone(stranger):
    def both():
        theirs = with_norm("stranger_norms.norms:Norm")
        return identity(CONTENT, theirs, MEASURE, BITS, Sources({}), ReadFiles()), asked()

    before, ours_before = both()
    assert both() == (before, ours_before)
    (stranger / "helper.py").write_text("EPS = 2\n")
    after, ours_after = both()
    assert after != before
    assert ours_after == ours_before


def test_the_baseline_that_a_measure_builds_counts(stranger):
    def against(baseline):
        return identity(CONTENT, small(), MEASURE, BITS, Sources({}), ReadFiles(), baseline)

    alone, same, other = against(None), against(small()), against(small(depth=4))
    assert alone == asked()
    assert len({alone, same, other}) == 3
    before = against(with_norm("stranger_norms.norms:Norm"))
    (stranger / "helper.py").write_text("EPS = 2\n")
    assert against(with_norm("stranger_norms.norms:Norm")) != before


def test_nothing_of_a_plugin_is_imported_for_it(stranger):
    (stranger / "__init__.py").write_text("raise SystemExit('imported')\n")
    identity(
        CONTENT, with_norm("stranger_norms.norms:Norm"), MEASURE, BITS, Sources({}), ReadFiles()
    )
    assert "stranger_norms" not in sys.modules


def test_components_are_all_that_a_decoder_is_built_from():
    names = {
        choice.name
        for choice in components_of(
            small(
                norm={"layers": ["layernorm", "rmsnorm"]},
                embedding_norm="none",
                position="rope",
                attention="mqa",
            )
        )
    }
    assert names == {
        "layernorm", "rmsnorm", "none", "gelu", "mlp", "mqa", "rope", "add", "pre", "normal",
    }  # fmt: skip


class Reading:
    """A measure whose figures depend on a text."""

    def __init__(self, *, text: str, batch: int = 1) -> None:
        self.text = text

    def files(self):
        return [Path(self.text)]


def test_the_content_of_a_file_that_a_measure_reads_counts(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("one")

    def reading(**options):
        target = f"{__name__}:Reading"
        return asked(measure=Choice(name="reading", target=target, options=options))

    before = reading(text=str(text))
    assert reading(text=str(text)) == before
    text.write_text("two")
    assert reading(text=str(text)) != before
    text.write_text("one")
    assert reading(text=str(text)) == before
    assert reading(text=str(text), batch=2) != before


ROOT = Path(__file__).parents[2]


def imports_of(module):
    """The modules of ours that one imports."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name for name in found if name and name.startswith("ablations.")}


def passed_through(*modules):
    """The modules of ours that some import, and those themselves."""
    passed, waiting = set(), set(modules)
    while waiting:
        module = waiting.pop()
        passed.add(module)
        waiting |= imports_of(module) - passed
    return passed


def test_an_identity_has_all_of_ours_that_a_figure_passes_through():
    own = {str(spec.target).partition(":")[0] for spec in register_measures()}
    assert {"ablations.measures.gradient_flow", *BESIDE} < own
    engine = {f"ablations.{module}" for module in ENGINE}
    assert engine == passed_through("ablations.trial", *own - BESIDE.keys()) - own
    for module in own:
        beside = {f"ablations.{name}" for name in BESIDE.get(module, ())}
        assert passed_through(module, "ablations.trial") - {module} - engine == beside
    for modules in (COUNTED, ENGINE, TRAINED):
        assert list(modules) == sorted(modules)
