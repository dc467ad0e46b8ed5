"""What is in a store: counts, sources, and what `verify` found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from ufo_experience.schema import Experience, Problem, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.files import storage_errors
from ufo_experience.store.folder import FolderStore
from ufo_experience.trust.policy import TrustPolicy
from ufo_experience.trust.risk import risks


@dataclass
class Verification:
    """What `verify` found. `index` is ok or damaged, with the reasons in `corrupt`; `repaired` was set aside."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)
    index: str = "ok"
    repaired: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class SourceInfo:
    """Records of one source (a log file or an import): how many, of which format, when the newest was made."""

    source: str
    format: str
    records: int
    newest: datetime


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
    indexed: int = 0
    threshold: float | None = None


def stats(store: ExperienceStore, policy: TrustPolicy) -> StoreStats:
    """Count what is in a store; reads every record. `policy` says what needs a new look."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("trust", "outcome", "application", "format")}
    records = risky = again = 0
    used: Counter[str] = Counter()
    times: list[datetime] = []
    for one in store.scan():
        records += 1
        counts["trust"][one.trust.value] += 1
        counts["outcome"][{True: "success", False: "failure", None: "unknown"}[one.outcome.success]] += 1
        counts["application"][one.state.application or "-"] += 1
        counts["format"][one.provenance.format or "-"] += 1
        risky += bool(one.trust is not Trust.APPROVED and risks(one))
        used.update(injected=one.usage.injected, helped=one.usage.helped, hurt=one.usage.hurt)
        again += policy.look_again(one) is not None
        times.append(one.created_at)
    return StoreStats(
        location=store.location,
        records=records,
        trust=dict(counts["trust"].most_common()),
        outcome=dict(counts["outcome"].most_common()),
        applications=dict(counts["application"].most_common()),
        formats=dict(counts["format"].most_common()),
        risky=risky,
        injected=used["injected"],
        helped=used["helped"],
        hurt=used["hurt"],
        look_again=again,
        oldest=min(times, default=None),
        newest=max(times, default=None),
        bytes=_size(store.root) if isinstance(store, FolderStore) else None,
    )


def _size(folder: Path) -> int:
    with storage_errors(folder):
        return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


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


def known_sources(store: ExperienceStore, source: str, limit: int = 3) -> list[str]:
    """The sources and sessions of a store that are spelled most like `source`, best first."""
    known = {name for one in store.scan() for name in (one.provenance.source, one.provenance.session) if name}
    return get_close_matches(source, sorted(known), n=limit, cutoff=0.0)
