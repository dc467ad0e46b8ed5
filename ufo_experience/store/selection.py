"""Which records of a store are meant, what a change did to them, and what there is to choose from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from difflib import get_close_matches
from typing import Literal

from ufo_experience.errors import FIELDS_OF, NotFoundError, UsageError, names_arguments
from ufo_experience.ids import is_id
from ufo_experience.redact.run import texts_in
from ufo_experience.redact.secrets import is_spaceless
from ufo_experience.request import application_key, find_whole
from ufo_experience.schema import Experience, Provenance, Trust, expect, readable_name
from ufo_experience.store.base import ExperienceStore, check_expected
from ufo_experience.trust.risk import risks

_TOLD = 10  # records of a report
MIN_PREFIX = 4  # digits of an id that must be given


@names_arguments
@dataclass(frozen=True)
class RecordFilter:
    """Which records are meant; what is given must all hold, what is None does not count.

    `expected` maps ids to the `fingerprint` of the record as the caller saw it: where one is another by now none is
    changed (`ConflictError`).
    """

    ids: tuple[str, ...] = ()  # or the beginnings of them (at least 4 digits); one that fits no record is an error
    all: bool = False  # every record; without it a change needs at least one other field
    source: str | None = None  # the file, a folder above it, or the session a record came from
    application: str | None = None  # process and product names are one ("OUTLOOK.EXE", "Outlook")
    success: bool | Literal["unknown"] | None = None  # "unknown": nobody has judged the run
    trust: Trust | str | None = None  # exactly this level
    risk: bool | str | None = None  # with a risky step, without one, or with this kind ("asks first", "address")
    search: str | None = None  # words that all stand in a record, whatever field they stand in
    since: datetime | str | None = None  # made at this time or later, also as 2025-11-12; without a time zone it is UTC
    expected: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.ids, str) or not all(isinstance(one, str) for one in self.ids):
            raise UsageError(f"ids is a list of texts, not {self.ids!r}")
        if self.success not in (None, "unknown") and not isinstance(self.success, bool):
            raise UsageError(f"success is True, False or 'unknown', not {self.success!r}")
        if self.since is not None:
            since = expect(datetime, moment(self.since) if isinstance(self.since, str) else self.since, "since")
            object.__setattr__(self, "since", since if since.tzinfo else since.replace(tzinfo=timezone.utc))
        if self.trust is not None:
            object.__setattr__(self, "trust", trust_level(self.trust))

    @property
    def is_empty(self) -> bool:
        """True when nothing says which records are meant."""
        return self == RecordFilter(expected=self.expected)

    def admits(self, one: Experience) -> bool:
        """True for a record that has everything asked for; `ids` are not looked at."""
        application = application_key(one.state.application)
        outcome = "unknown" if one.outcome.success is None else one.outcome.success
        return (
            (self.source is None or _matches_source(one.provenance, self.source))
            and (self.application is None or application == application_key(self.application))
            and self.success in (None, outcome)
            and self.trust in (None, one.trust)
            and (not isinstance(self.since, datetime) or one.created_at >= self.since)
            and (self.search is None or holds_words(searched(one), self.search))
            and (self.risk is None or _at_risk(one, self.risk))
        )


FIELDS_OF["where"] = vars(RecordFilter())


class ChangeReport(tuple[Experience, ...]):
    """The records a change was about, as they are now (what is gone: as it was)."""

    left_out: tuple[tuple[str, str], ...]  # ids that fit the filter and were not changed, and why
    dry_run: bool  # nothing was changed

    def __new__(
        cls, records: Iterable[Experience] = (), left_out: Iterable[tuple[str, str]] = (), dry_run: bool = False
    ) -> ChangeReport:
        report = super().__new__(cls, records)
        report.left_out, report.dry_run = tuple(left_out), dry_run
        return report

    def __repr__(self) -> str:
        tasks = "".join(f"\n  {one.id[:8]} {one.state.request or one.state.task:.60}" for one in self[:_TOLD])
        more = f"\n  and {len(self) - _TOLD} more" if len(self) > _TOLD else ""
        return f"<ChangeReport{', dry run' * self.dry_run}: {len(self)} records{tasks}{more}>"

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the records."""
        return tuple(one.id for one in self)


def trust_reason(store: ExperienceStore, id: str) -> str:
    """Why a record has the trust it was given last; "" where nobody said."""
    given = [one.reason for one in store.events(id) if one.kind == "trust"]
    return given[-1] if given else ""


def trust_level(value: Trust | str) -> Trust:
    """The level of trust of this name. Raises `UsageError`."""
    try:
        return Trust(value)
    except ValueError as error:
        raise UsageError(f"trust is one of {', '.join(level.value for level in Trust)}, not {value!r}") from error


