"""Behind `ablations.store`: schema, lock, rows, frames."""
