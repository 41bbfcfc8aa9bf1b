"""What is told of handing trials out is of all of them, and none is taken long before its turn."""

from ablations.executors.local import Local
from tests.benchmarks.executing import WARM, handed_out


def test_every_trial_counts_and_few_are_taken_ahead() -> None:
    told = handed_out(Local(), trials=WARM + 50, milliseconds=0.1)
    assert told["rate"] > 0
    assert 0 <= told["ahead"] <= 2 * 2
