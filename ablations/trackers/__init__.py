"""Plugins that follow runs; each is inactive unless it is asked for."""
