"""The commands, each with its arguments, its help and its answer."""
