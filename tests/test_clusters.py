"""What docs/clusters.md says of clusters: its cluster file is Ray's, and its Slurm script runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import machines

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
(CLUSTER,) = re.findall(r"```yaml\n# cluster\.yaml\n(.*?)```", PAGE, re.DOTALL)
(SCRIPT,) = re.findall(r"```sh\n(#!/bin/bash\n.*?)```", PAGE, re.DOTALL)

SRUN = """\
#!/bin/bash
# A task on each node; since Slurm 22.05 one of a single CPU, unless the step says otherwise.
[[ " $* " == *" --cpus-per-task=$SLURM_CPUS_PER_TASK "* ]] || exit 1
while [[ $1 == --* ]]; do shift; done
for node in $(seq 0 $((SLURM_NNODES - 1))); do
    SLURM_NODEID=$node "$PYTHON" -m tests.machines on "$node" -- "$@" &
done
wait
"""

SCONTROL = """\
#!/bin/bash
[[ "$1 $2" == "show hostnames" ]] && printf '%s\\n' ${3//,/ }
"""


JOB = """\
bash job.sh > out 2> err || exit
until [ "$(grep -c 'Ray runtime started' out)" = 2 ]; do sleep 1; done
"""
"""The script, and then a look whether the second node has come, which it does not wait for."""


def start(command: str) -> dict[str, Any]:
    """What Ray reads from the arguments of its own `ray start`."""
    from ray.scripts import scripts

    words = shlex.split(command)
    place = words.index("start")
    assert words[place - 1].endswith("ray")
    return scripts.start.make_context("start", words[place + 1 :]).params


def test_the_cluster_file_is_one_by_rays_own_schema() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = prepare_config(yaml.safe_load(CLUSTER))
    validate_config(config)
    assert config["max_workers"] == len(config["provider"]["worker_ips"]) == 2


def test_a_cluster_file_with_a_slip_is_not() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    slipped = CLUSTER.replace("setup_commands", "set_up_commands")
    with pytest.raises(Exception, match="'set_up_commands' was unexpected"):
        validate_config(prepare_config(yaml.safe_load(slipped)))


def test_the_commands_of_the_cluster_file_start_a_head_that_starts_the_others() -> None:
    commands = yaml.safe_load(CLUSTER)
    *_, head = commands["head_start_ray_commands"]
    *_, worker = commands["worker_start_ray_commands"]
    port, address = start(head)["port"], commands["provider"]["head_ip"]
    assert start(head)["head"]
    assert start(head)["node_ip_address"] == address
    # Without these `ray up` starts nothing but the head, or all machines but one.
    assert "RAY_enable_autoscaler_v2=0" in head
    assert start(head)["autoscaling_config"] == "~/ray_bootstrap_config.yaml"
    assert start(worker)["address"] == f"$RAY_HEAD_IP:{port}"
    assert all(command.startswith("RAY_AUTH_MODE=token ") for command in (head, worker))
    assert f"--address {address}:{port}" in PAGE


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not machines.possible(), reason="this system makes no machines")
def test_the_slurm_script_runs_on_two_nodes(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    (tmp_path / "grid.yaml").write_bytes((ROOT / "tests" / "small.yaml").read_bytes())
    (tmp_path / "job.sh").write_text(SCRIPT, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    slurm = {
        "SLURM_JOB_ID": "123456", "SLURM_JOB_NODELIST": "node1,node2", "SLURM_NNODES": "2",
        "SLURM_CPUS_PER_TASK": "1", "SLURM_SUBMIT_DIR": str(tmp_path), "PYTHON": sys.executable,
    }  # fmt: skip
    path = [str(programs), str(Path(sys.executable).parent), kept["PATH"]]
    known = {**kept, **slurm, "HOME": str(tmp_path), "PATH": os.pathsep.join(path)}
    ended = subprocess.run(
        machines.beside(2, ["bash", "-c", JOB]),
        cwd=tmp_path,
        env={**known, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        check=False,
    )
    out, err = ((tmp_path / name).read_text(encoding="utf-8") for name in ("out", "err"))
    assert ended.returncode == 0, err
    assert "; up to 2 trials at a time\n" in err
    assert "\n12 trials: 12 done, " in err
    assert f"{tmp_path}/runs/mine/report.html\n" in out
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()
