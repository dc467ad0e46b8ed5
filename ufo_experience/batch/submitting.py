"""Getting a file of requests under way as a batch, once, whoever dies in between."""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from ufo_experience.batch.book import Job, JobBook
from ufo_experience.batch.lines import ENDPOINT, InputFile
from ufo_experience.embedding.openai import OpenAIEmbedder
from ufo_experience.errors import ServiceError
from ufo_experience.openai_service.batches import BatchService
from ufo_experience.openai_service.errors import OpenAICallError
from ufo_experience.openai_service.prices import BATCH_SHARE

_log = logging.getLogger(__name__)


class Submitter:
    """Writes down each step before or after it is done, and asks the service where it is not known which."""

    def __init__(self, embedder: OpenAIEmbedder, service: BatchService, book: JobBook) -> None:
        self._embedder, self._service, self._book = embedder, service, book
        self._ledger = embedder.service.ledger

    def begin(self, part: InputFile) -> None:
        """Book the price, write the job down, upload, submit. Raises `BudgetError` before anything is done."""
        with self._ledger.reserve(self._embedder.model, part.tokens, share=BATCH_SHARE) as bill:
            job = Job(
                tag=f"ufo-experience-{secrets.token_hex(8)}",
                embedder=self._embedder.name,
                endpoint=self._embedder.service.settings.endpoint,
                lines=part.lines,
                tokens=part.tokens,
                booked=bill.left,
                day=bill.day,
                created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            )
            self._book.save(job)
            bill.keep_open()
        job = replace(job, file_id=self._upload(part.path, job))
        self._book.save(job)
        self._create(job)

    def resume(self, job: Job) -> Job | None:
        """A job that somebody began, under way; None (and dropped) when not even its file reached the service."""
        if not job.file_id:  # no batch can exist without one
            job = replace(job, file_id=self._service.find_upload(job.name) or "")
            if not job.file_id:
                self.forget(job)
                return None
            self._book.save(job)
        if job.batch_id:
            return job
        known = self._service.find(job.tag, job.file_id)
        if known is None:
            return self._create(job)
        job = replace(job, batch_id=known.id)
        self._book.save(job)
        return job

    def forget(self, job: Job) -> None:
        """Drop a job that was never begun, and give back what was booked for it."""
        self._ledger.settle_later(self._embedder.model, job.day, job.booked, 0)
        self._book.drop(job)
        if job.file_id:
            self.delete(job.file_id)

    def delete(self, *files: str) -> None:
        """Delete files at the service; one that stays costs nothing, but holds texts or vectors."""
        left = list(files)
        try:
            while left:
                self._service.delete(left[0])
                left.pop(0)
        except ServiceError as error:
            _log.warning("files stay at the service: %s: %s", ", ".join(left), error)

    def _upload(self, path: Path, job: Job) -> str:
        """Upload once: a lost reply must not leave a second copy of the texts at the service."""
        try:
            return self._service.upload(path, job.name)
        except OpenAICallError as error:
            found = self._service.find_upload(job.name) if error.retryable else None
            if found is None:
                raise  # it is written down: the next run asks again, then plans anew
            return found

    def _create(self, job: Job) -> Job:
        """Submit an uploaded job. When the reply is lost, whether it was begun is asked before anything else."""
        try:
            status = self._service.create(job.file_id, ENDPOINT, job.tag)
        except OpenAICallError as error:
            if not error.retryable:
                self.forget(job)
                raise
            found = self._service.find(job.tag, job.file_id)
            if found is None:
                raise  # it is written down: the next run asks again, then submits it
            status = found
        job = replace(job, batch_id=status.id)
        self._book.save(job)
        return job
