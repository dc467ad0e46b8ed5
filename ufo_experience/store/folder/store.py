"""The default store: a folder of small JSON files (layout in `layout.py`), safe against crashes and rot.

A commit is: encode → lock → temp files, write, fsync → publish without overwriting → fsync the folders → return.
Readers take no lock. Nothing is listed or rewritten to add a record, so that costs the same at any size.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path

from ufo_experience.errors import DataError, NotFoundError, StorageError
from ufo_experience.fileio.atomic import FSYNC_FAILED, Disk, make_folder, replace_file, sync_folder
from ufo_experience.fileio.lock import WriterLock
from ufo_experience.ids import is_id
from ufo_experience.schema import Experience, Problem, Usage
from ufo_experience.store.base import Added, ChangesStatus, OwnChange, Stamp, StoreReport, check_quota, without
from ufo_experience.store.codec import hash_in
from ufo_experience.store.folder import check
from ufo_experience.store.folder.commit import new_files, recover, remove_file, sweep_copies
from ufo_experience.store.folder.layout import RECORDS, STORE_FILE, TOMBSTONES, Layout, open_layout
from ufo_experience.store.folder.location import StorageLocation, storage_location
from ufo_experience.store.folder.signing import Signer, signer_from_environment
from ufo_experience.store.records import (
    CleanRecord,
    Status,
    check_expected,
    encode_record,
    encode_status,
    encode_tombstone,
    experience_in,
)

GROUP = 512  # records in one commit; the lock is free between groups
MAX_OWN_CHANGES = 64  # that are kept for who asks next

_SHARD = re.compile("(?:records|status)/[0-9a-f]{2}")
_log = logging.getLogger(__name__)


class FileStore(ChangesStatus):
    """Experiences in a folder. Open it with `FileStore.open`."""

    def __init__(
        self,
        layout: Layout,
        store_id: str,
        lock: WriterLock,
        storage: StorageLocation,
        *,
        read_only: bool,
        max_per_author: int | None = None,
    ) -> None:
        self._layout, self._store_id, self._lock, self.storage = layout, store_id, lock, storage
        self._max_per_author = max_per_author
        self._closed_for_writing = "it was opened read-only" if read_only else ""
        self.last_revision = ""
        self._own_changes: list[OwnChange] = []
        self._done: OwnChange | None = None  # by the commit under way

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = True,
        lock_timeout: float = 10.0,
        read_only: bool = False,
        network: bool = False,
        max_per_author: int | None = None,
        disk: Disk | None = None,
        signer: Signer | None = None,
    ) -> FileStore:
        """Open the store in a folder, making it first if allowed. Only making it writes anything.

        Args:
            lock_timeout: seconds a write waits for another writer.
            network: also write to a folder whose files are carried to other machines (`location.py`).
            max_per_author: the most records one user of the system may own here; on Windows all count as one user's.
            disk: the file system; tests pass their own.
            signer: signs what is written and mistrusts what is not; default: that of the environment (`signer.py`).

        Raises:
            NotFoundError: no store there.
            DataError: a store file that cannot be used.
            FormatVersionError: a newer version made it; nothing was touched.
            StorageError: it cannot be made.
            RefusedError: its folders are links to somewhere else, or it would have to be made on a network drive.
        """
        signer, disk = signer or signer_from_environment(Path(path)), disk or Disk()
        storage = storage_location(Path(path), disk, allowed=network)
        layout, store_id = open_layout(
            Path(path), disk, create=create and not read_only, signer=signer, storage=storage
        )
        lock = WriterLock(layout.root, lock_timeout, disk)
        return cls(layout, store_id, lock, storage, read_only=read_only, max_per_author=max_per_author)

    @property
    def location(self) -> str:
        """The folder."""
        return str(self._layout.root)

    @property
    def cache_folder(self) -> Path:
        """The folder."""
        return self._layout.root

    @property
    def shared(self) -> bool:
        """False: who may write to a folder is decided by its owner."""
        return False

    @property
    def database(self) -> None:
        """None: records are files."""
        return None

    @property
    def store_id(self) -> str:
        """Random id given at creation."""
        return self._store_id

    def add(self, experiences: Iterable[Experience | CleanRecord], *, revive: bool = False) -> Added:
        """Commit records, in groups of up to 512; durable when it returns.

        An id that is stored is skipped, and so is one that was removed, unless `revive`.

        Raises:
            SchemaError: a record is over a limit; nothing of its group is stored.
            QuotaError: more than `max_per_author` would be this user's; nothing of the group is stored.
            StorageError, LockedError: groups before this one are stored.
        """
        added: list[str] = []
        skipped: list[str] = []
        source = iter(experiences)
        while group := list(islice(source, GROUP)):
            encoded = [(experience_in(one), encode_record(one, self._layout.signer)) for one in group]
            fresh = self._add_group(encoded, revive)
            added += fresh
            skipped += without([experience.id for experience, _ in encoded], fresh)
        return Added(tuple(added), tuple(skipped))

    def get(self, id: str) -> Experience:
        """The live record with this id.

        Raises:
            NotFoundError: there is none.
            CorruptError, SchemaError, FormatVersionError: its file cannot be used.
        """
        experience = self._layout.load(id)
        if experience is None:
            raise NotFoundError(f"no experience {id!r}", file=self.location)
        return experience

    def stamp(self, id: str) -> Stamp | None:
        """What the system knows of the files of a live record; None while they are young, or something is wrong."""
        return self._layout.stamp(id) if is_id(id) else None

    def __contains__(self, id: object) -> bool:
        """True when there is a live record with this id, readable or not."""
        layout = self._layout
        return is_id(id) and layout.has_record(str(id)) and not layout.there(layout.tombstone(str(id)))

    def ids(self) -> list[str]:
        """Ids of all live records, sorted; a corrupt one is among them."""
        found = [id for folder in self._layout.shards(RECORDS) for id in self._layout.ids_in(folder)]
        gone = set(self._layout.ids_in(self._layout.root / TOMBSTONES))
        return [id for id in found if id not in gone]

    def scan(self, ids: Sequence[str] | None = None) -> Iterator[Experience]:
        """Stream live records in id order, all or those of `ids`; what cannot be used is logged and left out."""
        for id in self._stream_ids() if ids is None else sorted(set(ids)):
            try:
                experience = self._layout.load(id)
            except NotFoundError:
                continue
            except DataError as error:
                _log.warning("left out: %s", error)
                continue
            if experience is not None:
                yield experience

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Delete records for good (readable or not); returns the ids that were there.

        The tombstones are durable before the first record goes. Its folder counts as changed before that: whoever comes
        after a removal that was cut short looks there.
        """
        wanted = sorted({id for id in ids if is_id(id)})
        layout, now = self._layout, datetime.now(timezone.utc)
        with self._writing() as touched:
            there = [id for id in wanted if layout.has_record(id) and not layout.there(layout.tombstone(id))]
            touched |= {layout.record(id).parent for id in there}
            if there:
                layout.mark_changed(sorted(touched))
            with new_files(layout.disk) as files:
                for id in there:
                    files.stage(layout.tombstone(id), encode_tombstone(id, reason, now))
            folders = {path.parent for id in there for path in self._remove_files(id)}
            for folder in sorted(folders):
                sync_folder(folder, layout.disk)
        return there

    def verify(self) -> StoreReport:
        """Read every byte and say what is wrong."""
        report = StoreReport()
        for finding in check.examine(self._layout):
            if finding.error is not None:
                report.corrupt.append(finding.problem())
            elif finding.is_record:
                report.records += 1
        return report

    def set_aside_corrupt(self) -> list[Problem]:
        """Move what cannot be used to `corrupt/`, the reason beside it; what a newer version wrote stays.

        A record that loses its status this way becomes quarantined; a tombstone is written anew.
        """
        with self._writing() as touched:
            recover(self._layout)  # after a power failure nothing may tell that there is something to sweep
            touched |= set(self._layout.folders())
            return check.set_aside(self._layout)

    def revision(self) -> str:
        """A token that differs after every commit; costs one look at one file."""
        return self._layout.revision()

    def shard_mtimes(self) -> dict[str, int]:
        """Time of last change (ns) of each shard: `records/<first two digits of its ids>`, `status/<the same>`.

        Read them before listing a shard: what is committed in between then shows as a change. A disk may count time
        coarsely and a writer may die in between: a stamp younger than two seconds must be treated as changed.
        """
        return self._layout.mtimes()

    def ids_in(self, shard: str) -> list[str]:
        """Sorted ids of the live records of `records/ab`, or those with a status of their own of `status/ab`."""
        layout = self._layout
        found = layout.ids_in(layout.shard(*shard.split("/"))) if _SHARD.fullmatch(shard) else []
        gone = layout.removed() if found else frozenset()
        return [id for id in found if id not in gone]

    def versions_in(self, shard: str, *, since: int = 0) -> dict[str, str]:
        """The ids in a shard whose file was changed `since` a time (ns) by the clock of this machine, removed ones too.

        The token is made of what the system knows of the file: every change is a new file.
        """
        return self._layout.versions_in(self._layout.root / shard, since) if _SHARD.fullmatch(shard) else {}

    def digests_in(self, shard: str) -> dict[str, bytes]:
        """Hashes by which a rebuild tells what is as it was; see `Digested`."""
        return self._layout.digests_in(shard[-2:]) if _SHARD.fullmatch(shard) else {}

    def _stream_ids(self) -> Iterator[str]:
        for folder in self._layout.shards(RECORDS):
            yield from self._layout.ids_in(folder)

    def _add_group(self, group: list[tuple[Experience, bytes]], revive: bool) -> list[str]:
        layout = self._layout
        with self._writing() as touched:
            fresh: dict[str, tuple[Experience, bytes]] = {}
            for experience, data in group:
                if experience.id not in fresh and self._is_new(experience.id, revive):
                    fresh[experience.id] = experience, data
            if self._max_per_author is not None and fresh:
                author, count = layout.records_of_user()
                check_quota(self.location, author, count, len(fresh), self._max_per_author)
            touched |= {layout.record(id).parent for id in fresh}
            with new_files(layout.disk) as files:
                for id, (_, data) in fresh.items():
                    self._remove_files(id)  # what a removal that was cut short left
                    files.stage(layout.record(id), data)
                files.publish()  # now: no crash may leave a status without its record
                for id, (experience, data) in fresh.items():
                    if experience.usage != Usage():
                        status = Status(id=id, trust=experience.trust, usage=experience.usage, content=hash_in(data))
                        files.stage(layout.status(id), encode_status(status, layout.signer))
            if revive:
                self._lift_tombstones(fresh)
            self._done = OwnChange("", "", added=frozenset(fresh))
        return list(fresh)

    def _is_new(self, id: str, revive: bool) -> bool:
        """True when `id` is to be stored now. A tombstone outranks a record: that removal was cut short."""
        if self._layout.there(self._layout.tombstone(id)):
            return revive
        return not self._layout.there(self._layout.record(id))

    def _lift_tombstones(self, ids: Iterable[str]) -> None:
        if self._remove_there(self._layout.tombstone(id) for id in ids):
            sync_folder(self._layout.root / TOMBSTONES, self._layout.disk)

    def _remove_files(self, id: str) -> list[Path]:
        return self._remove_there((self._layout.record(id), self._layout.status(id)))

    def _remove_there(self, paths: Iterable[Path]) -> list[Path]:
        there = [path for path in paths if self._layout.there(path)]
        for path in there:
            remove_file(path, self._layout)
        return there

    def close(self) -> None:
        """Nothing is held open between calls."""

    def _change_status(self, id: str, change: Callable[[Status], Status], expected: str | None = None) -> Status:
        with self._writing() as touched:
            experience = self.get(id)
            check_expected(experience, expected)
            before = self._layout.load_status(id)
            verdict = before.verdict if before else None
            old = Status(id=id, trust=experience.trust, usage=experience.usage, verdict=verdict)
            new = change(old)
            if new != old:
                path = self._layout.status(id)
                make_folder(path.parent, self._layout.disk)
                touched.add(path.parent)
                bound = new.model_copy(update={"content": hash_in(self._layout.read(self._layout.record(id)) or b"")})
                replace_file(path, encode_status(bound, self._layout.signer), self._layout.disk)
                if new.verdict == old.verdict:  # which says how the run ended, over what its record says
                    now = experience.model_copy(update={"trust": new.trust, "usage": new.usage})
                    self._done = OwnChange("", "", changed=now, version=self._layout.version(path))
        return new

    def own_changes(self, since: str, until: str) -> list[OwnChange] | None:
        """What led from one revision to another, if nothing but what this object added or changed did."""
        made, self._own_changes = self._own_changes, []
        found: list[OwnChange] = []
        for one in made:
            if one.before == (found[-1].after if found else since):
                found.append(one)
        return found if found and found[-1].after == until else None

    def _note(self, before: str) -> None:
        """Keep what was changed in the commit that ends now, for who asks next."""
        done, self._done = self._done, None
        self.last_revision = self.revision()
        if done is None or len(self._own_changes) >= MAX_OWN_CHANGES:
            self._own_changes = []
        if done is not None and before:
            self._own_changes.append(done._replace(before=before, after=self.last_revision))

    @contextmanager
    def _writing(self) -> Iterator[set[Path]]:
        """Hold the lock; the folders put into the set get new mtimes at the end, whatever happened.

        After a failed fsync nobody knows what is on the medium: this store object writes no more.
        """
        if self._closed_for_writing:
            raise StorageError(f"{self.location}: not written, {self._closed_for_writing}")
        self.storage.check()
        if not self._layout.there(self._layout.root / STORE_FILE):
            raise StorageError(f"{self.location}: not written, the store is not there any more")
        touched: set[Path] = set()
        try:
            with self._lock.hold() as left_behind:
                if left_behind:
                    recover(self._layout)
                sweep_copies(self._layout)
                before, self._done = "" if left_behind else self.revision(), None
                try:
                    yield touched
                finally:
                    if touched:
                        self._layout.mark_changed(one for one in sorted(touched) if self._layout.is_folder(one))
                        self._note(before)
        except StorageError as error:
            if error.code == FSYNC_FAILED:
                self._closed_for_writing = f"an fsync failed before ({error}); open the store again"
            raise
