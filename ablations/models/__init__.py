"""A model's mapping to its architecture: components chosen, options filled in, widths."""
