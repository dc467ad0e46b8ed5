"""Mutation testing. `python -m tools.mutation --help` runs a sample of any size."""
