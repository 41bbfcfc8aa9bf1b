"""What is told of handing trials out is of all of them, and none is taken long before its turn."""

from ablations.executors.local import Local
from tests.benchmarks.ray_scheduling import WARM, handed_out


def test_every_trial_counts_and_few_are_taken_ahead() -> None:
    told = handed_out(Local(), trials=WARM + 50, milliseconds=0.1, workers=2)
    assert told["trials a second"] > 0
    assert 0 <= told["most taken ahead"] <= 2 * 2
