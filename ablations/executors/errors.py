"""What can go wrong with an executor itself, as opposed to one of its trials."""

from __future__ import annotations


class ExecutorError(RuntimeError):
    """The executor cannot go on; the trials without an outcome have not been carried out."""


class MissingMainGuard(ExecutorError):
    """A script starts worker processes without `if __name__ == "__main__":`."""

    def __init__(self) -> None:
        super().__init__(
            "worker processes import the script that starts them, and would start the run again: "
            'put the call under `if __name__ == "__main__":` '
            "(or choose the inline executor, which has no worker processes)"
        )
