"""Readers of logs of other agents, of recorders of people, and of data sets: one module a family."""
