"""What every index can do: find the records whose task may be the one that is asked for.

It is made from the records of a store and can be made again at any time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import DataError
from ufo_experience.request import Request, application_key, on_forgetting
from ufo_experience.retrieve.tasks import said_in, task_key, task_key_of
from ufo_experience.schema import Experience, Trust
from ufo_experience.trust.policy import missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
Progress = Callable[[str, int, int], None]  # what, how many are done, of how many
LIMIT = 24  # candidates of each kind: a fusion of these finds .98 of the right ones among its ten best
SAME_TASK = 3  # of them that are runs of one task with one ending; `rows(task_key=…)` gives the others
SAME_SESSION = 8  # of them of one session, which gets one place: without it 100 copies leave none of two others there
CROWD = 2_000  # rows nearest to a question that are looked through for others: 384 fall to 1,500 copies, this does not
RAREST = 6  # words of a question by which rows are looked up; all of its words count in their shares
MISMATCH = "E_INDEX_MISMATCH"  # the code of vectors that cannot be compared
_K1, _B = 1.2, 0.75  # of BM25, as the literature and FTS5 have them


@dataclass(frozen=True)
class Row:
    """What an index keeps of a record: all that ranking needs, so that a question reads only the records it serves.

    `followable` is False for a success that does not say what was done to what; `task_key` is shared by the runs of
    one task and application, `request_key` by what is asked in the same words but for values; `said` is what the run
    typed, chose and took, in lower case; `digests` are those of values that were typed (placeholder → keyed digest).
    """

    id: str
    request: Request
    wordings: tuple[Request, ...]
    application: str | None
    env: str | None
    session: str
    success: bool | None
    trust: Trust
    imported: bool
    followable: bool
    created_at: datetime
    steps: int
    helped: int
    hurt: int
    streak: int
    last_success: datetime | None
    task_key: str
    request_key: str
    said: frozenset[str] = frozenset()
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The request as it was worded."""
        return self.request.text

    @property
    def to_embed(self) -> str:
        """What an embedder is asked for: the task and its other wordings, values as plain words."""
        return ". ".join(one.safe for one in (self.request, *self.wordings))

    def to_json(self) -> str:
        """What an index keeps; `row_from_json` makes the same row of it without parsing a request."""
        wordings = [one.to_json() for one in self.wordings]
        data = {**vars(self), "request": self.request.to_json(), "wordings": wordings, "said": sorted(self.said)}
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=datetime.isoformat)


@dataclass(frozen=True)
class Filter:
    """Which records may answer at all; what is None does not count. It holds before ranking: no answer comes short.

    `min_trust` is the least of own records, `min_trust_imported` of imported ones (default: the same). Quarantined
    ones take part only where the least says so. `only` are ids, `exclude_session` is a session that may not answer.
    """

    application: str | None = None
    env: str | None = None
    min_trust: Trust = Trust.QUARANTINED
    min_trust_imported: Trust | None = None
    only: frozenset[str] | None = None
    exclude_session: str | None = None

    @property
    def least(self) -> tuple[Trust, Trust]:
        """The least trust of own and of imported records."""
        return self.min_trust, self.min_trust_imported or self.min_trust


@dataclass(frozen=True)
class Candidate:
    """A record that may answer, and its shares (see `ranked`) of its task as it is and with values masked, and the
    cosine, None where there is no vector. Other wordings find a row; they count in no share.
    """

    row: Row
    words: float = 0.0
    masked: float = 0.0
    cosine: float | None = None

    @property
    def order(self) -> tuple[float, str]:
        """Sorts the best first: by the greatest of the shares, ties by id."""
        return -max(self.words, self.masked, self.cosine or 0.0), self.row.id


