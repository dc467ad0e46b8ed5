"""Changes to the records of a store: their trust, removal and its undoing, erasure."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from ufo_experience.embed.cache import CACHE_FILE
from ufo_experience.errors import (
    CorruptError,
    DataError,
    LockedError,
    NotFoundError,
    StorageError,
    UsageError,
)
from ufo_experience.store.files import Disk, is_there, make_folder, remove_tree, replace_file, storage_errors
from ufo_experience.store.files import read_regular
from ufo_experience.store.strict_json import parse
from ufo_experience.ids import is_id
from ufo_experience.index.build import prune
from ufo_experience.index.document import embedded_text
from ufo_experience.index.generations import Generations
from ufo_experience.prompt.audit import FILE as AUDIT
from ufo_experience.prompt.audit import AuditLog
from ufo_experience.schema import MAX_RECORD_BYTES, Experience, Trust, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import (
    VIEW,
    as_entry,
    write_view,
)
from ufo_experience.store.folder.commit import writing_copies
from ufo_experience.store.folder.layout import CORRUPT, REMOVED
from ufo_experience.store.folder.signing import signer_from_environment
from ufo_experience.store.folder.store import FileStore
from ufo_experience.store.selection import RecordFilter, chosen, resolve_among
from ufo_experience.text.remembered import forget_texts
from ufo_experience.trust.risk import risks

MAX_COPY_BYTES = 1 << 30
_COPIES_WAIT_S = 10.0
_SEALED = ".json.z"  # a removed record, compressed: no byte of its text stands anywhere in the clear


@dataclass(frozen=True)
class ChangeReport(Sequence[Experience]):
    """The records a change was about, as they are now (what is gone: as it was); a sequence of them.

    `left_out` says of records that fit the filter and were not changed, why. After a `dry_run` nothing was changed.
    `warning` says what could not be done besides.
    """

    records: tuple[Experience, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False
    warning: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the records."""
        return tuple(one.id for one in self.records)

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, place: int) -> Experience: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Experience, ...]: ...
    def __getitem__(self, place: int | slice) -> Experience | tuple[Experience, ...]:
        return self.records[place]


def set_trust(store: ExperienceStore, where: RecordFilter, trust: Trust, *, dry_run: bool = False) -> ChangeReport:
    """Give records another trust.

    Approving by a filter leaves out records with a risky step unless `ids` or `risk` say that they are meant.

    Raises:
        UsageError: the filter is empty.
        NotFoundError, ConflictError: as `select`; then nothing was changed.
    """
    found = chosen(store, where)
    careful = trust is Trust.APPROVED and not where.ids and where.risk is None
    kinds = {one.id: risks(one) for one in found} if careful else {}
    changed = [one for one in found if not kinds.get(one.id)]
    left_out = tuple((id, f"risky ({', '.join(kind)}); approve it by its id") for id, kind in kinds.items() if kind)
    if not dry_run:
        for one in changed:
            store.set_status(one.id, trust=trust, expected=where.expected.get(one.id))
        changed = [store.get(one.id) for one in changed]
    return ChangeReport(tuple(changed), left_out, dry_run)


def remove(
    store: ExperienceStore, generations: Generations, where: RecordFilter, *, dry_run: bool = False
) -> ChangeReport:
    """Take records out of the store; the same log read again does not bring them back, `undo_remove` does.

    Index, its tail and older generations, the view and the audit log hold no text of theirs any more; what an undo
    needs is kept, compressed, in `removed/` until they are purged. Raises as `set_trust`.
    """
    gone = chosen(store, where)
    if dry_run or not gone:
        return ChangeReport(tuple(gone), dry_run=dry_run)
    folder = store.cache_folder / REMOVED
    with writing_copies(store.cache_folder, _COPIES_WAIT_S, Disk()):
        make_folder(folder, Disk())
        for one in gone:
            replace_file(folder / f"{one.id}{_SEALED}", zlib.compress(as_entry(one), 9), Disk())
        store.remove([one.id for one in gone], reason="removed by request")
        _forget_copies(store, gone)
    try:
        prune(store, generations)
    except (StorageError, LockedError) as error:  # the records are gone; what is left goes with the next generation
        return ChangeReport(tuple(gone), warning=f"the index still holds their words: {error}")
    finally:
        forget_texts()
    return ChangeReport(tuple(gone))


def _forget_copies(store: ExperienceStore, gone: Sequence[Experience]) -> None:
    """Take records that are gone out of the view and the audit log. The caller holds the lock of the copies."""
    view = Path(store.location) / VIEW
    if isinstance(store, FileStore) and is_there(view, Disk()):
        write_view(store, view)
    AuditLog(store.cache_folder / AUDIT).forget(text for one in gone for text in (one.state.request, one.state.task))


