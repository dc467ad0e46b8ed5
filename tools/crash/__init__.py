"""Crash, corruption and concurrency campaigns. `python -m tools.crash --help` runs them at any size."""
