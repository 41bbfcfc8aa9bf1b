"""Which installed plugins load, as the environment says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from registry import Catalog, InvalidSelection, LeftOut, UnknownName, discover
from tests.registry.plugins import FakeEntryPoint, entry, norm, outcomes, plugin


def explode() -> Any:
    raise AssertionError("imported although it is left out")


ENTRIES = {
    "built-in": entry(plugin(norm("layernorm")), "ablations", "components"),
    "first": entry(plugin(norm("first")), "My_Plugin", "one"),
    "second": entry(plugin(norm("second")), "My_Plugin", "two"),
    "other": entry(plugin(norm("third")), "other", "three"),
}


def selected(**environment: str) -> Catalog:
    return discover(ENTRIES.values(), environment=environment)


@pytest.mark.parametrize(
    ("only", "loaded"),
    [
        ("other", {"other:three"}),
        ("my-plugin", {"My_Plugin:one", "My_Plugin:two"}),
        ("MY.PLUGIN:two", {"My_Plugin:two"}),
        (" other , My_Plugin:one,", {"other:three", "My_Plugin:one"}),
        ("ablations", set()),
        ("ablations:components", set()),
    ],
)
def test_only_what_is_named_loads_beside_the_built_ins(only: str, loaded: set[str]) -> None:
    catalog = selected(ABLATIONS_PLUGINS=only)
    assert set(outcomes(catalog)) == {"ablations:components", *loaded}
    assert {plugin.name for plugin in catalog.left_out} == {
        "My_Plugin:one", "My_Plugin:two", "other:three",
    } - loaded  # fmt: skip


@pytest.mark.parametrize("value", ["1", "true", "YES"])
def test_no_plugins_leaves_the_built_ins(value: str) -> None:
    catalog = selected(ABLATIONS_NO_PLUGINS=value)
    assert set(outcomes(catalog)) == {"ablations:components"}
    by = f"ABLATIONS_NO_PLUGINS={value.lower()}"
    assert catalog.left_out == (
        LeftOut(name="My_Plugin:one", version="1.0", by=by),
        LeftOut(name="My_Plugin:two", version="1.0", by=by),
        LeftOut(name="other:three", version="1.0", by=by),
    )


@pytest.mark.parametrize(
    "environment", [{}, {"ABLATIONS_NO_PLUGINS": "0"}, {"ABLATIONS_NO_PLUGINS": ""}]
)
def test_without_a_setting_all_load(environment: Mapping[str, str]) -> None:
    catalog = selected(**environment)
    assert (len(catalog.plugins), catalog.left_out) == (4, ())


def test_no_off_goes_with_a_selection() -> None:
    catalog = selected(ABLATIONS_NO_PLUGINS="0", ABLATIONS_PLUGINS="other")
    assert set(outcomes(catalog)) == {"ablations:components", "other:three"}


def test_what_is_left_out_is_not_imported() -> None:
    points = [ENTRIES["built-in"], FakeEntryPoint(explode, distribution="loud")]
    for environment in ({"ABLATIONS_NO_PLUGINS": "1"}, {"ABLATIONS_PLUGINS": "ablations"}):
        catalog = discover(points, environment=environment)
        assert set(outcomes(catalog)) == {"ablations:components"}
    # The probe would have told.
    assert outcomes(discover(points, environment={}))["loud:plugin"] == (
        "import failed: AssertionError: imported although it is left out", [],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"ABLATIONS_PLUGINS": "othr"},
            "ABLATIONS_PLUGINS names 'othr', which is not installed; did you mean 'other'? "
            "known: My_Plugin, ablations, other",
        ),
        (
            {"ABLATIONS_PLUGINS": "other,my-plugin:tow,x"},
            "ABLATIONS_PLUGINS names 'my-plugin:tow', which is not installed; did you mean "
            "'my-plugin:two'? known: ablations:components, my-plugin:one, my-plugin:two, "
            "other:three\n"
            "ABLATIONS_PLUGINS names 'x', which is not installed; known: My_Plugin, ablations, "
            "other",
        ),
        (
            {"ABLATIONS_PLUGINS": " , "},
            "ABLATIONS_PLUGINS is empty: name plugins, as in ABLATIONS_PLUGINS=one,another, unset "
            "it, or set ABLATIONS_NO_PLUGINS=1 for the built-ins alone",
        ),
        (
            {"ABLATIONS_PLUGINS": "other", "ABLATIONS_NO_PLUGINS": "1"},
            "ABLATIONS_PLUGINS names plugins to load, and ABLATIONS_NO_PLUGINS=1 keeps all of them "
            "out: unset one",
        ),
        (
            {"ABLATIONS_NO_PLUGINS": "all"},
            "ABLATIONS_NO_PLUGINS is 1 or 0, not 'all'",
        ),
    ],
)
def test_settings_that_mean_nothing(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSelection, match=f"^{re.escape(message)}$"):
        selected(**environment)


def test_the_environment_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABLATIONS_PLUGINS", "other")
    assert set(outcomes(discover(ENTRIES.values()))) == {"ablations:components", "other:three"}


def test_an_unknown_name_tells_of_the_plugins_left_out() -> None:
    catalog = selected(ABLATIONS_PLUGINS="my-plugin:one")
    message = (
        "unknown norm 'third'; known: first, layernorm; "
        "plugins left out by ABLATIONS_PLUGINS=my-plugin:one: My_Plugin:two, other:three"
    )
    with pytest.raises(UnknownName, match=f"^{re.escape(message)}$"):
        catalog.component("norm", "third")
    message = (
        "unknown norm 'other/third': its plugin other:three is left out by "
        "ABLATIONS_PLUGINS=my-plugin:one"
    )
    with pytest.raises(UnknownName, match=f"^{re.escape(message)}$"):
        catalog.component("norm", "other/third")


def test_of_many_left_out_a_few_are_named() -> None:
    points = [entry(plugin(norm("a")), f"plugin-{i}") for i in range(6)]
    catalog = discover(points, environment={"ABLATIONS_NO_PLUGINS": "1"})
    message = (
        "unknown norm 'a'; none is known; plugins left out by ABLATIONS_NO_PLUGINS=1: "
        "plugin-0:plugin, plugin-1:plugin, plugin-2:plugin and 3 more"
    )
    with pytest.raises(UnknownName, match=f"^{re.escape(message)}$"):
        catalog.component("norm", "a")
