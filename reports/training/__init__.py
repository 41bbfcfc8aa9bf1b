"""What a run's training says: which cells learn, at which learning rates, and what foretold it."""
