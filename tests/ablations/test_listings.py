"""What is registered, as text: measures stand below the components, with what they cost."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Gt

from ablations.listings import component_documents, component_text, measure_text
from registry import Catalog, MeasureSpec, Metric, PluginRecord, Provenance
from tests.ablations.dummies import parts


class Probing:
    def __init__(
        self,
        *,
        steps: Annotated[int, Gt(0)],
        loss: Literal["sum", "mean"] = "mean",
        length: int | None = None,
    ) -> None: ...


def metric(name: str, *, primary: bool = False) -> Metric:
    return Metric(name=name, unit="1", summary="A number.", primary=primary)


def catalog() -> Catalog:
    theirs = Provenance(distribution="theirs", version="2.1")
    specs = (
        MeasureSpec(
            name="probing",
            target=Probing,
            mode="observing",
            summary="What a probe finds.",
            cost="one pass",
            needs="an attention with weights",
            metrics=(metric("found", primary=True), metric("lost")),
            provenance=theirs,
        ),
        MeasureSpec(
            name="absent", target="nowhere.at_all:C", mode="static", metrics=(), provenance=theirs
        ),
    )
    return Catalog([PluginRecord(name="theirs:m", version="2.1", state="loaded", specs=specs)])


def test_a_measure_is_told_with_cost_needs_options_and_metrics(capsys) -> None:  # type: ignore[no-untyped-def]
    assert measure_text(catalog()).splitlines() == [
        "measure",
        "  absent:  [theirs 2.1]",
        "      metrics: none",
        "  probing: What a probe finds. [theirs 2.1]",
        "      cost: one pass",
        "      needs: an attention with weights",
        "      steps: int > 0, required",
        "      loss: one of sum, mean, default mean",
        "      length: int or null, default null",
        "      metrics: found (primary), lost",
    ]
    assert capsys.readouterr().err == (
        "theirs/absent: nowhere.at_all:C cannot be loaded: ModuleNotFoundError: No module named "
        "'nowhere'\n"
    )


def test_documents_and_their_text_are_of_components_alone() -> None:
    documents = component_documents(parts())
    assert {document["kind"] for document in documents} >= {"norm", "attention"}
    assert "measure" not in {document["kind"] for document in documents}
    text = component_text(documents)
    assert "gradient_flow" not in text
    assert "\n\nattention\n  gqa:  [ablations 0.1]\n      n_kv_heads: int > 0, required\n" in text
