"""Machines made of Linux namespaces: each has processes, an address and a temporary folder alone.

`python -m tests.machines COUNT FOLDER -- COMMAND…` makes some, 10.0.0.1 and those that follow, and
runs a command that reaches them; they end with it, and what is left on them too. They see the files
of this machine and one another, and nothing else. Below that command, `python -m tests.machines on
NUMBER -- COMMAND…` runs one on any of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MACHINES = "TEST_MACHINES"
"""The variable that holds the machines: of each, a process that lives as long."""

OWN = ["--net", "--pid", "--mount"]
"""The kinds of namespace that a machine has of its own."""


def possible() -> bool:
    """Whether this system lets machines be made."""
    try:
        return (
            subprocess.run(_sandbox(["ip", "link"]), capture_output=True, check=False).returncode
            == 0
        )
    except OSError:
        return False


def on(number: int, command: list[str]) -> list[str]:
    """The command that runs another on a machine."""
    process = os.environ[MACHINES].split()[number]
    return ["nsenter", f"--target={process}", *OWN, f"--wd={os.getcwd()}", "--", *command]


def beside(count: int, folder: Path, command: list[str]) -> list[str]:
    """The command that makes machines and runs another; what is theirs is put into the folder."""
    return _sandbox(
        [sys.executable, "-m", "tests.machines", str(count), str(folder), "--", *command]
    )


def _sandbox(command: list[str]) -> list[str]:
    return [
        "unshare", "--map-root-user", "--net", "--pid", "--mount-proc", "--fork", "--kill-child",
        "--", *command,
    ]  # fmt: skip


def _make(count: int, folder: Path) -> None:
    """Machines on one network, called node1 and so on."""
    names = "".join(f"10.0.0.{number + 1} node{number + 1}\n" for number in range(count))
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}", encoding="utf-8")
    subprocess.run(["mount", "--bind", str(folder / "hosts"), "/etc/hosts"], check=True)
    _ip("link add switch type bridge")
    _ip("link set switch up")
    processes = []
    for _ in range(count):
        # The first process of a machine is the one that buries what others leave behind.
        first = ["bash", "-c", "sleep infinity & wait"]
        made = subprocess.Popen(
            ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", *first]
        )
        processes.append(_child(made.pid))
    os.environ[MACHINES] = " ".join(processes)
    os.environ["RAY_TMPDIR"] = str(folder)
    for number, process in enumerate(processes):
        _ip(f"link add port{number} type veth peer name wire netns {process}")
        _ip(f"link set port{number} master switch up")
        for told in (
            "link set lo up",
            f"addr add 10.0.0.{number + 1}/24 dev wire",
            "link set wire up",
        ):
            subprocess.run(on(number, ["ip", *told.split()]), check=True)


def _child(process: int) -> str:
    """The process that `unshare` has started, once it has."""
    children = Path(f"/proc/{process}/task/{process}/children")
    while True:
        found = children.read_text().split()
        if found:
            return found[0]


def _ip(told: str) -> None:
    subprocess.run(["ip", *told.split()], check=True)


if __name__ == "__main__":
    before, after = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    if before[0] == "on":
        os.execvp("nsenter", on(int(before[1]), after))
    _make(int(before[0]), Path(before[1]))
    first = os.environ[MACHINES].split()[0]
    reaching = ["nsenter", f"--target={first}", "--net", "--", *after]
    sys.exit(subprocess.run(reaching, check=False).returncode)
