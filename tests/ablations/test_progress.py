"""What a run tells while it goes on."""

import io

import pytest

from ablations.progress import Progress, duration
from ablations.resuming import Standing


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (114, "1 min 54 s"),
        (3599.7, "1 h 0 min"),
        (12000, "3 h 20 min"),
    ],
)
def test_durations_as_a_person_says_them(seconds, words):
    assert duration(seconds) == words


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Progress(stream=stream) as progress:
        progress.started(Standing(new=3))
        for state in ("done", "failed", "done"):
            progress.ended(state)
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("3/3 trials: 2 done, 1 failed, 0 left, ")


def test_a_line_tells_counts_rate_and_time_left():
    progress = Progress(stream=io.StringIO())
    progress.started(Standing(new=361))
    assert progress.line(now=5.0) == "0/361 trials: 361 left"
    progress.ended("done")
    progress.counts.update({"done": 119, "failed": 1})
    first = progress.first_ended
    assert first is not None
    told = progress.line(first + 60)
    assert told == "121/361 trials: 120 done, 1 failed, 240 left, 2 a second, 2 min 0 s to go"


def test_a_bar_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with Progress(stream=stream) as progress:
        progress.started(Standing(reused=5, new=2))
        progress.ended("done")
        progress.ended("done")
    assert "2/2 trials: 2 done, 0 left" in stream.getvalue()
    assert stream.getvalue().startswith("5 reused, 2 new\n")
