"""Runs on three Ray nodes: what they find, and that nothing is left of one that was stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ablations
from registry.errors import InvalidOptions
from tests.ablations.executors.nodes import Nodes, nodes
from tests.ablations.executors.watching import wait_for
from tests.ablations.killing import GRID, N_TRIALS, Driver, everything, recorded

slow = pytest.mark.slow

WIRED = Path(__file__).parents[1] / "plugins" / "wired.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes(2) as started:
        yield started


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The grid, and all that local workers find."""
    folder = tmp_path_factory.mktemp("undisturbed")
    grid = folder / "grid.yaml"
    grid.write_text(GRID)
    driver = Driver(grid, folder / "run", workers=1)
    assert driver.wait() == 0, driver.told.read_text()
    return grid, everything(folder / "run")


def driver_of(cluster: Nodes, grid: Path, out: Path) -> Driver:
    return Driver(grid, out, options=["--executor", "ray", "--address", cluster.address])


def none_left(cluster: Nodes) -> None:
    """Every node is idle again, and no process of a trial is left on this machine."""
    wait_for(lambda: cluster.ray.available_resources().get("CPU") == 2.0)

    def spawned() -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment = (entry / "environ").read_bytes()
                    command = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if b"spawn_main" in command and b"RAY_JOB_ID" in environment:
                    found.append(entry.name)
        return found

    wait_for(lambda: not spawned())


@slow
def test_a_grid_finds_what_it_finds_on_local_workers_to_the_bit(
    cluster: Nodes, undisturbed: Any, tmp_path: Path
) -> None:
    grid, reference = undisturbed
    driver = driver_of(cluster, grid, tmp_path / "run")
    assert driver.wait() == 0, driver.told.read_text()
    assert everything(tmp_path / "run") == reference
    told = driver.told.read_text().splitlines()
    assert "Ray: 3 nodes, 2 CPUs; up to 2 trials at a time" in told
    none_left(cluster)


def end(cluster: Nodes, grid: Path, out: Path, number: int) -> int:
    """Begin a run and send its driver a signal in the middle; its exit status."""
    driver = driver_of(cluster, grid, out)
    wait_for(lambda: recorded(out) >= 2, seconds=60)
    os.kill(driver.pid, number)
    status = driver.wait()
    none_left(cluster)
    assert 2 <= recorded(out) < N_TRIALS
    return status


@slow
def test_a_run_whose_driver_is_killed_leaves_no_trial_and_is_resumed(
    cluster: Nodes, undisturbed: Any, tmp_path: Path
) -> None:
    grid, reference = undisturbed
    out = tmp_path / "run"
    assert end(cluster, grid, out, signal.SIGKILL) == -signal.SIGKILL
    assert driver_of(cluster, grid, out).wait() == 0
    assert everything(out) == reference


@slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_told_to_end_leaves_no_trial(
    cluster: Nodes, undisturbed: Any, tmp_path: Path, number: int, status: int
) -> None:
    assert end(cluster, undisturbed[0], tmp_path / "run", number) == status


@slow
def test_the_grid_says_which_executor_with_its_options(cluster: Nodes, tmp_path: Path) -> None:
    document = {
        "name": "small",
        "model": {"depth": 1, "d_model": 8, "n_heads": 2},
        "factors": {"norm": ["layernorm", "rmsnorm"]},
        "seeds": 1,
        "measures": ["parameters"],
        "executor": {"ray": {"cpus": 0.5, "in_flight": 1}},
    }
    told: list[str] = []
    ablations.run(ablations.load_grid(document), tmp_path / "run", told=told.append)
    assert told == ["Ray: 3 nodes, 2 CPUs; up to 1 trials at a time"]
    frames = ablations.open_run(tmp_path / "run").frames()
    environment = frames.environment.set_index("key")["value"]
    assert (environment["executor"], environment["workers"]) == ("ray", "1")


@slow
def test_blocks_of_strangers_are_seen_on_a_node(cluster: Nodes, tmp_path: Path) -> None:
    document = {
        "name": "blocks",
        "model": {"depth": 2, "d_model": 8, "n_heads": 2, "context": 8, "vocab_size": 16},
        "factors": {"placement": ["pre", "mix_ln", "ending"]},
        "seeds": 1,
        "measures": [{"gradient_flow": {"batch": 1}}],
    }
    asked = ablations.load_grid(document, plugins=[str(WIRED)])
    ablations.run(asked, tmp_path / "run", executor="ray", address=cluster.address)
    blocks = ablations.open_run(tmp_path / "run").frames().blocks
    first = blocks.groupby("block", sort=False).first()
    assert first[["part", "reason"]].to_dict("index") == {
        "pre": {"part": "norm", "reason": ""},
        "mix_ln, block 0": {"part": "attention", "reason": ""},
        "mix_ln, block 1": {"part": "norm", "reason": ""},
        "ending": {"part": "unseen", "reason": "its worker process ended with exit code 3"},
    }


def test_an_address_is_for_executors_that_have_one(tmp_path: Path) -> None:
    grid = ablations.load_grid(
        {"name": "a", "factors": {"norm": ["layernorm", "rmsnorm"]}, "measures": ["parameters"]}
    )
    words = r"^executor 'local' has no option 'address'; it has none$"
    with pytest.raises(InvalidOptions, match=words):
        ablations.run(grid, tmp_path / "run", address="auto")
