"""What the built-in measures say of themselves, importable without torch."""
