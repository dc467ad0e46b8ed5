"""Crash, corruption and concurrency campaigns. `python -m tests.crash --help` runs them at any size."""
