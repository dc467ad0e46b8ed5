"""`re` with a `compile` that waits: a pattern is compiled when a text is first looked at.

To be imported as `from ufo_experience.text import lazy_re as re`. The patterns of this package take a fifth of the
processor time of a process that asks one question, which uses one in three of them. A pattern that cannot be compiled
is found by `tests/test_regular_expressions.py`, which compiles them all.
"""

from __future__ import annotations

import re
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    Match,
    Pattern,
    escape,
    findall,
    finditer,
    fullmatch,
    search,
    split,
    sub,
)  # fmt: skip
from typing import Any, AnyStr, cast

__all__ = [
    "ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "Lazy", "Match", "Pattern",
    "compile", "escape", "findall", "finditer", "fullmatch", "search", "split", "sub",
]  # fmt: skip
_METHODS = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "search", "split", "sub", "subn",
)  # fmt: skip


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """What `re.compile` returns, but for `isinstance`; errors of the pattern are raised at the first use."""
    return cast("Pattern[AnyStr]", Lazy(pattern, flags))


class Lazy:
    """A pattern that was not used yet; its methods are those of the compiled one from the first use on."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    @property
    def compiled(self) -> Pattern[Any]:
        """The pattern itself."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Compile, and keep the methods at hand. Raises `AttributeError` for what no pattern has."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = self.compiled
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return self.__dict__[name]
