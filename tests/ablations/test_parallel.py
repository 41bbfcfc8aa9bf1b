"""How many workers there are, and what is said where cores stay idle."""

import pytest

from ablations import parallel
from ablations.parallel import chosen_workers
from tests.ablations.test_engine import grid


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Eight cores and 80 GiB."""
    monkeypatch.setattr(parallel, "usable_cores", lambda: 8)
    monkeypatch.setattr(parallel, "memory_share", lambda workers: (80 << 30) // workers)


@pytest.mark.parametrize(
    ("trials", "threads", "needed", "told"),
    [
        (100, 1, 0, "8 workers of 1 thread: one a core"),
        (100, 2, 0, "4 workers of 2 threads: as 8 cores are enough for"),
        (100, 3, 0, "2 workers of 3 threads: as 8 cores are enough for"),
        (100, 16, 0, "1 worker of 16 threads: at least one"),
        (3, 1, 0, "3 workers of 1 thread: as many as there are trials"),
        (0, 1, 0, "1 worker of 1 thread: as many as there are trials"),
        (100, 1, 20 << 30, "4 workers of 1 thread: memory holds no more of the largest trial"),
        (
            *(100, 1, 200 << 30),
            "1 worker of 1 thread: memory does not hold the largest trial even alone",
        ),
    ],
)
def test_as_many_as_cores_memory_and_trials_allow(trials, threads, needed, told):
    workers = chosen_workers(trials=trials, threads=threads, needed=needed)
    assert str(workers).removesuffix(" at once") == told


@pytest.mark.parametrize(
    ("trials", "threads", "needed", "hint"),
    [
        (100, 1, 0, ""),
        (100, 3, 0, "2 of 8 cores stay idle: `threads: 4` in the grid would use"),
        (3, 1, 0, "5 of 8 cores stay idle: `threads: 2` in the grid would use"),
        (5, 1, 0, ""),  # two threads each would be more than there are cores
        (100, 1, 80 << 30, "7 of 8 cores stay idle: `threads: 8` in the grid would use"),
        (100, 1, 81 << 30, ""),  # no threads help what cannot run
    ],
)
def test_idle_cores_are_told_where_more_threads_would_use_them(trials, threads, needed, hint):
    found = chosen_workers(trials=trials, threads=threads, needed=needed).hint
    assert found.startswith(hint)
    assert bool(found) == bool(hint)


def test_a_run_tells_it_and_a_plan_too(tmp_path):
    import ablations

    asked = grid(factors={"norm": ["layernorm"]}, seeds=1)
    hint = (
        "7 of 8 cores stay idle: `threads: 8` in the grid would use them, and measure all of it "
        "with other bits"
    )
    lines = ablations.plan(asked).text().splitlines()
    place = lines.index("workers: 1 worker of 1 thread: as many as there are trials")
    assert lines[place + 1] == hint
    told = []
    ablations.run(asked, tmp_path / "auto", told=told.append)
    assert told == [hint]
    told.clear()
    ablations.run(asked, tmp_path / "two", workers=2, told=told.append)
    assert told == []
