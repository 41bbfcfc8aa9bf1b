"""Reading grid.yaml: text, positions, schema, factors, levels; every fault at once."""