def moment(text: str) -> datetime:
    """The date or time that a text says. Raises `UsageError`."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"since: {text!r} is no date; write 2025-11-12 or 2025-11-12T10:30") from None


# ---- which are meant ----


def select(store: ExperienceStore, where: RecordFilter, *, removed: bool = False) -> list[Experience]:
    """The records that are meant, in the order of `ids` where those are given, else by id; or the removed ones."""
    ids = resolve(store, where.ids, removed=removed) if where.ids else None
    known = store.scan(ids, removed=removed) if removed or ids is None else map(store.get, ids)
    found = [one for one in known if where.admits(one)]
    for one in found:
        check_expected(one, where.expected.get(one.id))
    return found


def chosen(store: ExperienceStore, where: RecordFilter) -> list[Experience]:
    """The records a change is about. Raises as `select`, and where no record fits (unless all are meant)."""
    expect_some(where)
    found = select(store, where)
    if found or where.all:
        return found
    raise NotFoundError(why_none(store, where) or "no record fits", file=store.location)


def expect_some(where: RecordFilter) -> None:
    """Raise `UsageError` where nothing says which records are meant."""
    if where.is_empty:
        raise UsageError("which records? give ids, a filter (source, application, …), or all (all=True, --all)")


def resolve(store: ExperienceStore, beginnings: Iterable[str], *, removed: bool | None = False) -> list[str]:
    """The full ids of records that begin so, each once; of removed ones, or (None) of both."""
    wanted = [one.strip().lower() for one in beginnings]
    if removed is False and all(is_id(one) for one in wanted):
        return wanted
    known = sorted([*(() if removed else store.ids()), *(() if removed is False else store.ids(removed=True))])
    listed = f"ufo-experience list{' --removed' * bool(removed)}"
    found = dict[str, None]()
    for one in wanted:
        fitting = [id for id in known if one and id.startswith(one)]
        if not fitting:
            where = f"ids stand in: {listed} (--search finds words)"
            raise NotFoundError(f"no {'removed ' * bool(removed)}record {one!r}; {where}")
        if len(one) < MIN_PREFIX:
            raise UsageError(f"{one!r} is too short: give at least {MIN_PREFIX} digits of an id ({listed})")
        if len(fitting) > 1:
            raise UsageError(f"{one!r} fits {len(fitting)} records; give more of the id ({listed})")
        found[fitting[0]] = None
    return list(found)


def why_none(store: ExperienceStore, where: RecordFilter) -> str | None:
    """The name in a filter that no record has, and those it may be meant for; None when each is known."""
    near = nearest_application(store, where.application) if where.application else None
    if near is not None:
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"no record is of application {where.application!r}{meant}"
    kinds = {kind for one in store.scan() for kind in risks(one)} if isinstance(where.risk, str) else set()
    if isinstance(where.risk, str) and where.risk not in kinds:
        return f"no record has the risk {where.risk!r}; there are: {', '.join(sorted(kinds)) or 'none'}"
    return None


def nearest_application(store: ExperienceStore, application: str) -> list[str] | None:
    """Applications of the store whose names are spelled most like this one, best first; None when it is there."""
    known = {application_key(one.state.application): one.state.application for one in store.scan()}
    wanted = application_key(application)
    if wanted in known:
        return None
    return [str(known[key]) for key in get_close_matches(wanted, filter(None, known), cutoff=0.5)]


def _matches_source(origin: Provenance, source: str) -> bool:
    """True when this is the record's source or session, in any spelling of a path, or a folder above its source."""
    wanted, own = _path(readable_name(source)), _path(origin.source)
    return bool(source) and (wanted in (own, _path(origin.session)) or own.startswith(f"{wanted}/"))


def _path(text: str) -> str:
    """A path with forward slashes, without `.`, `..` and trailing slash; a Windows path without case."""
    path = posixpath.normpath(text.replace("\\", "/")) if text else ""
    return path.casefold() if re.match(r"[A-Za-z]:/", path) else path


def searched(one: Experience) -> str:
    """Every text of a record in which a person may be named, and where it came from, without case."""
    return "\n".join([*texts_in(one), *one.slots.values()]).casefold()


def holds_words(text: str, words: str) -> bool:
    """True where every one of these words stands in a text without case: as a word, where blanks tell what one is."""
    apart, wanted = text.replace("_", " "), words.casefold().replace("_", " ").split()
    return all(word in text if is_spaceless(word) else find_whole(word, apart) >= 0 for word in wanted)


def _at_risk(one: Experience, risk: bool | str) -> bool:
    found = risks(one)
    return bool(found) is risk if isinstance(risk, bool) else risk in found


@dataclass(frozen=True)
class SourceInfo:
    """Records of one source (a log file or an import): how many, of which format, when the newest was made."""

    source: str
    format: str
    records: int
    newest: datetime


@dataclass(frozen=True)
class StoreStats:
    """What is in a store. Counts by name are the most frequent first; `threshold` None is 0.75."""

    location: str
    records: int
    trust: dict[str, int]
    outcome: dict[str, int]
    applications: dict[str, int]
    risky: int
    injected: int
    helped: int
    hurt: int
    look_again: int
    oldest: datetime | None
    newest: datetime | None
    embedder: str | None = None
    indexed: int = 0
    threshold: float | None = None
