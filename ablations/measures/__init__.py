"""The built-in measures, one file each; they reach the engine through the entry point."""
