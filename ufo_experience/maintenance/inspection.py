"""What is in a store and whether it is whole: counts, sources, verification, repair."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ufo_experience.errors import CorruptError, FormatVersionError, IndexMismatchError
from ufo_experience.store.files import storage_errors
from ufo_experience.index.build import check_origin, is_outdated, load_snapshot
from ufo_experience.index.generations import Generations, ids_digest
from ufo_experience.index.snapshot import Snapshot
from ufo_experience.schema import Experience, Problem, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.folder.store import FileStore
from ufo_experience.trust.policy import TrustPolicy
from ufo_experience.trust.risk import risks


@dataclass
class Verification:
    """What `verify` found. `index` is ok, stale (behind the records), corrupt or missing; `repaired` was set aside."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)
    index: str = "missing"
    generation: int = 0
    repaired: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class SourceInfo:
    """Records of one source (a log file or an import): how many, of which format, when the newest was made."""

    source: str
    format: str
    records: int
    newest: datetime


def sources(store: ExperienceStore) -> list[SourceInfo]:
    """Where the records came from, the newest first; records added by a program have the source ""."""
    found: dict[tuple[str, str], list[Experience]] = {}
    for one in store.scan():
        found.setdefault((one.provenance.source, one.provenance.format), []).append(one)
    infos = [
        SourceInfo(source, format, len(records), max(one.created_at for one in records))
        for (source, format), records in found.items()
    ]
    return sorted(infos, key=lambda info: (info.newest, info.source), reverse=True)


@dataclass(frozen=True)
class StoreStats:
    """What is in a store. The counts are by name, the most frequent first; `bytes` is what a folder takes on disk."""

    location: str
    records: int
    trust: dict[str, int]
    outcome: dict[str, int]
    applications: dict[str, int]
    formats: dict[str, int]
    risky: int
    injected: int
    helped: int
    hurt: int
    look_again: int
    oldest: datetime | None
    newest: datetime | None
    bytes: int | None
    embedder: str | None = None
    generation: int = 0
    indexed: int = 0
    threshold: float | None = None


def stats(store: ExperienceStore, snapshot: Snapshot, policy: TrustPolicy) -> StoreStats:
    """Count what is in a store and its index; reads every record. `policy` says what needs a new look."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("trust", "outcome", "application", "format")}
    injected = helped = hurt = risky = again = 0
    times: list[datetime] = []
    for one in store.scan():
        counts["trust"][one.trust.value] += 1
        counts["outcome"][{True: "success", False: "failure", None: "unknown"}[one.outcome.success]] += 1
        counts["application"][one.state.application or "-"] += 1
        counts["format"][one.provenance.format or "-"] += 1
        risky += bool(one.trust is not Trust.APPROVED and risks(one))
        injected, helped, hurt = injected + one.usage.injected, helped + one.usage.helped, hurt + one.usage.hurt
        again += policy.look_again(one) is not None
        times.append(one.created_at)
    manifest = snapshot.manifest
    calibration = manifest.calibration if manifest else None
    return StoreStats(
        location=store.location,
        records=len(times),
        trust=dict(counts["trust"].most_common()),
        outcome=dict(counts["outcome"].most_common()),
        applications=dict(counts["application"].most_common()),
        formats=dict(counts["format"].most_common()),
        risky=risky,
        injected=injected,
        helped=helped,
        hurt=hurt,
        look_again=again,
        oldest=min(times, default=None),
        newest=max(times, default=None),
        bytes=_size(Path(store.location)) if isinstance(store, FileStore) else None,
        embedder=manifest.embedder if manifest else None,
        generation=manifest.generation if manifest else 0,
        indexed=len(snapshot.index),
        threshold=calibration.threshold if calibration else None,
    )


def _size(folder: Path) -> int:
    with storage_errors(folder):
        return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def repair(store: ExperienceStore) -> list[Problem]:
    """Set aside what cannot be used, with the reason beside it; returns what it was. Caches are made again later."""
    return store.set_aside_corrupt() if isinstance(store, FileStore) else []


def verify(store: ExperienceStore, generations: Generations) -> Verification:
    """Read every byte of records, index, cached vectors and verdicts."""
    records = store.verify()
    found = Verification(records.records, list(records.corrupt))
    try:
        generation = generations.current()
        if generation is None:
            return found
        found.generation = generation.manifest.generation
        generation.check()
        check_origin(generation.manifest, store)
        snapshot = load_snapshot(store, generations)
    except (CorruptError, IndexMismatchError, FormatVersionError) as error:
        found.index = "corrupt"
        found.corrupt.append(Problem(file=error.file or "index", code=error.code, message=str(error)))
        return found
    indexed = generation.manifest.ids_digest
    if is_outdated(generation.manifest):
        indexed = ""
    elif snapshot is not None:  # with what was learned since the generation was published
        indexed = ids_digest(snapshot.catalog.ids())
    found.index = "ok" if indexed == ids_digest(store.ids()) else "stale"
    return found


def known_sources(store: ExperienceStore, source: str, limit: int = 3) -> list[str]:
    """The sources and sessions of a store that are spelled most like `source`, best first."""
    known = {name for one in store.scan() for name in (one.provenance.source, one.provenance.session) if name}
    return difflib.get_close_matches(source, sorted(known), n=limit, cutoff=0.0)
