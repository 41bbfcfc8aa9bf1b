from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import (
    AmbiguousName,
    Catalog,
    ComponentSpec,
    ExecutorSpec,
    InvalidOptions,
    InvalidSpec,
    Kind,
    MeasureSpec,
    UnknownName,
    discover,
)
from tests.registry.plugins import Thing, entry, found, norm, plugin, plugin_of


class Scaled:
    def __init__(self, dims: object, norm: object, *, scale: float = 1.0) -> None: ...


class Plain:
    def __init__(self, *, batch: int = 2) -> None: ...


TANH = norm("tanh", Scaled)
LOSS = MeasureSpec(name="loss", target=Plain, mode="static", metrics=())
LATER = ExecutorSpec(name="later", target=Plain)


def broken() -> Any:
    raise ValueError("no luck")


@pytest.fixture
def catalog() -> Catalog:
    return found(
        entry(
            plugin(TANH, norm("ball"), ComponentSpec(kind="position", name="ball", target=Thing))
        ),
        entry(plugin_of(lambda: [LOSS], "register_measures"), "measures"),
        entry(plugin_of(lambda: [LATER], "register_executors"), "executors"),
    )


def test_entries_are_found_by_kind_and_name(catalog: Catalog) -> None:
    assert catalog.component("norm", "tanh").target == f"{__name__}:Scaled"
    assert catalog.component(Kind.POSITION, "ball").kind is Kind.POSITION
    assert catalog.component("norm", "dyt/ball").kind is Kind.NORM
    assert catalog.measure("loss").mode == "static"
    assert catalog.measure("measures/loss") == catalog.measure("loss")
    assert catalog.executor("later").provenance.distribution == "executors"


def test_entries_are_listed_in_one_order(catalog: Catalog) -> None:
    listed = [(spec.slot, spec.name) for spec in catalog.components()]
    assert listed == [("norm", "ball"), ("norm", "tanh"), ("position", "ball")]
    assert [spec.name for spec in catalog.components("norm")] == ["ball", "tanh"]
    assert catalog.components(Kind.ATTENTION) == []
    assert [spec.name for spec in catalog.measures()] == ["loss"]
    assert [spec.name for spec in catalog.executors()] == ["later"]


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_plugins_decides_nothing(order: list[str]) -> None:
    points = {name: entry(plugin(norm("tanh"), norm(name)), name) for name in order}
    one, other = found(*points.values()), found(*(points[name] for name in "abcd"))
    assert one.plugins == other.plugins
    assert one.components() == other.components()


def test_every_entry_says_where_it_comes_from(catalog: Catalog) -> None:
    for spec in (*catalog.components(), *catalog.measures(), *catalog.executors()):
        assert spec.provenance.version == "1.0"
        assert spec.provenance.entry_point == "plugin"
    assert str(catalog.component("norm", "tanh").provenance) == "dyt 1.0"
    assert str(catalog.measure("loss").provenance) == "measures 1.0"


def test_a_kind_that_does_not_exist_is_no_empty_list(catalog: Catalog) -> None:
    with pytest.raises(ValueError, match=r"^'nrom' is not a valid Kind$"):
        catalog.components("nrom")


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (
            lambda c: c.component("norm", "tahn"),
            "unknown norm 'tahn'; did you mean 'tanh'? known: ball, tanh",
        ),
        (
            lambda c: c.component("norm", "other/tanh"),
            "unknown norm 'other/tanh'; did you mean 'tanh'? known: ball, tanh",
        ),
        (lambda c: c.component("norm", "dyt/"), "unknown norm 'dyt/'; known: ball, tanh"),
        (
            lambda c: c.component("norm", "/tanh"),
            "unknown norm '/tanh'; did you mean 'tanh'? known: ball, tanh",
        ),
        (lambda c: c.component("attention", "tanh"), "unknown attention 'tanh'; none is known"),
        (lambda c: c.measure("ball"), "unknown measure 'ball'; known: loss"),
        (
            lambda c: c.executor("latr"),
            "unknown executor 'latr'; did you mean 'later'? known: later",
        ),
    ],
)
def test_an_unknown_name_lists_all_of_its_kind(catalog: Catalog, look: Any, message: str) -> None:
    with pytest.raises(UnknownName, match=f"^{re.escape(message)}$"):
        look(catalog)


