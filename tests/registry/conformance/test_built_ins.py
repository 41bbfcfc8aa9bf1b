"""Every built-in component passes every check, with its defaults and with other options."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from components import plugin
from registry import Catalog, ComponentSpec, Example, PluginRecord
from registry.conformance import check_component, check_spec

SPECS = plugin.register_components()
CATALOG = Catalog([PluginRecord(name="built-in", version="0", state="loaded", specs=tuple(SPECS))])
MORE: Mapping[tuple[str, str], list[dict[str, Any]]] = {
    ("norm", "layernorm"): [{"eps": 0.1}, {"bias": False}],
    ("norm", "rmsnorm"): [{"weight": False, "eps": 0.1}],
    ("attention", "gqa"): [{"n_kv_heads": 1}, {"n_kv_heads": 4}],
    ("position", "rope"): [{"theta": 100.0}],
    ("residual", "scaled"): [{"value": 0.5}],
    ("residual", "gated"): [{"initial": 1.0}],
    ("initializer", "normal"): [{"std": 0.1, "embedding_std": 0.5}],
}
"""Options beside those of the examples."""

UNTRIED = {
    ("attention", "gqa"): {"scale", "causal", "qkv"},  # one implementation with mha
    ("attention", "mqa"): {"qk_norm", "scale", "softcap", "causal", "qkv"},
    ("initializer", "gpt2"): {"std", "embedding_std"},
    ("initializer", "xavier"): {"embedding_std"},
    ("initializer", "kaiming_uniform"): {"embedding_std"},
}
"""Options that only the check of options itself changes."""


def label(spec: ComponentSpec) -> str:
    return f"{spec.kind}-{spec.name}"


@pytest.mark.parametrize("spec", SPECS, ids=label)
def test_a_built_in_passes_with_every_example(
    spec: ComponentSpec, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.process_time()
    reports = check_spec(spec)
    seconds = (time.process_time() - start) / len(reports)
    record_property("seconds", seconds)
    print(f"{label(spec)}: {seconds:.2f} s of the processor a report")  # shown by -rP
    for report in reports:
        assert report.passed, report.text()
    assert seconds < 10  # of the processor, whatever else it does


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        pytest.param(spec, options, id=f"{label(spec)}-{'-'.join(map(str, options.values()))}")
        for spec in SPECS
        for options in MORE.get((str(spec.kind), spec.name), [])
    ],
)
def test_a_built_in_passes_with_other_options(spec: ComponentSpec, options: dict[str, Any]) -> None:
    report = check_component(spec.kind, spec.reference, options=options)
    assert report.passed, report.text()


def test_the_options_above_are_all_there_are() -> None:
    for spec in SPECS:
        key = (str(spec.kind), spec.name)
        tried = {name for example in spec.examples for name in example.options}
        tried |= {name for options in MORE.get(key, []) for name in options}
        tried |= UNTRIED.get(key, set())
        assert tried == {option.name for option in CATALOG.options(spec)}, key


def test_an_attention_without_a_mask_leaks_as_expected() -> None:
    (spec,) = (spec for spec in SPECS if spec.name == "mha")
    reason = "kept for experiments: without a causal mask a token sees later ones"
    (example,) = (example for example in spec.examples if "causal" in example.options)
    expected = dict.fromkeys(("causality", "prefix", "weights"), reason)
    assert example == Example(options={"causal": False}, expected_failures=expected)
    report = check_component(
        "attention",
        spec.reference,
        options=example.options,
        expected_failures=example.expected_failures,
    )
    assert report.passed
    assert report.leaks
