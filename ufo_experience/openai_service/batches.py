"""The Batch API: files of requests that are answered within a day, at half the price."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufo_experience.errors import StorageError
from ufo_experience.openai_service.client import BATCH, FILE, OpenAIService

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch

MAX_LINES = 50_000
MAX_BYTES = 190_000_000  # the service allows 200 MB
TAG = "ufo_experience_job"  # the key of our own mark among a batch's metadata
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_PAGE = 100
_CHUNK = 1 << 16


@dataclass(frozen=True)
class BatchStatus:
    """A batch as the service sees it; `reason` says why it failed, `files` are those that hold its results."""

    id: str
    status: str
    done: int = 0
    total: int = 0
    files: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def ended(self) -> bool:
        """True when nothing more will come."""
        return self.status in ENDED


class BatchService:
    """The calls a batch job needs, each through the one retry layer. All raise `ServiceError`."""

    def __init__(self, service: OpenAIService) -> None:
        self.service = service

    def upload(self, path: Path, name: str) -> str:
        """Upload a file of requests, in one request as `create`; returns its id."""

        def send(client: OpenAI) -> str:
            with path.open("rb") as stream:
                return client.files.create(file=(name, stream), purpose="batch").id

        return self.service.call(send, FILE, what=f"uploading {name}", attempts=1)

    def find_upload(self, name: str) -> str | None:
        """The id of a file that was uploaded under this name."""
        for one in self._pages(lambda client, page: client.files.list(purpose="batch", **page)):
            if one.filename == name:
                return str(one.id)
        return None

    def create(self, file_id: str, endpoint: str, tag: str) -> BatchStatus:
        """Begin the work, in one request: whether one that failed on its way began it, only `find` can tell."""

        def send(client: OpenAI) -> Batch:
            return client.batches.create(
                input_file_id=file_id,
                endpoint=endpoint,  # type: ignore[arg-type]
                completion_window="24h",
                metadata={TAG: tag},
            )

        return _status(self.service.call(send, BATCH, what="submitting a batch", attempts=1))

    def find(self, tag: str, file_id: str) -> BatchStatus | None:
        """The batch that was made with this tag, or of this file."""
        for one in self._pages(lambda client, page: client.batches.list(**page)):
            if (one.metadata or {}).get(TAG) == tag or one.input_file_id == file_id:
                return _status(one)
        return None

    def status(self, batch_id: str) -> BatchStatus:
        """How far it is."""
        return _status(
            self.service.call(lambda client: client.batches.retrieve(batch_id), BATCH, what=f"looking at {batch_id}")
        )

    def download(self, file_id: str, path: Path) -> None:
        """Write a result file to `path`, new or over what is there, without holding it in memory."""

        def send(client: OpenAI) -> None:
            with client.files.with_streaming_response.content(file_id) as reply:
                try:
                    with open(path, "wb", opener=private) as stream:
                        for chunk in reply.iter_bytes(_CHUNK):
                            stream.write(chunk)
                except OSError as error:
                    raise StorageError(f"{path}: {error.strerror or error}") from error

        self.service.call(send, FILE, what=f"downloading {file_id}")

    def delete(self, file_id: str) -> None:
        """Delete a file at the service."""
        self.service.call(lambda client: client.files.delete(file_id), BATCH, what=f"deleting {file_id}")

    def _pages(self, ask: Callable[[OpenAI, dict[str, Any]], Any]) -> Iterator[Any]:
        """Every item of a list, newest first, one request for each page."""
        place: dict[str, Any] = {"limit": _PAGE}
        while True:
            page = self.service.call(partial(_ask_page, ask, place), BATCH, what="listing files or batches")
            yield from page.data
            if not page.data or not getattr(page, "has_more", False):
                return
            place = {"limit": _PAGE, "after": page.data[-1].id}


def _ask_page(ask: Callable[[OpenAI, dict[str, Any]], Any], place: dict[str, Any], client: OpenAI) -> Any:
    return ask(client, place)


def private(path: str, flags: int) -> int:
    """An opener for files that only their owner may read."""
    return os.open(path, flags, 0o600)


def _status(batch: Batch) -> BatchStatus:
    counts = batch.request_counts
    faults = (batch.errors.data or []) if batch.errors else []
    return BatchStatus(
        batch.id,
        batch.status,
        counts.completed if counts else 0,
        counts.total if counts else 0,
        tuple(one for one in (batch.output_file_id, batch.error_file_id) if one),
        "; ".join(f"{one.code}: {one.message}" for one in faults[:3]) or None,
    )