def test_an_unknown_name_lists_the_plugins_that_failed() -> None:
    catalog = found(
        entry(plugin(TANH)), entry(plugin_of(broken), "b"), entry(plugin_of(lambda: None), "a")
    )
    message = (
        "unknown norm 'swallowed'; known: tanh; plugins that failed to load: "
        "a:plugin: hook 'register_components' must return a list of ComponentSpec, not None; "
        "b:plugin: hook 'register_components' raised ValueError: no luck"
    )
    with pytest.raises(UnknownName, match=f"^{re.escape(message)}$"):
        catalog.component("norm", "swallowed")
    assert catalog.component("norm", "tanh").name == "tanh"


def test_two_plugins_of_one_name_are_ambiguous_only_where_it_is_used() -> None:
    catalog = found(
        entry(plugin(TANH, norm("ball")), "my-one"), entry(plugin(norm("tanh")), "Other_One")
    )
    message = "norm 'tanh' is registered by several plugins; write Other_One/tanh or my-one/tanh"
    with pytest.raises(AmbiguousName, match=f"^{re.escape(message)}$"):
        catalog.component("norm", "tanh")
    assert catalog.component("norm", "ball").name == "ball"
    mine = catalog.component("norm", "my-one/tanh")
    assert mine.target == f"{__name__}:Scaled"
    # A distribution has one name however its dashes and capitals are written.
    theirs = catalog.component("norm", "other-one/tanh")
    assert theirs.provenance.distribution == "Other_One"
    assert catalog.choose(mine, {}).name == "my-one/tanh"
    assert catalog.choose(theirs, {}).name == "Other_One/tanh"
    assert catalog.choose(catalog.component("norm", "ball"), {}).name == "ball"


def test_one_name_in_two_kinds_is_not_ambiguous(catalog: Catalog) -> None:
    chosen = catalog.choose(catalog.component("position", "ball"), {})
    assert chosen.name == "ball"


def test_a_choice_holds_every_option_and_what_was_given(catalog: Catalog) -> None:
    spec = catalog.component("norm", "tanh")
    given, default = catalog.choose(spec, {"scale": 2}), catalog.choose(spec, {})
    assert (given.options, set(given.given), given.label) == (
        {"scale": 2.0},
        {"scale"},
        "tanh(scale=2.0)",
    )
    assert (default.options, set(default.given), default.label) == ({"scale": 1.0}, set(), "tanh")
    assert given.load() is Scaled
    assert catalog.signature(spec).makers == ("norm",)
    assert [option.name for option in catalog.options(spec)] == ["scale"]


def test_measures_and_executors_have_options_and_take_no_dims(catalog: Catalog) -> None:
    assert catalog.choose(catalog.measure("loss"), {}).options == {"batch": 2}
    assert catalog.choose(catalog.executor("later"), {"batch": 3}).options == {"batch": 3}


def test_faults_in_options_name_the_entry(catalog: Catalog) -> None:
    message = "norm 'tanh' has no option 'scal'; did you mean 'scale'? known: scale"
    with pytest.raises(InvalidOptions, match=f"^{re.escape(message)}$"):
        catalog.choose(catalog.component("norm", "tanh"), {"scal": 1})
    message = "option 'batch' of measure 'loss' must be int, not 'two'"
    with pytest.raises(InvalidOptions, match=f"^{re.escape(message)}$"):
        catalog.choose(catalog.measure("loss"), {"batch": "two"})


def test_a_broken_target_is_found_out_when_it_is_used_and_hurts_no_other() -> None:
    catalog = found(entry(plugin(TANH, norm("gone", "absent_module:Gone"))))
    gone = catalog.component("norm", "gone")
    message = (
        "absent_module:Gone cannot be loaded: ModuleNotFoundError: No module named 'absent_module'"
    )
    for use in (catalog.options, catalog.signature, lambda spec: catalog.choose(spec, {})):
        with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
            use(gone)
    assert catalog.choose(catalog.component("norm", "tanh"), {}).load() is Scaled


def test_a_catalog_travels_between_processes(catalog: Catalog) -> None:
    copy = pickle.loads(pickle.dumps(catalog))
    assert copy.plugins == catalog.plugins
    assert copy.components() == catalog.components()


def test_an_empty_catalog_knows_nothing() -> None:
    catalog = discover([])
    assert (catalog.plugins, catalog.components()) == ((), [])
    with pytest.raises(UnknownName, match=r"^unknown norm 'tanh'; none is known$"):
        catalog.component("norm", "tanh")
