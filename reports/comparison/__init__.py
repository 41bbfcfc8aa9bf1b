"""Two runs side by side: what changed between them, and which effects moved beyond noise."""