@dataclass
class IndexReport:
    """What `sync` did: records in the store, texts embedded now and found in the cache, requests, cost, seconds."""

    records: int = 0
    embedded: int = 0
    cached: int = 0
    requests: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class ExperienceIndex(Protocol):
    """Rows by words and by vectors. Safe to use from many threads; what the store has committed is found at once."""

    def candidates(
        self, request: Request, *, vector: Vector | None = None, filter: Filter | None = None, limit: int = LIMIT
    ) -> list[Candidate]:
        """At most `limit` rows by each of words, masked words and cosine, with all their shares, best first."""
        ...

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        """The rows of these ids (unknown ones are left out), of one task, or all of a filter; ordered by id."""
        ...

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        """The weight (idf) of each word among the trusted tasks, which no flood of other tasks changes."""
        ...

    def count(self, filter: Filter | None = None) -> int:
        """How many rows pass a filter."""
        ...

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """What `keep` was given for these keys, as far as it is there: verdicts of a judge, a calibration."""
        ...

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        """Keep small values that cost a request. They are erased with the record that `owner` names."""

    def sync(self, progress: Progress | None = None, *, thorough: bool = False) -> IndexReport:
        """Bring all in line with the store; `thorough` looks at every file, and writes what is in memory."""
        ...

    def missing(self) -> list[str]:
        """The texts that have no vector of the embedder in use yet: what `sync` would ask it for."""
        ...

    def embedder_name(self) -> str | None:
        """The embedder whose vectors were written last; None as long as there are none."""
        ...

    def rebuild(self, progress: Progress | None = None) -> IndexReport:
        """Make everything again from the records; vectors of texts that have not changed are kept."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the index, in words; empty when it is whole and of the store as it is."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""


def row_of(one: Experience) -> Row:
    """What an index keeps of a record as it is now."""
    state, usage = one.state, one.usage
    request = Request.parse(state.request or state.task, state.application)
    return Row(
        id=one.id,
        request=request,
        wordings=tuple(Request.parse(wording, state.application) for wording in state.wordings),
        application=state.application,
        env=state.env,
        session=one.provenance.session,
        success=one.outcome.success,
        trust=one.trust,
        imported=one.provenance.origin == "import",
        followable=missing(one) is None,
        created_at=one.created_at,
        steps=len(one.action.steps),
        helped=usage.helped,
        hurt=usage.hurt,
        streak=usage.streak,
        last_success=usage.last_success,
        task_key=task_key_of(one),
        request_key=task_key(request),
        said=said_in(one),
        digests=dict(one.digests),
    )


@lru_cache(8_192)
def row_from_json(text: str) -> Row:
    """The row whose `to_json` this is; those asked for lately are still in memory."""
    data = json.loads(text)
    found = {name: data[name] for name in Row.__dataclass_fields__}
    request, *wordings = (Request.from_json(one) for one in (found["request"], *found["wordings"]))
    times = {name: datetime.fromisoformat(found[name]) for name in ("created_at", "last_success") if found[name]}
    read = {"trust": Trust(found["trust"]), "said": frozenset(found["said"]), "wordings": tuple(wordings)}
    return Row(**{**found, **times, **read, "request": request})


on_forgetting(row_from_json.cache_clear)


def text_key(text: str) -> str:
    """What tells whether a vector is still of the text of its row."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def expect_length(embedder: str, given: int, kept: int | None) -> None:
    """Raise `DataError` with its cure when an embedder gives other vectors than it gave the index."""
    if kept not in (None, given):
        cure = f"run: ufo-experience index --rebuild --embedder {embedder}"
        raise DataError(f"{embedder} gives vectors of {given} numbers, the index has {kept}; {cure}", code=MISMATCH)


def length_of(embedder: Embedder) -> int:
    """The length of its vectors; one that does not say it is asked for a vector."""
    return embedder.dim or len(embedder.embed(["length"])[0])


def application_of(name: str | None) -> str:
    """An application as it is compared; zero bytes are no text to a server."""
    return application_key(name).replace("\0", "")


def env_of(name: str | None) -> str:
    """An environment as it is compared."""
    return (name or "").strip().casefold().replace("\0", "")


def compared(filter: Filter, task_key: str | None) -> dict[str, Any]:
    """What a row is compared with, by the name of what is compared; trust aside, which is another for imported rows."""
    given = {
        "application": None if filter.application is None else application_of(filter.application),
        "env": None if filter.env is None else env_of(filter.env),
        "session": filter.exclude_session or None,
        "only": filter.only,
        "task_key": task_key,
    }
    return {name: value for name, value in given.items() if value is not None}


def words_of(request: Request) -> dict[str, Sequence[str]]:
    """The words that are looked for: as they are (`raw`), and with values as marks of their kind (`masked`)."""
    return {"raw": request.words, "masked": request.masked_words}


def weights(counts: Mapping[str, int], texts: int) -> dict[str, float]:
    """The weight (idf) of words that so many of the trusted texts have."""
    known = max(texts, 1)
    return {word: math.log(1 + (max(known - count, 0) + 0.5) / (count + 0.5)) for word, count in counts.items()}


def ranked(
    found: Iterable[tuple[Row, float | None]],
    asked: Mapping[str, Sequence[str]],
    rarity: Mapping[str, Mapping[str, float]],
    average: Mapping[str, float],
) -> list[Candidate]:
    """Rows that were found with their cosine, as candidates, best first; all the rest is given by kind of words.

    A share is BM25 of a text for what is asked, by that of what is asked for itself: 0 (no word shared) to 1 (all of
    them). `rarity` has the weight of each word that is asked for, `average` is the length of a text in words.
    """

    def bm25(kind: str, text: Sequence[str]) -> float:
        length = _K1 * (1 - _B + _B * len(text) / (average[kind] or 1.0))
        counts = ((word, text.count(word)) for word in words[kind].intersection(text))
        return sum(rarity[kind][word] * count * (_K1 + 1) / (count + length) for word, count in counts)

    words = {kind: frozenset(some) for kind, some in asked.items()}
    most = {kind: bm25(kind, some) or 1.0 for kind, some in asked.items()}
    made = []
    for row, cosine in found:
        raw, masked = (min(1.0, bm25(kind, text) / most[kind]) for kind, text in words_of(row.request).items())
        made.append(Candidate(row, raw, masked, cosine))
    return sorted(made, key=lambda one: one.order)