def undo_remove(store: ExperienceStore, ids: Sequence[str]) -> list[Experience]:
    """Bring records back as they were when they were removed; in a signed store they come back quarantined.

    Raises:
        NotFoundError, UsageError: no removed record, or several, have an id that begins so.
    """
    known = _removed_files(store)
    back = []
    for id in resolve_among(list(known), ids, "no removed record"):
        entry = _read_removed(known[id])
        signed = isinstance(store, FileStore) and signer_from_environment(Path(store.location)) is not None
        back.append(entry.model_copy(update={"trust": Trust.QUARANTINED}) if signed else entry)
    store.add(back, revive=True)
    with storage_errors(store.cache_folder / REMOVED):
        for one in back:
            known[one.id].unlink()
    return [store.get(one.id) for one in back]


def _removed_files(store: ExperienceStore) -> dict[str, Path]:
    """Id → file of what was removed and not purged; earlier versions kept it as plain JSON."""
    folder = store.cache_folder / REMOVED
    files = sorted(folder.glob("*.json*")) if folder.is_dir() and not folder.is_symlink() else []
    return {id: path for path in files if is_id(id := path.name.partition(".")[0])}


def _read_removed(path: Path) -> Experience:
    data = read_regular(path, MAX_RECORD_BYTES)
    if path.name.endswith(_SEALED):
        try:
            data = zlib.decompressobj().decompress(data, MAX_RECORD_BYTES)
        except zlib.error as error:
            raise CorruptError(f"damaged: {error}", file=str(path)) from error
    return validate(Experience, parse(data, file=str(path)))


def _purge_removed(store: ExperienceStore, where: RecordFilter, named: set[str] | None) -> list[Experience]:
    """Delete what `remove` kept and the filter means, and what cannot be read any more; returns what it was."""
    gone = []
    for id, path in _removed_files(store).items():
        if named is not None and id not in named:
            continue
        try:
            one = _read_removed(path)
        except DataError:
            one = None
        if one is None or where.admits(one):
            with storage_errors(path):
                path.unlink(missing_ok=True)
            gone += [one] if one else []
    return gone


def purge(store: ExperienceStore, generations: Generations, where: RecordFilter | str) -> list[Experience]:
    """Erase records, and whatever was derived from them. A text is a source: a file, a folder above it, or a session.

    Gone afterwards: records, cached vectors, every generation of the index that held them, copies of damaged files
    that mention them, and their part of `experience.yaml`. Returns what the records were.

    Raises:
        StorageError: something could not be deleted, and the message names it; run the same purge again.
        CorruptError: all this is done, but a file that cannot be read may be meant too; it is named.
        LockedError: another process is writing.
    """
    where = RecordFilter(source=where) if isinstance(where, str) else where
    if where.is_empty:
        raise UsageError("which records? give a source, ids, a filter (application, session, …), or all")
    folder = Path(store.location) if isinstance(store, FileStore) else None
    if isinstance(store, FileStore):
        store.set_aside_corrupt()
    known = [*store.ids(), *_removed_files(store)]
    named = set(resolve_among(known, where.ids)) if where.ids else None
    with writing_copies(store.cache_folder, _COPIES_WAIT_S, Disk()):
        survey = _survey(store, where, named)
        survey.found += _purge_removed(store, where, named)
        (store.cache_folder / CACHE_FILE).unlink(missing_ok=True)
        if folder:
            forms = {where.source or "", _in_json(where.source or "")} - {""}
            spelled = [f'"{form}{end}' for form in forms for end in ('"', "/", "\\")]
            _purge_copies(folder / CORRUPT, [*spelled, *(text for one in survey.found for text in _texts(one))])
        store.remove([one.id for one in survey.found], reason="purged")
        _forget_copies(store, survey.found)
    prune(store, generations)
    forget_texts()
    for error in survey.unread:
        raise CorruptError(f"may be meant too: {error.reason}", file=error.file, code=error.code)
    return survey.found


@dataclass
class _Survey:
    """The records of a source, the texts others are embedded by, and why some could not be read."""

    found: list[Experience] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    unread: list[DataError] = field(default_factory=list)


def _survey(store: ExperienceStore, where: RecordFilter, named: set[str] | None) -> _Survey:
    survey = _Survey()
    for id in store.ids():
        try:
            one = store.get(id)
        except NotFoundError:
            continue
        except DataError as error:
            survey.unread.append(error)
            continue
        if (named is None or id in named) and where.admits(one):
            survey.found.append(one)
        else:
            survey.kept.add(embedded_text(one))
    return survey


def _texts(one: Experience) -> list[str]:
    return [one.id, one.state.request, one.state.task, one.provenance.source, one.provenance.session]


def _purge_copies(folder: Path, texts: Iterable[str]) -> None:
    """Delete files that were set aside and hold one of the texts, as they stand in a record or plain.

    Links, pipes and folders among them go as well: they are no files of this store, and nobody looks into them.
    """
    wanted = {form.encode("utf-8", "replace") for text in texts if text for form in (text, _in_json(text))}
    with storage_errors(folder):
        for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
            if path.is_file() and not path.is_symlink():
                data = read_regular(path, MAX_COPY_BYTES)
                if any(text in data for text in wanted):
                    path.unlink(missing_ok=True)
            else:
                remove_tree(path, Disk())


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
