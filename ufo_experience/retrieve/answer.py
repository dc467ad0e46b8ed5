"""What a query is answered with: hits, what was kept from answering and why, and the reason when there are no hits."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

from ufo_experience.errors import names_methods
from ufo_experience.schema import Hit

Why = Literal["unproven", "quarantined", "harmful", "contradicts", "rejected", "other application"]
_NO_COMMAND: dict[str, str] = {  # what is to be known where no command releases a record
    "harmful": "it hurt more often than it helped; to look at it: ufo-experience show {id}",
    "contradicts": "another task: nothing to release",
    "rejected": "another task, says the judge: nothing to release",
    "other application": "recorded in {application}: ask for that application, or for none",
}

# What `explanation` of a hit holds, in plain words. Of words: rare ones count more, related ones less.
SIGNALS: dict[str, str] = json.loads(Path(__file__).with_name("signals.json").read_text("utf-8"))


@dataclass(frozen=True)
class Withheld:
    """A record that fits and is not served.

    `why`: `unproven` (its trust is too low), `quarantined` (imported, or set aside by somebody), `harmful` (it hurt
    more often than it helped; `score` is the one without what that cost it), `contradicts` (the task asks for the
    opposite), `rejected` (the judge says that it is another task) or `other application` (it lies outside the filter,
    and `application` says where). Opposites are told of from a score of 0.25 on, the others from the threshold;
    `unproven` and `quarantined` where nothing answers, or `near` is asked for. `release` is the command that lets it
    answer, None where no command does; `remedy` says it in words then.
    """

    id: str
    task: str
    score: float
    why: Why
    release: str | None = None
    application: str | None = None

    @property
    def remedy(self) -> str:
        """The command that releases it, or why none does."""
        application = self.application or "no application"
        return self.release or _NO_COMMAND[self.why].format(id=self.id[:8], application=application)


@names_methods
@dataclass(frozen=True)
class Retrieval(Sequence[Hit]):
    """The answer: a sequence of hits, best first, and what a caller must know about them.

    `negatives` are failed runs at the same task, `near` (on request) the best hits below the threshold, `withheld` what
    fits and is not served (see `Withheld`). `reason` says why there are no hits, and is None when there are some.
    `application` is the one that was asked for.
    """

    hits: tuple[Hit, ...] = ()
    negatives: tuple[Hit, ...] = ()
    threshold: float = 0.0
    embedder: str = ""
    degraded: str | None = None
    withheld: tuple[Withheld, ...] = ()
    reason: str | None = None
    notes: tuple[str, ...] = ()
    near: tuple[Hit, ...] = ()
    application: str | None = None

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __str__(self) -> str:
        """A line for each hit and each failed run, or why there are none."""
        lines = [str(hit) for hit in (*self.hits, *self.negatives)]
        return "\n".join(lines) if lines else f"no useful experience: {self.reason}"

    @property
    def withheld_ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.withheld)

    @property
    def withheld_why(self) -> tuple[Why, ...]:
        return tuple(one.why for one in self.withheld)


def told_withheld(withheld: Collection[Withheld]) -> str:
    """What fits and is not served, in one sentence."""
    own = [one for one in withheld if one.why != "other application"]
    if own:
        return f"what fits is withheld: {count_whys(own)}"
    names = sorted({one.application or "no application" for one in withheld})
    return f"what fits is of another application: {', '.join(names)}"


def count_whys(withheld: Iterable[Withheld]) -> str:
    """`1 harmful, 2 unproven`."""
    return ", ".join(f"{count} {why}" for why, count in sorted(Counter(one.why for one in withheld).items()))


def releases(withheld: Iterable[Withheld]) -> list[str]:
    """The commands that release something, one for all records (five at most) that the same would release."""
    ids: dict[str, list[str]] = {}
    for one in withheld:
        if one.release:
            ids.setdefault(one.release.replace(one.id[:8], "{}"), []).append(one.id[:8])
    return [command.format(" ".join(few[:5])) for command, few in ids.items()]


def told_apart(low: float, high: float) -> tuple[str, str]:
    """Two scores with as many digits, two at least and six at most, as it takes to see that they differ."""
    digits = next((digits for digits in range(2, 6) if f"{low:.{digits}f}" != f"{high:.{digits}f}"), 6)
    return f"{low:.{digits}f}", f"{high:.{digits}f}"
