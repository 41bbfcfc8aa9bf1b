"""Digests of what results come from."""

from dataclasses import replace

from ablations.store import Store
from tests.ablations.stores import PLAN


def component(name: str, **more: str) -> dict[str, str]:
    fields = {"kind": "norm", "plugin": "p", "version": "1", "options": "eps=1"}
    return {**fields, "name": name, "summary": "", "source": "", **more}


def test_code_and_identities_of_the_grid_last_run(store: Store) -> None:
    found = store.origins()
    assert found.identities == {("b", "flow"): "id-b", ("a", "flow"): "id-a"}
    assert found.code == {}
    store.begin(
        replace(
            PLAN,
            components=(
                component("x", examination="ab"),
                component("y"),
                component("z", examination=""),
            ),
            identities={("a", "flow"): "other"},
        )
    )
    again = store.origins()
    assert again.identities == {("a", "flow"): "other"}
    assert again.code == {("norm", "x", "eps=1"): "ab"}
