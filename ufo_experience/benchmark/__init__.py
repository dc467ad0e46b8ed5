"""Measures of the package: retrieval, speed, and steps saved by an agent that is handed experiences."""
