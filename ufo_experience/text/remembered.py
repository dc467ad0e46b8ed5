"""Answers about texts that come again and again: kept within bounds, and forgotten when texts are purged.

A cache of the standard library counts entries, not characters, and keeps what users wrote as long as the process lives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

LONGEST = 1_024  # characters of the arguments of one call; what is longer is computed anew
SHORT = 128  # characters; of longer ones a sixteenth as many are kept, so that a cache is bounded in bytes
_FEWER = 16
_P = ParamSpec("_P")
_T = TypeVar("_T")
_forgetting: list[Callable[[], object]] = []


def remembered(most: int, longest: int = LONGEST) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Keep the last `most` answers of a function of short texts, fewer of longer ones, none beyond `longest`."""

    def around(function: Callable[_P, _T]) -> Callable[_P, _T]:
        if function.__code__.co_argcount + function.__code__.co_kwonlyargcount == 1:
            return cast(Callable[_P, _T], _Answers(function, most, longest).__getitem__)
        kept: Any = lru_cache(most)(function)
        longer: Any = lru_cache(max(most // _FEWER, 1))(function)
        on_forgetting(kept.cache_clear)
        on_forgetting(longer.cache_clear)

        @wraps(function)
        def call(*texts: _P.args, **more: _P.kwargs) -> _T:
            cache = kept
            for text in texts:
                if text and isinstance(text, str) and len(text) > SHORT:
                    if len(text) > longest:
                        return function(*texts, **more)
                    cache = longer
            answer: _T = cache(*texts, **more)
            return answer

        return call

    return around


class _Answers(dict[Any, Any]):
    """The answers of a function of one text: `answers[text]` is a look into a dict, and a call only for a new text.

    There are two halves. When the younger one is full it becomes the older, from where what is asked for comes back.
    """

    def __init__(self, function: Callable[..., Any], most: int, longest: int) -> None:
        super().__init__()
        self._function, self._half, self._longest = function, max(most // 2, 1), longest
        self._older: dict[Any, Any] = {}
        self._longer: Any = lru_cache(max(most // _FEWER, 1))(function)
        on_forgetting(self._forget)

    def __missing__(self, text: Any) -> Any:
        if isinstance(text, str) and len(text) > SHORT:
            return self._function(text) if len(text) > self._longest else self._longer(text)
        answer = self._older.get(text, self)
        if answer is self:
            answer = self._function(text)
        if len(self) >= self._half:
            self._older = self.copy()
            self.clear()
        self[text] = answer
        return answer

    def _forget(self) -> None:
        self._older = {}
        self.clear()
        self._longer.cache_clear()


def on_forgetting(clear: Callable[[], object]) -> None:
    """Have `clear` called by `forget_texts`, for a cache of texts that is kept otherwise."""
    _forgetting.append(clear)


def forget_texts() -> None:
    """Empty every cache of texts of this process."""
    for clear in _forgetting:
        clear()
