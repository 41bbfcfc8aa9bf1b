"""A run that is killed again and again finds what one finds that was left alone, to the bit."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.ablations.killing import GRID, N_TRIALS, Driver, Killed, everything, run_and_kill

WHOM = ("driver", "worker", "group")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The grid, and all that it finds when nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    grid = folder / "grid.yaml"
    grid.write_text(GRID)
    driver = Driver(grid, folder / "run", workers=1)
    assert driver.wait() == 0, driver.told.read_text()
    return grid, everything(folder / "run")


def kill_and_compare(
    undisturbed: tuple[Path, dict[str, Any]], folder: Path, *, kills: int, seed: int
) -> list[Killed]:
    """Runs that are killed until there have been so many kills; each is compared when it ends."""
    grid, reference = undisturbed
    dice = random.Random(seed)
    whom = [WHOM[n % len(WHOM)] for n in range(kills)]
    rounds = []
    while whom:
        out = folder / f"run{len(rounds)}"
        rounds.append(run_and_kill(grid, out, dice, whom=whom))
        assert everything(out) == reference, rounds
        assert not (out / "checkpoints").exists()
    return rounds


def test_the_reference_holds_something_of_each_kind(undisturbed: Any) -> None:
    _, reference = undisturbed
    assert {row[3] for row in reference["trials"]} == {"done"}
    assert len(reference["known"]) == len(set(reference["known"])) == 4 * N_TRIALS
    names = {row[2] for kind in ("metrics", "profiles") for row in reference[kind]}
    assert {"training.final_loss", "gradient_flow.embedding", "parameters.total"} <= names
    assert len(reference["arrays"]) >= N_TRIALS


@pytest.mark.slow
def test_one_and_two_workers_find_the_same(undisturbed: Any, tmp_path: Path) -> None:
    grid, reference = undisturbed
    assert Driver(grid, tmp_path / "run", workers=2).wait() == 0
    assert everything(tmp_path / "run") == reference


@pytest.mark.slow
def test_of_two_runs_at_once_one_is_refused(undisturbed: Any, tmp_path: Path) -> None:
    grid, reference = undisturbed
    drivers = [Driver(grid, tmp_path / "run", told=tmp_path / name) for name in ("a", "b")]
    ended = sorted((driver.wait(), driver.told.read_text(), driver.pid) for driver in drivers)
    (done, _, holder), (refused, told, _) = ended
    assert (done, refused) == (0, 3)
    # Which one is first is chance, and it may not have written who it is yet.
    assert re.fullmatch(
        rf"(process {holder}|another process) carries out a run in {tmp_path}/run: wait for it, "
        r"or choose another directory\n",
        told,
    )
    assert everything(tmp_path / "run") == reference


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [12])
def test_kills_at_random_moments_lose_and_bend_nothing(
    undisturbed: Any, tmp_path: Path, kills: int
) -> None:
    rounds = kill_and_compare(undisturbed, tmp_path, kills=kills, seed=1)
    assert sum(len(round.kills) for round in rounds) == kills


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_and_bend_nothing(undisturbed: Any, tmp_path: Path) -> None:
    rounds = kill_and_compare(undisturbed, tmp_path, kills=200, seed=2)
    assert sum(len(round.kills) for round in rounds) == 200
