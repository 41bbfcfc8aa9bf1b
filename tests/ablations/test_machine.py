"""What a machine, or the cgroup of this process, lets a trial use."""

from __future__ import annotations

from pathlib import Path

import pytest

from ablations import machine
from ablations.machine import LEAST, memory_share, refusal, usable_memory


def cgroups(tmp_path: Path, memberships: str, **limits: str) -> list[int]:
    (tmp_path / "self").write_text(memberships, encoding="utf-8")
    for path, limit in limits.items():
        file = tmp_path / "fs" / path.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n", encoding="ascii")
    return list(machine._cgroup_limits(tmp_path / "self", tmp_path / "fs"))


def test_limits_of_version_2_hold_for_all_below(tmp_path: Path) -> None:
    limits = {"a__b__memory_dot_max": "max", "a__memory_dot_max": "5000"}
    assert cgroups(tmp_path, "0::/a/b\n", **limits) == [5000]


def test_limits_of_version_1_are_found(tmp_path: Path) -> None:
    (tmp_path / "fs" / "memory" / "a").mkdir(parents=True)
    (tmp_path / "fs" / "memory" / "a" / "memory.limit_in_bytes").write_text("7000\n")
    assert cgroups(tmp_path, "8:pids:/\n4:memory:/a\n0::/\n") == [7000]


def test_a_container_sees_its_own_limit_at_the_top(tmp_path: Path) -> None:
    memberships = "0::/system/of-the-host\n"
    assert cgroups(tmp_path, memberships, memory_dot_max="9000") == [9000]


def test_no_cgroup_limits_nothing(tmp_path: Path) -> None:
    assert list(machine._cgroup_limits(tmp_path / "none", tmp_path)) == []


def test_the_lowest_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = usable_memory()
    assert whole > 2**28
    monkeypatch.setattr(machine, "_cgroup_limits", lambda *_: iter([whole - 1, whole + 1]))
    assert usable_memory() == whole - 1


def test_workers_share_what_there_is_less_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_memory", lambda: 100 * 2**30)
    assert memory_share(1) == 90 * 2**30
    assert memory_share(9) == 10 * 2**30
    assert memory_share(1000) == LEAST


def test_what_may_fit_is_not_refused() -> None:
    assert refusal(2**30, 2**30) == ""
    assert refusal(2**60, None) == ""
    assert refusal(3 * 2**30, 2**30) == (
        "needs at least 3 GiB of memory, more than the 1 GiB that a trial may use: use fewer "
        "workers or a larger machine, raise memory where the grid sets it, or make the model "
        "smaller"
    )
