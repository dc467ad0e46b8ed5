"""The tests of `ufo_experience`. Helpers are imported as `tests.<module>`, never by a bare name."""
