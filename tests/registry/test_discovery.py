from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from registry import (
    API_VERSION,
    ComponentSpec,
    ExecutorSpec,
    MeasureSpec,
    discover,
    hookimpl,
)
from registry.clashes import BUILTIN
from tests.registry.plugins import (
    FakeEntryPoint,
    Thing,
    entry,
    found,
    norm,
    outcomes,
    plugin,
    plugin_of,
)

LOSS = MeasureSpec(name="loss", target=Thing, mode="static", metrics=())
LATER = ExecutorSpec(name="later", target=Thing)


def raising(error: BaseException) -> Callable[[], Any]:
    def raise_() -> Any:
        raise error

    return raise_


def midway() -> Iterator[ComponentSpec]:
    yield norm("first")
    raise OSError("disk\nfull")


RETURN = "hook 'register_components' must return a list of ComponentSpec"
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "import": (raising(ImportError("no\nthing")), "import failed: ImportError: no thing"),
    "exit": (raising(SystemExit(2)), "import failed: SystemExit: 2"),
    "hook": (
        lambda: plugin_of(raising(ValueError("no luck"))),
        "hook 'register_components' raised ValueError: no luck",
    ),
    "hook exits": (
        lambda: plugin_of(raising(SystemExit())),
        "hook 'register_components' raised SystemExit",
    ),
    "generator": (
        lambda: plugin_of(midway),
        "hook 'register_components' raised OSError: disk full",
    ),
    "none": (lambda: plugin_of(lambda: None), f"{RETURN}, not None"),
    "dict": (lambda: plugin_of(lambda: {"a": 1}), f"{RETURN}, not {{'a': 1}}"),
    "text": (lambda: plugin_of(lambda: "norm"), f"{RETURN}, not 'norm'"),
    "number": (lambda: plugin_of(lambda: 3), f"{RETURN}, not 3"),
    "strings": (
        lambda: plugin_of(lambda: [norm("a"), "b"]),
        f"{RETURN}; 'b' is among what it returns",
    ),
    "wrong specs": (
        lambda: plugin_of(lambda: [LATER]),
        f"{RETURN}; {LATER!r:.80} is among what it returns",
    ),
    "misspelt": (
        lambda: plugin_of(lambda: [norm("a")], "register_component"),
        "unknown hook 'register_component'; did you mean 'register_components'? known: "
        "register_components, register_executors, register_measures, run_finished, run_started, "
        "trial_finished",
    ),
    "misspelt event": (
        lambda: plugin_of(lambda: None, "trial_ended"),
        "unknown hook 'trial_ended'; did you mean 'trial_finished'? known: register_components, "
        "register_executors, register_measures, run_finished, run_started, trial_finished",
    ),
    "no hooks": (
        lambda: SimpleNamespace(register_components=lambda: [norm("a")]),
        "implements no hook (with @hookimpl); hooks: register_components, register_measures, "
        "register_executors, run_started, trial_finished, run_finished",
    ),
    "nothing": (lambda: plugin(), "registers nothing"),
    "kind": (
        lambda: plugin_of(lambda: [ComponentSpec(kind="nrom", name="a", target=Thing)]),
        "hook 'register_components': the kind of 'a' is one of norm, activation, feed_forward, "
        "attention, position, residual, placement, initializer, not 'nrom'",
    ),
    "name": (
        lambda: plugin_of(lambda: [norm("<b>")]),
        "hook 'register_components': the name of a norm is lower_snake (letters a to z, digits, "
        "underscores, a letter first), not '<b>'",
    ),
    "twice": (
        lambda: plugin(norm("a"), norm("b"), norm("a")),
        "registers norm 'a' twice",
    ),
    "later api": (
        lambda: SimpleNamespace(**vars(plugin(norm("a"))), ablations_api=API_VERSION + 1),
        f"is made for version {API_VERSION + 1} of the plugin interface, not {API_VERSION}: "
        "install a version of it, or of ablations, that fits the other",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("others", [("aaa", "zzz")])
def test_a_broken_plugin_costs_itself_alone(case: str, others: tuple[str, str]) -> None:
    load, message = BAD[case]
    before, after = others
    catalog = found(
        entry(plugin(norm("before")), before),
        FakeEntryPoint(load, distribution="mmm"),
        entry(plugin(norm("after")), after),
    )
    assert outcomes(catalog) == {
        "aaa:plugin": ("", ["before"]),
        "mmm:plugin": (message, []),
        "zzz:plugin": ("", ["after"]),
    }
    assert [record.state for record in catalog.plugins] == ["loaded", "failed", "loaded"]
    assert "\n" not in message


def test_all_broken_plugins_at_once() -> None:
    points = [
        FakeEntryPoint(load, distribution=f"bad-{i}") for i, (load, _) in enumerate(BAD.values())
    ]
    catalog = found(*points, entry(plugin(norm("tanh"))))
    assert outcomes(catalog) == {
        **{f"bad-{i}:plugin": (message, []) for i, (_, message) in enumerate(BAD.values())},
        "dyt:plugin": ("", ["tanh"]),
    }


def test_a_hook_with_arguments_is_refused_in_one_line() -> None:
    def register_components(config: object) -> list[ComponentSpec]:
        return []

    catalog = found(entry(plugin_of(register_components)))  # type: ignore[arg-type]
    (record,) = catalog.plugins
    assert record.state == "failed"
    assert record.message.startswith("PluginValidationError: Plugin ")
    assert record.message.endswith(
        "Argument(s) {'config'} are declared in the hookimpl but can not be found in the hookspec"
    )
    assert "\n" not in record.message


@pytest.mark.parametrize(
    "load", [raising(KeyboardInterrupt()), lambda: plugin_of(raising(KeyboardInterrupt()))]
)
def test_ctrl_c_is_not_a_plugins_failure(load: Callable[[], Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        found(FakeEntryPoint(load))


def test_a_plugin_may_use_every_hook_and_several_functions_and_generators() -> None:
    class Several:
        @hookimpl(specname="register_components")
        def norms(self) -> Any:
            yield norm("tanh")

        @hookimpl(specname="register_components")
        def residuals(self) -> Any:
            return (ComponentSpec(kind="residual", name="tanh", target=Thing),)

        @hookimpl
        def register_measures(self) -> Any:
            return [LOSS]

        @hookimpl
        def register_executors(self) -> Any:
            return [LATER]

    catalog = found(entry(Several()))
    assert [(spec.slot, spec.name) for spec in catalog.components()] == [
        ("norm", "tanh"),
        ("residual", "tanh"),
    ]
    assert [catalog.measure("loss").name, catalog.executor("later").name] == ["loss", "later"]


def test_a_plugin_may_follow_runs_and_register_nothing() -> None:
    heard: list[object] = []
    follower = plugin()
    follower.trial_finished = hookimpl(lambda trial: heard.append(trial))
    catalog = found(entry(follower), entry(plugin(norm("tanh")), "other"))
    assert outcomes(catalog) == {"dyt:plugin": ("", []), "other:plugin": ("", ["tanh"])}
    assert [sorted(record.follows) for record in catalog.plugins] == [["trial_finished"], []]
    catalog.plugins[0].follows["trial_finished"](run="a run", trial="a trial")
    assert heard == ["a trial"]


def test_a_plugin_that_failed_follows_nothing() -> None:
    twice = plugin(norm("a"), norm("a"))
    taken = plugin(norm("layernorm"))
    for made in (twice, taken):
        made.trial_finished = hookimpl(lambda trial: None)
    catalog = found(entry(twice), entry(taken, "z"), entry(plugin(norm("layernorm")), BUILTIN))
    assert [(record.state, dict(record.follows)) for record in catalog.plugins] == [
        ("loaded", {}),
        ("failed", {}),
        ("failed", {}),
    ]


def test_a_hook_that_follows_with_another_argument_is_refused_in_one_line() -> None:
    (record,) = found(entry(plugin_of(lambda result: None, "trial_finished"))).plugins
    assert record.message.endswith(
        "Argument(s) {'result'} are declared in the hookimpl but can not be found in the hookspec"
    )


def test_a_hook_of_another_version_may_be_marked_as_optional() -> None:
    made = plugin(norm("tanh"))
    made.register_dreams = hookimpl(optionalhook=True)(lambda: 1 / 0)
    assert outcomes(found(entry(made))) == {"dyt:plugin": ("", ["tanh"])}
    only = SimpleNamespace(register_dreams=made.register_dreams)
    assert [record.state for record in found(entry(only)).plugins] == ["failed"]


def test_a_plugin_may_state_the_version_of_the_interface() -> None:
    made = plugin(norm("tanh"))
    made.ablations_api = API_VERSION
    assert outcomes(found(entry(made))) == {"dyt:plugin": ("", ["tanh"])}


def test_each_hook_is_called_once_for_its_own_plugin() -> None:
    calls: list[str] = []

    def calling(name: str) -> Any:
        def register_components() -> list[ComponentSpec]:
            calls.append(name)
            return [norm(name)]

        return plugin_of(register_components)

    points = [entry(calling(name), name) for name in ("b", "a", "c")]
    found(*points)
    assert calls == ["a", "b", "c"]
    found(*points)  # nothing is left over from the first call
    assert calls == ["a", "b", "c"] * 2


def test_discovering_twice_gives_the_same() -> None:
    points = [entry(plugin(norm("tanh"))), FakeEntryPoint(raising(OSError()), distribution="b")]
    assert found(*points).plugins == found(*points).plugins


def test_one_plugin_under_two_entry_points_counts_once() -> None:
    made = plugin(norm("tanh"))
    catalog = found(entry(made, name="b"), entry(made, name="a"), entry(made, "zzz"))
    assert outcomes(catalog) == {
        "dyt:a": ("", ["tanh"]),
        "dyt:b": ("is the same plugin as dyt:a", []),
        "zzz:plugin": ("is the same plugin as dyt:a", []),
    }
    assert catalog.component("norm", "tanh").provenance.entry_point == "a"


def test_a_plugin_cannot_claim_to_be_another_distribution() -> None:
    spec = ComponentSpec(
        kind="norm",
        name="tanh",
        target=Thing,
        provenance=found(entry(plugin(norm("x")), BUILTIN)).components()[0].provenance,
    )
    (found_spec,) = found(entry(plugin(spec))).components()
    assert str(found_spec.provenance) == "dyt 1.0"


class Damaged:
    """Metadata of a distribution whose files are gone."""

    @property
    def name(self) -> str:
        raise KeyError("Name")


@pytest.mark.parametrize(
    "dist", [None, Damaged(), SimpleNamespace(name=None, version=None)], ids=type
)
def test_an_entry_point_without_metadata_stands_for_itself(dist: Any) -> None:
    point = SimpleNamespace(name="local", dist=dist, load=lambda: plugin(norm("tanh")))
    catalog = found(point, entry(plugin(norm("tanh"))))
    assert catalog.component("norm", "local/tanh").provenance.version == ""
    assert outcomes(catalog) == {"dyt:plugin": ("", ["tanh"]), "local:local": ("", ["tanh"])}


def test_the_built_ins_arrive_by_the_entry_point_group() -> None:
    catalog = discover()
    assert outcomes(catalog)["ablations:components"][0] == ""
    assert catalog.component("norm", "layernorm").provenance.entry_point == "components"
    assert catalog.measure("parameters").provenance.entry_point == "engine"
