"""What is known of batch jobs under way, durable before each step that costs money. Holds no text and no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ufo_experience.errors import CorruptError, LockedError
from ufo_experience.store.atomic import replace_file, storage_errors
from ufo_experience.store.disk import Disk

FILE = "batch_jobs.json"
_LOCK = "batch_jobs.lock"


@dataclass(frozen=True)
class Job:
    """One batch: planned (no file), uploaded (no batch), or submitted. `booked` US dollars are taken on `day`."""

    tag: str
    embedder: str
    endpoint: str
    lines: int
    tokens: int
    booked: float
    day: str
    created: str
    file_id: str = ""
    batch_id: str = ""

    @property
    def name(self) -> str:
        """Of the file at the service."""
        return f"{self.tag}.jsonl"


class JobBook:
    """The jobs of a store, in one small file of its cache folder."""

    def __init__(self, folder: Path, *, lock_timeout: float) -> None:
        self._path, self._timeout = folder / FILE, lock_timeout
        self._lock = FileLock(folder / _LOCK)
        self._disk = Disk()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from working on the same jobs. Raises `LockedError`."""
        with storage_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=self._timeout)
            except Timeout as error:
                raise LockedError("another process is working on the batch jobs of this store") from error
        try:
            yield
        finally:
            self._lock.release()

    def jobs(self) -> list[Job]:
        """Raises `CorruptError` when the file cannot be read: what it names may be paid for."""
        try:
            data = json.loads(self._path.read_bytes())
            return [Job(**one) for one in data["jobs"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            advice = "look for its batches at the service (metadata ufo_experience_job), then delete the file"
            raise CorruptError(f"{error}; {advice}", file=str(self._path)) from error

    def save(self, job: Job) -> None:
        """Write a job down, new or in place of what was known of it. On the disk when it returns."""
        self._write([*(one for one in self.jobs() if one.tag != job.tag), job])

    def drop(self, job: Job) -> None:
        """Forget a job."""
        self._write([one for one in self.jobs() if one.tag != job.tag])

    def _write(self, jobs: list[Job]) -> None:
        data = {"version": 1, "jobs": [asdict(one) for one in jobs]}
        replace_file(self._path, json.dumps(data, indent=1).encode("utf-8"), self._disk)
