"""How many workers carry a run out, and whether more threads would use what they leave idle."""

from __future__ import annotations

from dataclasses import dataclass

from ablations.machine import memory_share, usable_cores


@dataclass(frozen=True, kw_only=True)
class Workers:
    """So many worker processes of so many threads; `because` says why, `hint` what would help."""

    number: int
    threads: int
    because: str
    hint: str = ""

    def __str__(self) -> str:
        workers = "1 worker" if self.number == 1 else f"{self.number} workers"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{workers} of {threads}: {self.because}"


def chosen_workers(*, trials: int, threads: int, needed: int = 0) -> Workers:
    """As many as keep the cores busy, as there are trials, and as there is memory for.

    A trial computes with the `threads` that the grid says, on which its bits depend; with one a
    trial, two workers get more done than one worker of two threads at every size measured
    (docs/speed.md). `needed` are the bytes of memory that the largest trial needs at least.
    """
    cores = usable_cores()
    number, because = max(1, cores // threads), _of_cores(cores, threads)
    while number > 1 and memory_share(number) < needed:
        number -= 1
        because = "memory holds no more of the largest trial at once"
    fits = memory_share(number) >= needed
    if not fits:
        because = "memory does not hold the largest trial even alone"
    if trials < number:
        number, because = max(1, trials), "as many as there are trials"
    idle = cores - number * threads
    hint = ""
    if fits and idle > 0 and cores // number > threads:
        hint = (
            f"{idle} of {cores} cores stay idle: `threads: {cores // number}` in the grid would "
            "use them, and measure all of it with other bits"
        )
    return Workers(number=number, threads=threads, because=because, hint=hint)


def _of_cores(cores: int, threads: int) -> str:
    if threads == 1:
        return "one a core"
    return f"as {cores} cores are enough for" if cores >= threads else "at least one"
