"""Machines made of Linux namespaces: each has processes and an address of its own.

`python -m tests.machines COUNT -- COMMAND…` runs a command beside some that it makes, node1 and so
on; they end with it, and what is left on them too. `python -m tests.machines on NUMBER -- COMMAND…`
runs one on any of them, from 0, below such a command. Machines see the files of this one and one
another, and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

MACHINES = "TEST_MACHINES"
"""The variable that holds the machines: of each, a process that lives as long."""


def possible() -> bool:
    """Whether this system lets machines be made."""
    try:
        tried = subprocess.run(_alone(["ip", "link"]), capture_output=True, check=False)
    except OSError:
        return False
    return tried.returncode == 0


def beside(count: int, command: list[str]) -> list[str]:
    """The command that makes machines and runs another, which uses the network of the first."""
    return _alone([sys.executable, "-m", "tests.machines", str(count), "--", *command])


def on(number: int, command: list[str]) -> list[str]:
    """The command that runs another on a machine, below one that has made it."""
    return [sys.executable, "-m", "tests.machines", "on", str(number), "--", *command]


def _alone(command: list[str]) -> list[str]:
    """The command that runs another with a network and processes of its own, which end with it."""
    own = ["--map-root-user", "--net", "--pid", "--mount-proc"]
    return ["unshare", *own, "--fork", "--kill-child", "--", *command]


def _entering(number: int, kinds: list[str], command: list[str]) -> list[str]:
    process = os.environ[MACHINES].split()[number]
    return ["nsenter", f"--target={process}", *kinds, f"--wd={os.getcwd()}", "--", *command]


def _entered(number: int, command: list[str]) -> list[str]:
    return _entering(number, ["--net", "--pid", "--mount"], command)


def _make(count: int, folder: Path) -> None:
    names = "".join(f"10.0.0.{number + 1} node{number + 1}\n" for number in range(count))
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}", encoding="utf-8")
    _do(f"mount --bind {folder / 'hosts'} /etc/hosts")
    _do("ip link add switch type bridge")
    _do("ip link set switch up")
    processes = []
    for _ in range(count):
        # The first process of a machine buries what others leave behind.
        made = subprocess.Popen(_alone(["bash", "-c", "sleep infinity & wait"]))
        processes.append(_child(made.pid))
    os.environ[MACHINES] = " ".join(processes)
    for number, process in enumerate(processes):
        _do(f"ip link add port{number} type veth peer name wire netns {process}")
        _do(f"ip link set port{number} master switch up")
        _do("ip link set lo up", on=number)
        _do(f"ip addr add 10.0.0.{number + 1}/24 dev wire", on=number)
        _do("ip link set wire up", on=number)


def _child(process: int) -> str:
    """The process that `unshare` has started, once it has."""
    children = Path(f"/proc/{process}/task/{process}/children")
    while not (found := children.read_text(encoding="utf-8").split()):
        pass
    return found[0]


def _do(told: str, *, on: int | None = None) -> None:
    command = told.split()
    subprocess.run(command if on is None else _entered(on, command), check=True)


if __name__ == "__main__":
    separator = sys.argv.index("--")
    before, after = sys.argv[1:separator], sys.argv[separator + 1 :]
    if before[0] == "on":
        os.execvp("nsenter", _entered(int(before[1]), after))
    # Ray's sockets lie deep in its folder, and may not have long names.
    with tempfile.TemporaryDirectory() as made_in:
        os.environ["RAY_TMPDIR"] = made_in
        _make(int(before[0]), Path(made_in))
        # With a view of all processes, so that it can enter the other machines too.
        sys.exit(subprocess.run(_entering(0, ["--net"], after), check=False).returncode)
