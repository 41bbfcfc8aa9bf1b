"""What a run is and how far it got, as the report counts it."""

from pathlib import Path

import pytest

from ablations.store import NoRun, Store
from reports.run_sections import trial_counts
from tests.ablations.stores import result


def test_it_counts_as_the_report_does(store: Store) -> None:
    store.record(result("a", 7))
    store.record(result("a", 3, state="failed", message="no"))
    store.record(result("b", 7, state="diverged"))
    overview = store.overview()
    counts = {state: n for state, n in trial_counts(store.frames()).items() if n}
    assert counts == {"done": 1, "diverged": 1, "failed": 1, "skipped": 2, "missing": 1}
    assert dict(overview.states) == counts
    assert (overview.n_trials, overview.n_missing) == (6, 1)


def test_it_says_what_was_asked_for(store: Store) -> None:
    overview = store.overview()
    assert (overview.name, overview.n_cells, overview.seeds, overview.measures) == (
        *("norms", 3, (7, 3), ("flow",)),
    )
    assert overview.factors == {"norm": ("layernorm", "rmsnorm", "none")}
    assert dict(overview.states) == {"missing": 4, "skipped": 2}


def test_a_result_of_an_edited_plugin_counts_as_not_there(store: Store) -> None:
    store.record(result("a", 7, identity="of another version"))
    assert store.overview().n_missing == 4


def test_it_is_read_while_a_run_writes(store: Store) -> None:
    store.record(result("a", 7))
    with Store.open_readonly(store.directory) as reader:
        assert reader.overview().n_missing == 3
        store.record(result("a", 3))
        assert reader.overview().n_missing == 2


def test_a_directory_in_which_nothing_was_begun(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store, pytest.raises(NoRun) as raised:
        store.overview()
    assert str(raised.value) == f"{tmp_path}: nothing has been run in this directory yet"
