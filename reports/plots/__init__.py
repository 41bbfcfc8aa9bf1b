"""Figures, one a file: a pure ``…_table`` of what is drawn, then a ``plot_…`` of that table."""
