"""A small desktop of four applications as local web pages: mail, sheet, settings, files."""

from benchmarks.steps.desktop.desktop import Desktop, command_of, solve

__all__ = ["Desktop", "command_of", "solve"]
