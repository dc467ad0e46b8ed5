"""Experience memory for UI agents. Public names in pipeline order, loaded when first used."""
