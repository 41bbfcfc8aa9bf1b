"""Speed, in ratios of one interleaved run: `python -m tests.benchmarks`."""
