"""A small desktop of four applications as local web pages: mail, sheet, settings, files."""

from ufo_experience.benchmark.steps.desktop.desktop import Desktop, solve

__all__ = ["Desktop", "solve"]
