"""Figures for notebooks and papers: each draws a table on one axes of matplotlib and returns it."""
