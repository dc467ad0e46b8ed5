"""Looking after a store: what is listed, changed, erased, checked, carried elsewhere; part of `ExperienceMemory`."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ufo_experience.errors import (
    DataError,
    LockedError,
    NotFoundError,
    ServiceError,
    UsageError,
    names_arguments,
    with_store,
)
from ufo_experience.index.base import IndexReport, Progress, row_of
from ufo_experience.memory.parts import Parts
from ufo_experience.redact import redact_record, redact_text
from ufo_experience.request import forget
from ufo_experience.schema import Experience, Hit, Problem, Trust, expect
from ufo_experience.settings import Settings
from ufo_experience.store import exchange, selection
from ufo_experience.store.base import Added, ExperienceStore, StoreReport
from ufo_experience.store.exchange import ExportReport, ImportReport
from ufo_experience.store.lessons import Lesson, is_lesson
from ufo_experience.store.selection import ChangeReport, RecordFilter, SourceInfo, StoreStats, resolve
from ufo_experience.trust.risk import risks

Records = list[Experience]  # named here: inside the class `list` is a method
Sources = list[SourceInfo]
Lessons = list[Lesson]

Named = str | Experience | Hit  # a record may be named by its id, or be given
Where = RecordFilter | Mapping[str, Any]
Ids = Sequence[Named | Iterable[Named]]

DIGITS_SHOWN = 8  # of an id, in lists and messages
MOST_RUNS = 16  # of one task, that are compared for its procedure
_log = logging.getLogger(__name__)


class Closed:
    """In place of the store of a memory that was closed, and of its parts: it knows where it was, and no more."""

    def __init__(self, location: str) -> None:
        self.location = location

    def __getattr__(self, name: str) -> Any:
        raise UsageError("the memory is closed: open it again")


@names_arguments
class Upkeep:
    """What the owner of a store does with it, whatever the records are used for."""

    def __init__(self, store: ExperienceStore, settings: Settings, parts: Parts) -> None:
        self.store: ExperienceStore = store
        self.settings: Settings = settings
        self.parts: Parts = parts
        # why what was stored last has no vector, and the command for when that is mended; None when it has
        self.waiting_for_index: str | None = None

    def _runs_of(self, run: Experience) -> Records:
        """The newest other runs of the same task that may be shown, or that failed: the evidence of its procedure."""
        own = self.parts.index.rows([run.id])
        key = own[0].task_key if own else row_of(run).task_key
        rows = sorted(self.parts.index.rows(task_key=key), key=lambda row: row.created_at)[-MOST_RUNS:]
        runs = self.store.scan([row.id for row in rows])
        return [one for one in runs if self.parts.policy.admits(one) or one.is_negative]

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring index and `experience.yaml` in line with the records, whoever changed them; with `rebuild` what is not
        whole is made again from nothing else (vectors of unchanged texts are kept).
        """
        began, index = time.perf_counter(), self.parts.index
        with self.parts.rebuilding() if rebuild else nullcontext():
            embedder = self.parts.embedder()
            before = replace(embedder.spending)
            report = index.rebuild(progress) if rebuild else index.sync(progress, thorough=True)
        self.waiting_for_index = None
        requests, cost = embedder.spending.requests - before.requests, embedder.spending.cost - before.cost
        return replace(report, requests=requests, cost=cost, seconds=time.perf_counter() - began)

    def take_in(self, records: Iterable[Experience]) -> Added:
        """Store records, redacted, and index them as far as can be done now. Raises as the store's `add`."""
        self.parts.expect_embedder()
        done = self.store.add(redact_record(one, self.settings.keep_observations) for one in records)
        self.index_if_possible()
        return done

    def index_if_possible(self) -> str | None:
        """Index what was stored; returns why it has to wait, found by its words, where it has."""
        try:
            self.parts.index.sync()
            self.waiting_for_index = None
        except LockedError as error:
            return str(error)
        except ServiceError as error:
            why = f"stored and found by words, but not embedded: {error}; when that is mended: ufo-experience index"
            why = with_store(why, self.store.location)
            if self.waiting_for_index is None:
                _log.warning("%s", why)
            self.waiting_for_index = why
        return self.waiting_for_index

    def verify(self) -> StoreReport:
        """Read every byte of records, events and index, and say what is wrong."""
        found, wrong = self.store.verify(), self.parts.index.check()
        found.corrupt += [Problem(file="index", code="E_CORRUPT", message=one) for one in wrong]
        found.index = "damaged" if wrong else "ok"
        return found

    def get(self, id: str) -> Experience:
        """The record with this id. Raises `NotFoundError`; `UsageError` when several begin so."""
        return self.store.get(resolve(self.store, [expect(str, id, "id")])[0])

    def list(
        self,
        *ids: Named | Iterable[Named],
        where: Where | None = None,
        limit: int | None = None,
        removed: bool = False,
    ) -> Records:
        """The records that are meant (default: all), the newest first; at most `limit`. `removed`: those taken out."""
        if limit is not None and expect(int, limit, "limit") < 1:
            raise UsageError(f"limit must be at least 1, not {limit}")
        found = selection.select(self.store, _meant(ids, where), removed=removed)
        return sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)[:limit]

    def approve(self, *ids: Named | Iterable[Named], where: Where | None = None, dry_run: bool = False) -> ChangeReport:
        """Sign records off: they may be shown to agents everywhere.

        Named by a filter, records with a risky step are left out (and listed) unless the filter says `risk`.
        """
        return self._set_trust(ids, where, Trust.APPROVED, dry_run)

    def quarantine(
        self,
        *ids: Named | Iterable[Named],
        where: Where | None = None,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> ChangeReport:
        """Take records out of use without deleting them; the reason is kept."""
        return self._set_trust(ids, where, Trust.QUARANTINED, dry_run, redact_text(reason or ""))

    def _set_trust(self, ids: Ids, where: Where | None, trust: Trust, dry_run: bool, reason: str = "") -> ChangeReport:
        meant = _meant(ids, where)
        lessons = {one for one in meant.ids if is_lesson(one)}
        if not dry_run:
            self.parts.lessons.set_trust(lessons, trust)
        meant = replace(meant, ids=tuple(one for one in meant.ids if one not in lessons))
        if lessons and meant.is_empty:
            return ChangeReport(dry_run=dry_run)
        found = selection.chosen(self.store, meant)
        careful = trust is Trust.APPROVED and not meant.ids and meant.risk is None
        kinds = {one.id: risks(one) for one in found} if careful else {}
        changed = [one for one in found if not kinds.get(one.id)]
        left_out = [(id, f"risky ({', '.join(kind)}); approve it by its id") for id, kind in kinds.items() if kind]
        if not dry_run:
            seen, change = meant.expected, partial(self.store.set_status, trust=trust, reason=reason)
            changed = [change(one.id, expected=seen.get(one.id)) for one in changed]
        return ChangeReport(changed, left_out, dry_run)

    def remove(self, *ids: Named | Iterable[Named], where: Where | None = None, dry_run: bool = False) -> ChangeReport:
        """Take records out; the same log read again does not bring them back, `undo_remove` does. See `purge`."""
        gone = selection.chosen(self.store, _meant(ids, where))
        if not dry_run:
            self.store.remove([one.id for one in gone], reason="removed by request")
            self._forget(gone)
        return ChangeReport(gone, dry_run=dry_run)

    def undo_remove(self, *ids: Named | Iterable[Named]) -> Records:
        """Bring back what `remove` took out, until it is purged. Raises `NotFoundError` when it is not there."""
        selection.expect_some(meant := _meant(ids, None))
        back = self.store.restore(resolve(self.store, meant.ids, removed=True))
        self.index_if_possible()
        return back

    def purge(
        self, source: str | Path | Where | None = None, *, where: Where | None = None, dry_run: bool = False
    ) -> ChangeReport:
        """Erase what came from a source (a file, a folder above it, a session), an id (8 digits or more), or what a
        filter says, everywhere: records, removed ones too, index, vectors, verdicts, the audit log. The id
        stays, so that the same log is not learned again. Raises `NotFoundError` where there is none.
        """
        if source is not None and where is not None:
            raise UsageError("give a source or a filter, not both (a filter has a source, too)")
        if isinstance(source, (RecordFilter, Mapping)):
            source, where = None, source
        known = [*self.store.ids(), *self.store.ids(removed=True)]
        named_by_id = len(str(source)) >= DIGITS_SHOWN and any(one.startswith(str(source)) for one in known)
        by_source = RecordFilter(ids=(str(source),)) if named_by_id else RecordFilter(source=str(source))
        meant = by_source if source is not None else _meant((), where)
        selection.expect_some(meant)
        named = resolve(self.store, meant.ids, removed=None) if meant.ids else None
        there = [*self.store.scan(named), *self.store.scan(named, removed=True)]
        gone = [one for one in there if meant.admits(one)]
        if not dry_run:
            self.store.purge([one.id for one in gone])
            self.parts.lessons.forget({one.id for one in gone})
            self._forget(gone)
        if not gone and not meant.all:
            why = f"no record comes from {meant.source!r} (where they come from: ufo-experience sources"
            why += f"; those with words in them: where={{'search': {meant.source!r}}}, or --search)"
            raise NotFoundError(why if meant.source else "no record fits", file=self.store.location)
        return ChangeReport(gone, dry_run=dry_run)

    def _forget(self, gone: Sequence[Experience]) -> None:
        """Take what is gone out of everything that was made of it."""
        asked = (text for one in gone for text in (one.state.request, one.state.task))
        self.parts.audit.forget(asked)
        self.index_if_possible()
        forget()

    def learn_lessons(self, application: str | None = None) -> Lessons:
        """Ask the configured chat model what made the difference between successes and failures, by application.

        It is sent the tasks and controls of the newest runs that may be shown, without values. At most five lessons of
        an application stay; three are shown as tips in a prompt, and reports on it count as their help and harm.
        Raises `UsageError` (no chat model is configured), `ServiceError` (what was learned until then stays).
        """
        from ufo_experience.summarize.lessons import learn, model_of

        model = model_of(self.settings)
        runs = selection.select(self.store, RecordFilter(application=application))
        admitted = [one for one in runs if self.parts.policy.admits(one)]
        return learn(admitted, self.parts.lessons, self.parts.service(), model)

    def export(self, format: str = "json", output: str | Path | None = None) -> ExportReport:
        """Write all records to one file, or into the report's `text`: `json`, which can be imported, or `ufo`, its
        `experience.yaml`, of successes that are not quarantined.

        Raises `UsageError`: no such format; `StorageError`: an older file of that name is as it was.
        """
        expect((str, Path), "" if output is None else output, "output")
        return exchange.export(self.store, format, output)

    def export_json(self) -> str:
        """All records with their trust and usage as JSON text; into a file: export(output=FILE)."""
        return self.export().text

    def import_(self, file: str | Path, *, approve: bool = False, restore: bool = False) -> ImportReport:
        """Take in an export of this package, the folder of another store, skills, UFO's `experience.yaml` or the folder
        it lies in, or logs; quarantined until approved. The files of UFO's own index are left closed.

        `approve` is your word that all of it may be shown to agents, also what was imported before. `restore` is for
        your own backup: trust and use are taken as written. Raises `DataError`: it cannot be read.
        """
        expect((str, Path), file, "file")
        path = exchange.ufo_yaml(Path(file))
        entries, kept = exchange.read_export(path), self.settings.keep_observations
        if entries is None and restore:
            raise DataError("no export of this package: only that can be restored", file=str(file))
        report = (
            self._read_logs(path) if entries is None else exchange.import_entries(self.store, entries, restore, kept)
        )
        if path.is_file() and report.failed and not (report.added or report.known or report.skipped):
            raise DataError(report.failed[0][1], file=report.failed[0][0])
        if approve:
            known = tuple(sorted({*report.added, *report.known}))
            report.approved = [one.id for one in (self.approve(*known) if known else ())]
        self.index_if_possible()
        return report

    def import_json(self, json_str: str, *, restore: bool = False) -> ImportReport:
        """Take in what `export_json` gave, quarantined until somebody approves it; `restore` as in `import_`."""
        if expect(str, json_str, "json_str").lstrip()[:1] not in ("{", "["):
            raise DataError(f"no JSON: an object begins with {{, a list with [; a file: import_({json_str!r:.60})")
        entries = exchange.entries_of(json_str)
        report = exchange.import_entries(self.store, entries, restore, self.settings.keep_observations)
        self.index_if_possible()
        return report

    def _read_logs(self, file: Path) -> ImportReport:
        from ufo_experience.ingest import ingest
        from ufo_experience.summarize import open_summarizer

        engine, kept = open_summarizer("extractive"), self.settings.keep_observations
        return ingest(
            [file], self.store, engine, include_failures=True, trust=Trust.QUARANTINED, keep_observations=kept
        )

    def stats(self) -> StoreStats:
        """What is in the store: counts by trust, outcome and application, embedder, threshold, size."""
        records, index, given = list(self.store.scan()), self.parts.index, self.settings.threshold
        times = [one.created_at for one in records]
        name = index.embedder_name()
        calibrated = self.parts.threshold(name) if name else None
        return StoreStats(
            location=self.store.location,
            records=len(records),
            trust=_counts(one.trust.value for one in records),
            outcome=_counts(one.outcome.word for one in records),
            applications=_counts(one.state.application or "-" for one in records),
            risky=sum(one.trust is not Trust.APPROVED and bool(risks(one)) for one in records),
            injected=sum(one.usage.injected for one in records),
            helped=sum(one.usage.helped for one in records),
            hurt=sum(one.usage.hurt for one in records),
            look_again=sum(self.parts.policy.look_again(one) is not None for one in records),
            oldest=min(times, default=None),
            newest=max(times, default=None),
            embedder=name,
            indexed=index.count() - len(index.missing()) if name else 0,
            threshold=calibrated if given == "auto" else given,
        )

    def sources(self) -> Sources:
        """Where the records came from, the newest first; those added by a program have the source ""."""
        found: dict[tuple[str, str], SourceInfo] = {}
        for one in sorted(self.store.scan(), key=lambda one: one.created_at):
            key = one.provenance.source, one.provenance.format
            records = found[key].records + 1 if key in found else 1
            found[key] = SourceInfo(*key, records, one.created_at)
        return sorted(found.values(), key=lambda info: (info.newest, info.source), reverse=True)


def _meant(ids: Ids, where: Where | None) -> RecordFilter:
    """The filter (its fields may stand in a mapping) with these ids, which may stand in a list."""
    given = RecordFilter(**where) if isinstance(where, Mapping) else where
    filter = RecordFilter() if given is None else expect(RecordFilter, given, "where")
    named = [one for given in ids for one in (given if isinstance(given, (list, tuple, set)) else [given])]
    return replace(filter, ids=(*map(id_of, named), *filter.ids))


def id_of(one: object) -> str:
    """The id that names a record. Raises `UsageError` for what is none, and no record or hit."""
    known = one.experience if isinstance(one, Hit) else one
    return known.id if isinstance(known, Experience) else str(expect(str, known, "id"))


def _counts(names: Iterable[str]) -> dict[str, int]:
    """How often each name stands there, the most frequent first."""
    return dict(Counter(names).most_common())
