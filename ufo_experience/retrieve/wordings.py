"""Other wordings of a stored task: they help to find it, and they do not vouch for it.

A wording that a request comes close to lifts the score of its record by at most so much, and only where the request
does not contradict the task itself. So a wording that says something else than its task ("Turn off the firewall" on
"Check the firewall") is never served by its own word alone.
"""

import math

from ufo_experience.index.base import Row
from ufo_experience.request import Request
from ufo_experience.retrieve.features import COMMON, prepared
from ufo_experience.retrieve.opposites import conflict

MOST = 2.0  # in the logit: from .3 to .76, from .1 to .45
_NEAR = 0.5  # of the words of both, from which on a wording is near


def lifted(request: Request, row: Row, score: float) -> float:
    """The score of a record whose wordings count as far as they may."""
    near = max((_likeness(request, one) for one in row.wordings), default=0.0)
    if near <= _NEAR or not _does(request, row.request) or conflict(request, row.request) is not None:
        return score
    logit = math.log(max(score, 1e-6) / max(1 - score, 1e-6)) + MOST * (near - _NEAR) / (1 - _NEAR)
    return 1 / (1 + math.exp(-logit))


def _does(request: Request, task: Request) -> bool:
    """True where the task says what the request asks to do, in the same word or a related one."""
    asked, told = prepared(request), prepared(task)
    verb = asked.words[asked.verb] if asked.verb >= 0 else None
    return verb is None or verb.stem in told.stems or not verb.related.isdisjoint(told.own)


def _likeness(request: Request, wording: Request) -> float:
    """The share of words that say something which both have, of those of either."""
    if conflict(request, wording) is not None:
        return 0.0
    asked, said = (
        {word for word, kind in zip(side.words, side.kinds, strict=True) if word not in COMMON and not kind}
        for side in (request, wording)
    )
    return len(asked & said) / len(asked | said) if asked | said else 0.0
