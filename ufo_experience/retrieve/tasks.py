"""What makes requests one task: they say the same but for values, in one application.

A value marks itself (quoted, a number, a name), or is a word that requests to computers do not know: a login, a code. A
verb at the beginning, with its capital, is none. On ten authors' sets all 218 requests that are one task with a record
are of its procedure; where any word may differ at the same place, 116 of 198 are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ufo_experience.ids import content_id
from ufo_experience.request import Request, application_key, on_forgetting, stem
from ufo_experience.retrieve.meaning import meanings
from ufo_experience.retrieve.thesaurus import thesaurus

SAME_TASK = 0.99  # how probable it is that a record of the same task helps
_WORD = re.compile(r"<\w+>|[^\W_]+(?:['’.-][^\W_]+)*")
_NAMES = re.compile(r"<name>(?: <name>)+")
_MOST_ODD = 1 / 3  # of the words of a request; where more are not known, it may be in another language


@lru_cache(maxsize=4_096)
def task_key(request: Request) -> str:
    """A short digest that all requests of one task share.

    >>> task_key(Request.parse("Lock tkent out")) == task_key(Request.parse("Lock mlopez out"))
    True
    """
    said = request.masked
    words = _WORD.findall(said)
    may_be = words[_is_verb(request, words) :]
    odd = {word for word in may_be if word[0] != "<" and word.isascii() and is_odd(word)}
    if 0 < len(odd) <= _MOST_ODD * len(words):
        said = _NAMES.sub("<name>", _WORD.sub(lambda word: "<name>" if word[0] in odd else word[0], said))
    return content_id([application_key(request.application), said])[:16]


def _is_verb(request: Request, words: Sequence[str]) -> bool:
    """True for a first word with a capital, unless the rest of a name stands behind it."""
    return request.text.lstrip()[:1].isupper() and words[1:2] != ["<name>"]


def is_odd(word: str) -> bool:
    """True for what is no word of requests to computers: a login, a code, a name in lower case."""
    own = stem(word.casefold())
    return len(own) > 2 and not thesaurus().is_known(own) and meanings().place(own) is None


on_forgetting(task_key.cache_clear)
