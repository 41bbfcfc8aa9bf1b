"""Names that plugins cannot share; one name in two distributions is told apart by theirs."""

from __future__ import annotations

from registry import ComponentSpec
from registry.clashes import BUILTIN
from tests.registry.plugins import Thing, entry, found, norm, outcomes, plugin


def test_one_distribution_cannot_use_a_name_in_two_plugins() -> None:
    catalog = found(
        entry(plugin(norm("tanh"), norm("ball")), name="a"),
        entry(plugin(norm("tanh")), name="b"),
        entry(plugin(norm("tanh")), "other"),
    )
    message = "norm 'tanh' is registered by dyt:a and by dyt:b"
    assert outcomes(catalog) == {
        "dyt:a": (message, []),
        "dyt:b": (message, []),
        "other:plugin": ("", ["tanh"]),
    }


def test_names_of_built_ins_are_reserved_within_their_kind() -> None:
    position = ComponentSpec(kind="position", name="layernorm", target=Thing)
    catalog = found(
        entry(plugin(norm("layernorm"), norm("rmsnorm")), BUILTIN),
        entry(plugin(norm("rmsnorm"), norm("tanh"), norm("layernorm")), "aaa"),
        entry(plugin(position), "zzz"),
    )
    taken = "is built in: choose another name"
    assert outcomes(catalog) == {
        "aaa:plugin": (
            f"norm 'rmsnorm' {taken}; norm 'layernorm' {taken}",
            [],
        ),
        "ablations:plugin": ("", ["layernorm", "rmsnorm"]),
        "zzz:plugin": ("", ["layernorm"]),
    }
    assert catalog.component("norm", "layernorm").provenance.distribution == BUILTIN
    assert catalog.component("norm", f"{BUILTIN}/rmsnorm").name == "rmsnorm"
