"""A batch job from the texts that have no vector yet to vectors in the cache, one careful step at a time.

    plan → write the job down → upload → write down the file → submit → write down the batch → … → collect → forget

A process may die between any two steps. What was written down says how far it came; where a step may have been done
without being written down, the service is asked (by file name, by our tag among a batch's metadata) before it is
done again. So no text is paid for twice. Lines that expired are still missing afterwards and go into the next job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ufo_experience.batch.book import Job, JobBook
from ufo_experience.batch.lines import EXPIRED, Answer, read_answers, write_input
from ufo_experience.batch.submitting import Submitter
from ufo_experience.embedding.base import Vectors
from ufo_experience.embedding.cache import CachedEmbedder, text_hash
from ufo_experience.embedding.openai import OpenAIEmbedder
from ufo_experience.errors import ServiceError, StorageError, UsageError
from ufo_experience.openai_service.batches import MAX_LINES, BatchService, BatchStatus
from ufo_experience.store.atomic import storage_errors

MAX_DIRECT = 100  # texts that may be left to ordinary requests, at the full price
FIRST_PAUSE_S, LONGEST_PAUSE_S = 10.0, 300.0
_CHUNK = 500

Texts = Callable[[], Iterator[list[str]]]


@dataclass(frozen=True)
class BatchProgress:
    """Where the jobs stand. `jobs` are under way; with none, the index can be made from the cache.

    `lines` and `done` are theirs; `collected` vectors came in now, `submitted` texts went out, `cost` is what the
    collected ones have cost.
    """

    jobs: tuple[str, ...] = ()
    lines: int = 0
    done: int = 0
    collected: int = 0
    submitted: int = 0
    cost: float = 0.0


@dataclass
class _Harvest:
    """What came back in one call."""

    ended: int = 0
    vectors: int = 0
    expired: int = 0
    cost: float = 0.0
    reason: str = ""


class BatchJobs:
    """The batch jobs of one store and embedder. `texts` gives what has no vector in the index, in windows.

    Raises:
        UsageError: this embedder has no Batch API, or no cache to keep its vectors in.
    """

    def __init__(
        self, embedder: object, folder: Path, texts: Texts, *, lock_timeout: float = 10.0, max_lines: int = MAX_LINES
    ) -> None:
        if not isinstance(embedder, CachedEmbedder) or not isinstance(embedder.embedder, OpenAIEmbedder):
            raise UsageError("batches are for OpenAI's models: use --embedder openai:MODEL, or go without --batch")
        if embedder.embedder.service.settings.azure_endpoint:
            raise UsageError("batches on Azure need a deployment of their own kind: go without --batch")
        self._cached, self._embedder = embedder, embedder.embedder
        self._ledger = self._embedder.service.ledger
        self._service = BatchService(self._embedder.service)
        self._folder, self._texts, self._max_lines = folder, texts, max_lines
        self._book = JobBook(folder, lock_timeout=lock_timeout)
        self._submitter = Submitter(self._embedder, self._service, self._book)

    def advance(self) -> BatchProgress:
        """Do what can be done now: finish submitting, look, collect, submit what is missing. Waits for nothing.

        Raises:
            ServiceError: a batch failed (it is forgotten; run again to submit anew), or the service cannot answer.
            BudgetError: a cap would be passed; what was submitted before stays submitted.
            LockedError: another process is working on the jobs.
        """
        with self._book.alone(), self._tidy():
            found = _Harvest()
            running = [status for job in self._mine() if (status := self._look(job, found))]
            submitted = 0
            if not running and self._is_more_to_submit(found):
                submitted = self._submit()
            mine = self._mine()
        return BatchProgress(
            tuple(job.batch_id for job in mine),
            sum(job.lines for job in mine),
            sum(status.done for status in running),
            found.vectors,
            submitted,
            found.cost,
        )

    def _mine(self) -> list[Job]:
        service = self._embedder.service.settings
        me = (self._embedder.name, service.endpoint)
        return [job for job in self._book.jobs() if (job.embedder, job.endpoint) == me]

    # ---------------------------------------------------------------- submitting

    def _submit(self) -> int:
        """Submit every text that is missing, in as many jobs as it takes; returns how many texts."""
        if self._embedder.known_dim is None:
            self._embedder.embed(["length"], "query")  # keys of the cache need it
        items, submitted = self._missing(), 0
        while part := write_input(self._temp("in"), self._embedder, items, max_lines=self._max_lines):
            self._submitter.begin(part)
            submitted += part.lines
        return submitted

    def _missing(self) -> Iterator[tuple[bytes, str]]:
        """Texts that have a vector neither in the index nor in the cache, each once."""
        seen: set[bytes] = set()
        for window in self._texts():
            for key, text in self._cached.missing(window).items():
                if key not in seen:
                    seen.add(key)
                    yield key, text

    # ---------------------------------------------------------------- looking and collecting

    def _look(self, job: Job, found: _Harvest) -> BatchStatus | None:
        """The status of a job that still runs; one that has ended is collected, one never begun is begun or dropped."""
        under_way = self._submitter.resume(job)
        if under_way is None:
            return None
        status = self._service.status(under_way.batch_id)
        if not status.ended:
            return status
        self._collect(under_way, status, found)
        return None

    def _collect(self, job: Job, status: BatchStatus, found: _Harvest) -> None:
        """Take the vectors of an ended batch into the cache, then forget the job."""
        wanted = {key: text_hash(text) for key, text in self._missing()}
        answers, tokens, good = 0, 0, 0
        for file_id in status.files:
            path = self._temp("out")
            self._service.download(file_id, path)
            rows = read_answers(path, self._embedder.known_dim)
            while chunk := list(islice(rows, _CHUNK)):
                answers += len(chunk)
                tokens += sum(one.tokens for one in chunk)
                good += self._keep(chunk, wanted)
                found.expired += sum(one.code == EXPIRED for one in chunk)
                wrong = next((one for one in chunk if one.vector is None and one.code != EXPIRED), None)
                found.reason = found.reason or (f"{wrong.code}: {wrong.reason}" if wrong else "")
        found.cost += self._ledger.settle_later(self._embedder.model, job.day, job.booked, tokens)
        found.ended, found.vectors = found.ended + 1, found.vectors + good
        if answers < job.lines:
            found.reason = found.reason or f"{job.lines - answers} of {job.lines} answers are missing"
        self._book.drop(job)
        self._submitter.delete(job.file_id, *status.files)
        if status.status in ("failed", "cancelled"):
            why = status.reason or found.reason or "no reason given"
            raise ServiceError(
                f"batch {job.batch_id} {status.status}: {why}; {good} vectors were kept, run again to submit the rest",
                code="E_BATCH",
            )

    def _keep(self, chunk: list[Answer], wanted: dict[bytes, bytes]) -> int:
        """Put what is wanted into the cache. What was removed or purged meanwhile is wanted no more."""
        fitting = {one.key: one.vector for one in chunk if one.vector is not None and one.key in wanted}
        vectors: dict[bytes, Vectors] = {key: vector for key, vector in fitting.items() if vector is not None}
        if vectors:
            self._cached.cache.put((key, wanted[key], vector) for key, vector in vectors.items())
            if len(self._cached.cache.get(list(vectors), None)) < len(vectors):
                raise StorageError(f"paid vectors cannot be kept, they stay at the service: {self._cached.warning}")
        return len(vectors)

    def _is_more_to_submit(self, found: _Harvest) -> bool:
        """Whether another job is needed. A few texts that failed go the ordinary way, which says what is wrong."""
        left = sum(1 for _ in self._missing())
        if not left or (found.ended and not found.expired and left <= MAX_DIRECT):
            return False
        if found.ended and not found.vectors and found.reason:
            raise ServiceError(f"no line of the batch was answered: {found.reason}", code="E_BATCH")
        return True

    # ---------------------------------------------------------------- tidying up

    def _temp(self, kind: str) -> Path:
        """A file that a purge sweeps away, should this process die."""
        return self._folder / f".batch-{kind}.tmp"

    @contextmanager
    def _tidy(self) -> Iterator[None]:
        """Leave no file of texts or vectors behind, nor one that a process left that died."""
        try:
            yield
        finally:
            with storage_errors(self._folder):
                for kind in ("in", "out"):
                    self._temp(kind).unlink(missing_ok=True)


def wait_for(
    jobs: BatchJobs, tell: Callable[[BatchProgress], None], *, sleep: Callable[[float], None] = time.sleep
) -> BatchProgress:
    """Advance until no job is under way, with growing pauses; `tell` hears of each look. Raises as `advance`."""
    pause, vectors, cost = FIRST_PAUSE_S, 0, 0.0
    while True:
        now = jobs.advance()
        vectors, cost = vectors + now.collected, cost + now.cost
        if not now.jobs:
            return replace(now, collected=vectors, cost=cost)
        tell(now)
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)
