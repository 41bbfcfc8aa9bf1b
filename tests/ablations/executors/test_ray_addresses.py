"""A cluster that a person has started, by each of its addresses; it asks for a token."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ablations
from ablations.executors.cluster.connection import joined
from ablations.executors.errors import ExecutorError
from ablations.executors.ray import Ray
from registry.contracts import Execution
from tests import machines
from tests.ablations.executors import work
from tests.ablations.executors.nodes import Started, nodes, started
from tests.ablations.executors.watching import alive, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "tests" / "small.yaml"

WAYS = ["address", "client"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a token is."""
    path = tmp_path_factory.mktemp("home")
    (path / ".ray").mkdir()
    (path / ".ray" / "auth_token").write_text("5e" * 32, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Started]:
    with started(home) as found:
        yield found


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[object, ...]]]:
    """What the grid comes to without a cluster."""
    out = tmp_path_factory.mktemp("here")
    ablations.run(ablations.load_grid(SMALL), out, executor="inline")
    return read(out)


def read(out: Path) -> list[list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(out / "results.sqlite")) as store:
        return [sorted(store.execute(f"select * from {it}")) for it in ("metrics", "profiles")]


def command(address: str, out: Path, grid: Path = SMALL) -> list[str]:
    told = ["--executor", "ray", "--address", address, "--out", str(out)]
    return [sys.executable, "-m", "ablations", "run", str(grid), *told]


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_MODE"}
    return {**kept, "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path), **more}


@pytest.mark.parametrize("way", WAYS)
def test_figures_are_the_same_to_the_bit(
    cluster: Started, home: Path, tmp_path: Path, figures: object, way: str
) -> None:
    told = command(getattr(cluster, way), tmp_path / "out")
    ended = subprocess.run(told, env=environment(home), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Ray: 1 node, 2 CPUs; up to 2 trials at a time" in ended.stderr
    assert read(tmp_path / "out") == figures


@pytest.mark.parametrize("way", WAYS)
def test_without_the_token_that_is_told_within_seconds(
    cluster: Started, tmp_path: Path, way: str
) -> None:
    address = getattr(cluster, way)
    told = command(address, tmp_path / "out")
    empty = environment(tmp_path)
    ended = subprocess.run(told, env=empty, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr == (
        f"the Ray cluster at '{address}' asks for a token, and there is none in ~/.ray/auth_token: "
        "copy ~/.ray/auth_token from a machine of the cluster, or say where it is "
        "(RAY_AUTH_TOKEN_PATH)\n"
    )


def test_closing_the_iterator_leaves_no_process_through_rays_client(
    cluster: Started, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    paths = [tmp_path / name for name in ("a", "b")]
    trials = [(str(tmp_path / "first"), "fine"), *((str(path), "hang") for path in paths)]
    ray = Ray(address=cluster.client)
    outcomes = ray.execute(trials, work.leave_pid, Execution(workers=2))
    with contextlib.closing(outcomes):  # type: ignore[type-var]
        next(outcomes)
        wait_for(lambda: all(path.exists() and path.read_text() for path in paths))
        processes = [int(path.read_text()) for path in paths]
        assert all(map(alive, processes))
    wait_for(lambda: not any(map(alive, processes)), seconds=5)


def test_one_process_joins_clusters_that_ask_and_that_do_not_in_turn(
    cluster: Started, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setenv("HOME", str(home))
    with started(tmp_path) as unasking:
        for address in (cluster.address, unasking.address, cluster.address):
            outcomes = Ray(address=address).execute([1, 2], work.double, Execution(workers=1))
            assert {outcome.result for outcome in outcomes} == {2, 4}
            assert "RAY_AUTH_MODE" not in os.environ


@pytest.mark.parametrize("way", WAYS)
def test_whoever_joins_by_ray_itself_afterwards_sends_no_token(
    cluster: Started, home: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setenv("HOME", str(home))
    with joined(getattr(cluster, way)):
        pass
    with nodes(1):
        outcomes = Ray().execute([1, 2], work.double, Execution(workers=1))
        assert {outcome.result for outcome in outcomes} == {2, 4}


def test_a_cluster_joined_through_rays_client_is_told_from_others(
    cluster: Started, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    words = r"^this process has joined the Ray cluster at "
    with joined(cluster.client) as ray:
        with joined("auto") as same:
            assert same is ray
        with pytest.raises(ExecutorError, match=words), joined("10.0.0.2:6379"):
            pass


def test_where_the_cluster_is_lost_the_run_ends_in_words(home: Path, tmp_path: Path) -> None:
    grid = tmp_path / "grid.yaml"
    grid.write_text(SMALL.read_text(encoding="utf-8").replace("seeds: 3", "seeds: 3000"))
    logs = {way: tmp_path / f"{way}.log" for way in WAYS}
    with started(home) as cluster, contextlib.ExitStack() as opened:
        runs = {}
        for way, log in logs.items():
            told = command(getattr(cluster, way), tmp_path / way, grid)
            file = opened.enter_context(log.open("w"))
            known = environment(home, RAY_CLIENT_RECONNECT_GRACE_PERIOD="5")
            runs[way] = subprocess.Popen(
                [*told, "--workers", "1"], env=known, stdout=file, stderr=file
            )
            opened.enter_context(runs[way])
            opened.callback(runs[way].kill)
        wait_for(lambda: all(" done, " in log.read_text() for log in logs.values()), seconds=200)
        cluster.kill()
        assert {way: run.wait(timeout=200) for way, run in runs.items()} == dict.fromkeys(WAYS, 3)
    last = {way: log.read_text().splitlines()[-1] for way, log in logs.items()}
    assert last["address"] == (
        f"the Ray cluster is lost (nobody answers at {cluster.address}: [Errno 111] Connection "
        "refused); the trials left have not been run"
    )
    # Ray's client has its own words for it, which differ by what it was about.
    lost = r"the Ray cluster is lost \(ConnectionError: .+\); the trials left have not been run"
    assert re.fullmatch(lost, last["client"])


@pytest.mark.skipif(not machines.possible(), reason="this system makes no network of its own")
def test_this_machines_cluster_that_asks_for_no_token_is_joined_though_one_is_here(
    home: Path, tmp_path: Path
) -> None:
    """Ray itself would send it, and could run nothing there."""
    out = tmp_path / "out"
    script = f"""
        RAY_AUTH_MODE=disabled ray start --head --node-ip-address=node1 --num-cpus=1 \\
            --include-dashboard=false --disable-usage-stats > /dev/null || exit
        exec {" ".join(command("auto", out))}
    """
    told = machines.beside(1, machines.on(0, ["bash", "-c", script]))
    ended = subprocess.run(told, env=environment(home), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Ray: 1 node, 1 CPU; up to 1 trials at a time" in ended.stderr
