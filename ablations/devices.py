"""Where trials compute: on this machine's CPU, or on one of its GPUs."""

from __future__ import annotations

import os

from registry.errors import RegistryError

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable by which CUDA is told which GPUs there are for a process."""


class NoDevice(RegistryError, ValueError):
    """A device is asked for that is not there."""


def resolved(asked: str) -> str:
    """`cpu` or `cuda`, whatever `auto` means here. Raises: NoDevice."""
    import torch

    there = asked != "cpu" and torch.cuda.is_available()
    if asked == "cuda" and not there:
        raise NoDevice(
            "device: expected a GPU that torch can use with CUDA, and there is none here; "
            "choose cpu or auto"
        )
    return "cuda" if there else "cpu"


def spelt(device: str) -> str:
    """A resolved device as a report tells it: `cpu`, or `cuda NVIDIA H200`."""
    import torch

    return device if device == "cpu" else f"{device} {torch.cuda.get_device_name(0)}"


def gpus(device: str) -> tuple[str, ...]:
    """The GPUs that trials on a resolved device share, by the names that CUDA is told."""
    if device == "cpu":
        return ()
    import torch

    given = os.environ.get(VISIBLE)
    names = given.split(",") if given else map(str, range(torch.cuda.device_count()))
    return tuple(names)


def out_of_memory() -> str:
    """What is said of a trial for which its GPU's memory was not enough, in figures."""
    import torch

    sizes = (torch.cuda.max_memory_allocated(), *torch.cuda.mem_get_info())
    held, free, whole = (f"{size / 2**30:.3g} GiB" for size in sizes)
    return (
        f"out of memory on {spelt('cuda')}: it held {held} at most, and {free} of {whole} are "
        "free: give it a larger share of a GPU, or make the batch or the model smaller"
    )
