"""Looking after a store: the methods of `ExperienceMemory` about its records and its index, whatever was learned.

Every change takes ids or a `RecordFilter`; with `dry_run` it only says what it would be about. The work is done in
`changes` (trust, removal, erasure), `transfer` (import, export) and `inspection` (verification, repair, what there is).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ufo_experience.errors import LockedError, NotFoundError, ServiceError, UsageError
from ufo_experience.index.build import IndexReport, Progress
from ufo_experience.schema import Experience, Trust, expect
from ufo_experience.store import scheme_of
from ufo_experience.store.base import Added, ExperienceStore
from ufo_experience.store.selection import RecordFilter, chosen, resolve, select

# What does the work is imported by the method that needs it: a query loads none of it.
if TYPE_CHECKING:
    from ufo_experience.index.live import LiveIndex
    from ufo_experience.maintenance.changes import ChangeReport
    from ufo_experience.maintenance.inspection import SourceInfo, StoreStats, Verification
    from ufo_experience.maintenance.transfer import ExportReport
    from ufo_experience.store.exchange import ImportReport
    from ufo_experience.wiring import Wiring

Records = list[Experience]  # named here: inside the class `list` is a method
Sources = list["SourceInfo"]
_log = logging.getLogger(__name__)
VIEW_RECORDS = 1_000  # rewriting the YAML view of more is work for a rebuild


class Maintenance:
    """What `ExperienceMemory` does with its store besides learning and answering.

    What takes ids takes the beginnings of ids, too (at least 4 digits).
    """

    store: ExperienceStore
    live: LiveIndex
    wiring: Wiring

    def index(self, *, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Bring the index in line with the store (see `index.build.sync`), and `experience.yaml` in a folder.

        The view is written anew if the store has changed since; in stores of more than `VIEW_RECORDS` records by a
        rebuild only.
        """
        report = self.live.sync(rebuild=rebuild, progress=progress)
        if not scheme_of(self.store.location) and (rebuild or report.records <= VIEW_RECORDS):
            from ufo_experience.store.exchange import VIEW, update_view

            update_view(self.store, Path(self.store.location) / VIEW)
        return report

    def take_in(self, records: Iterable[Experience]) -> Added:
        """Store records, redacted, and index them as far as can be done now. Raises as the store's `add`."""
        from ufo_experience.store.records import clean_record

        clean = [clean_record(one) for one in records]
        done = self.store.add(clean)
        self.index_if_possible([one.experience for one in clean if one.experience.id in done.added])
        return done

    def index_if_possible(self, added: Sequence[Experience] = ()) -> str | None:
        """Index what was stored, of which the last commit `added` some; records wait (and are found by their words)
        when the embedder cannot answer now, or another process is publishing. Returns why; a fault of the embedder is
        logged when it is another than before.
        """
        before = self.live.failure
        try:
            self.live.take_in(added)
        except LockedError as error:
            return str(error)
        except ServiceError as error:
            if before is None or before.code != error.code:
                _log.warning("%s", self.waiting_for_index)
            return self.waiting_for_index
        return None

    @property
    def waiting_for_index(self) -> str | None:
        """Why what was stored last is not in the index, and the command for when that is mended; None when it is."""
        if self.live.failure is None:
            return None
        command = f"ufo-experience index --db {quote(self.store.location)}"
        return f"stored and found by words, but not embedded: {self.live.failure}; when that is mended: {command}"

    def get(self, id: str) -> Experience:
        """The record with this id. Raises `NotFoundError`; `UsageError` when several begin so."""
        return self.store.get(resolve(self.store, [id])[0])

    def list(self, *ids: str, where: RecordFilter | None = None, limit: int | None = None) -> Records:
        """The records that are meant (default: all), the newest first; at most `limit`."""
        if limit is not None and expect(int, limit, "limit") < 1:
            raise UsageError(f"limit must be at least 1, not {limit}")
        found = select(self.store, _filter(ids, where) or RecordFilter(all=True))
        return sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)[:limit]

    def approve(self, *ids: str, where: RecordFilter | None = None, dry_run: bool = False) -> ChangeReport:
        """Sign records off: they may be shown to agents everywhere. See `changes.set_trust`.

        Named by a filter, records with a risky step are left out (and listed) unless the filter says `risk`.
        """
        from ufo_experience.maintenance.changes import set_trust

        return set_trust(self.store, _filter(ids, where) or RecordFilter(), Trust.APPROVED, dry_run=dry_run)

    def quarantine(self, *ids: str, where: RecordFilter | None = None, dry_run: bool = False) -> ChangeReport:
        """Take records out of use without deleting them. See `changes.set_trust`."""
        from ufo_experience.maintenance.changes import set_trust

        return set_trust(self.store, _filter(ids, where) or RecordFilter(), Trust.QUARANTINED, dry_run=dry_run)

    def remove(self, *ids: str, where: RecordFilter | None = None, dry_run: bool = False) -> ChangeReport:
        """Take records out; the same log read again does not bring them back, `undo_remove` does. See `purge`."""
        from ufo_experience.maintenance.changes import remove

        try:
            return remove(self.store, self.live.generations, _filter(ids, where) or RecordFilter(), dry_run=dry_run)
        finally:
            self.wiring.forget()

    def undo_remove(self, *ids: str) -> Records:
        """Bring back what `remove` took out, until it is purged. Raises `NotFoundError` when it is not there."""
        from ufo_experience.maintenance.changes import undo_remove

        back = undo_remove(self.store, ids)
        self.index_if_possible()
        return back

    def purge(
        self, source: str | Path | None = None, *, where: RecordFilter | None = None, dry_run: bool = False
    ) -> ChangeReport:
        """Erase what came from a source (a file, a folder above it, a session), or what a filter says, everywhere:
        records, index, cached vectors, damaged copies. See `changes.purge`.

        Raises:
            NotFoundError: no record comes from this source; the nearest known ones are named.
        """
        from ufo_experience.maintenance.changes import ChangeReport, purge
        from ufo_experience.maintenance.inspection import known_sources

        meant = RecordFilter(source=str(source)) if source is not None else where or RecordFilter()
        if source is not None and where is not None:
            raise UsageError("give a source or a filter, not both (a filter has a source, too)")
        if dry_run and not meant.source:
            return ChangeReport(tuple(chosen(self.store, meant)), dry_run=True)
        try:
            gone = select(self.store, meant) if dry_run else purge(self.store, self.live.generations, meant)
        finally:
            self.wiring.forget()
        if not gone and meant.source:
            near = ", ".join(known_sources(self.store, meant.source))
            raise NotFoundError(f"no record comes from {meant.source!r}" + (f"; nearest: {near}" if near else ""))
        if not gone and not meant.all:
            raise NotFoundError("no record fits", file=self.store.location)
        return ChangeReport(tuple(gone), dry_run=dry_run)

    def verify(self, *, repair: bool = False) -> Verification:
        """Read every byte of records, index and cached vectors. `repair` first sets aside what cannot be used (into
        `corrupt/`) and makes the index again.
        """
        from ufo_experience.maintenance.inspection import repair as mend
        from ufo_experience.maintenance.inspection import verify

        if not repair:
            return verify(self.store, self.live.generations)
        mended = mend(self.store)
        if verify(self.store, self.live.generations).index != "ok":
            self.index(rebuild=True)
        found = verify(self.store, self.live.generations)
        found.repaired = mended
        return found

    def export(self, format: str = "json", output: str | Path | None = None) -> ExportReport:
        """Write all records to one file, or into the report's `text`. See `transfer.export`."""
        from ufo_experience.maintenance.transfer import export

        expect((str, Path), "" if output is None else output, "output")
        return export(self.store, format, output)

    def import_(self, file: str | Path, *, approve: bool = False, restore: bool = False) -> ImportReport:
        """Take in an export of this package, UFO's `experience.yaml`, or logs; quarantined until approved.

        `approve` is your word that all of it may be shown to agents, also what was imported before. `restore` is for
        your own backup (JSON): trust and use are taken as written.

        Raises:
            DataError: the file as a whole cannot be read.
        """
        from ufo_experience.maintenance.transfer import import_file

        expect((str, Path), file, "file")
        report = import_file(self.store, Path(file), restore=restore)
        if approve:
            report.approved = [one.id for one in self._approve_import(Path(file), report)]
        self.index_if_possible()
        return report

    def _approve_import(self, file: Path, report: ImportReport) -> Records:
        """Approve what came in now and what came from the same file before."""
        from ufo_experience.maintenance.changes import set_trust

        known = {*report.added, *report.known}
        known |= {one.id for one in self.store.scan() if _same_file(one.provenance.source, file)}
        if not known:
            return []
        return list(set_trust(self.store, RecordFilter(ids=tuple(sorted(known))), Trust.APPROVED))

    def stats(self) -> StoreStats:
        """What is in the store: counts by trust, outcome and application, embedder, threshold, size."""
        from ufo_experience.maintenance.inspection import stats

        return stats(self.store, self.live.snapshot(), self.wiring.trust_policy())

    def sources(self) -> Sources:
        """Where the records came from, the newest first."""
        from ufo_experience.maintenance.inspection import sources

        return sources(self.store)

    def export_json(self) -> str:
        """All records with their trust and usage as JSON text."""
        from ufo_experience.store.exchange import export_json

        return export_json(self.store)

    def import_json(self, json_str: str, *, restore: bool = False) -> ImportReport:
        """Take in what `export_json` gave, quarantined until somebody approves it; `restore` as in `import_`."""
        from ufo_experience.store.exchange import import_json

        expect(str, json_str, "json_str")
        report = import_json(self.store, json_str, restore=restore)
        self.index_if_possible()
        return report


def _filter(ids: Sequence[str], where: RecordFilter | None) -> RecordFilter | None:
    """The filter with these ids; None when neither is given."""
    if where is not None:
        expect(RecordFilter, where, "where")
    if not ids:
        return where
    for one in ids:
        expect(str, one, "id")
    return replace(where or RecordFilter(), ids=(*ids, *(where.ids if where else ())))


def _same_file(source: str, file: Path) -> bool:
    return Path(source).name == file.name and Path(source).resolve() == file.resolve()
