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
        kept: Any = lru_cache(most)(function)
        longer: Any = lru_cache(max(most // _FEWER, 1))(function)
        on_forgetting(kept.cache_clear)
        on_forgetting(longer.cache_clear)
        takes_one = function.__code__.co_argcount + function.__code__.co_kwonlyargcount == 1

        def of_one(text: Any) -> _T:
            if not isinstance(text, str) or len(text) <= SHORT:
                answer: _T = kept(text)
                return answer
            return function(text) if len(text) > longest else cast(_T, longer(text))  # type: ignore[arg-type, call-arg]

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

        return cast(Callable[_P, _T], wraps(function)(of_one)) if takes_one else call

    return around


def on_forgetting(clear: Callable[[], object]) -> None:
    """Have `clear` called by `forget_texts`, for a cache of texts that is kept otherwise."""
    _forgetting.append(clear)


def forget_texts() -> None:
    """Empty every cache of texts of this process."""
    for clear in _forgetting:
        clear()
