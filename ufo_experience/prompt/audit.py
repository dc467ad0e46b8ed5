"""The trail of injections: one JSON line for each prompt that memory added to, appended; only a purge blanks some.

It answers "which record reached which prompt" and holds no text of a prompt: both stand in it as hashes. Of a
task nothing was known for it holds the wording with its values masked, so that people see what to teach next; and it
says who changed which records.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from ufo_experience.errors import StorageError
from ufo_experience.prompt.builder import PromptBlock
from ufo_experience.redact import redact_text
from ufo_experience.request import Request
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.schema import Hit
from ufo_experience.store.files import Disk, open_regular, storage_errors

FILE = "audit.jsonl"
MAX_TASK = 300  # characters of a task nothing was known for
MAX_ROWS = 5_000
ROW_BYTES = 1_000  # of a row, about
MAX_LOG = 1 << 32
_BLOCK = 1 << 20
_log = logging.getLogger(__name__)


class AuditLog:
    """Appends to one file; threads and processes may write at once, each line is one write."""

    def __init__(self, path: Path, *, disk: Disk | None = None) -> None:
        self.path, self._disk = path, disk or Disk()

    def injection(self, task: str, hits: Sequence[Hit], block: PromptBlock, found: Sequence[Hit]) -> None:
        """Note a prompt: time, hash of the (redacted) query, what was shown and why, hash of the prompt.

        `found` is the answer the hits came from. A disk that takes no row costs no prompt, only a warning.
        """
        shown = {hit.experience.id: hit for hit in hits if hit.experience.id in block.ids}
        row = {
            "time": _now(),
            "query_sha256": _digest(redact_text(task)),
            **_answer(found),
            "injected": [_row(shown[identifier]) for identifier in block.ids],
            "tokens": block.tokens,
            "prompt_sha256": _digest(json.dumps(block.prompt, ensure_ascii=False, sort_keys=True)),
        }
        self._note(row)

    def unanswered(self, task: str, found: Retrieval) -> None:
        """Note a task nothing was known for: what should be taught next. Values are masked, the rest is redacted."""
        row = {"task": _masked(task), "reason": found.reason, **_answer(found)}
        self._note({"time": _now(), "unanswered": row})

    def change(self, actor: str, verb: str, ids: Sequence[str]) -> None:
        """Note who changed which records, and how."""
        self._note({"time": _now(), "actor": actor, "change": verb, "ids": list(ids)})

    def forget(self, texts: Iterable[str]) -> None:
        """Blank the rows of tasks nothing was known for that say one of these texts: what is purged is there, too.

        They are overwritten where they stand, so that no row another process appends is lost. Raises `StorageError`.
        """
        wanted = [_quoted(text) for text in {_masked(text) for text in texts} - {""}]
        if not wanted or not self.path.is_file() or self.path.is_symlink():
            return
        with storage_errors(self.path):
            handle = self._disk.change(self.path)
            try:
                offset = 0
                for line in self._lines(handle):
                    if any(text in line for text in wanted):
                        self._disk.seek(handle, offset)
                        self._disk.write(handle, b" " * (len(line) - 1))
                    offset += len(line)
            finally:
                self._disk.close(handle)

    def _lines(self, handle: int) -> list[bytes]:
        parts = []
        while part := self._disk.read(handle, _BLOCK):
            parts.append(part)
        return b"".join(parts).splitlines(keepends=True)

    def rows(self, limit: int = MAX_ROWS) -> list[dict[str, Any]]:
        """The last rows, oldest first; [] when nothing was noted yet. What is no row is left out.

        Raises:
            StorageError: the file cannot be read.
        """
        if not self.path.exists():
            return []
        with storage_errors(self.path):
            tail = read_tail(self.path, limit * ROW_BYTES)
        rows = (_parsed(line) for line in tail.splitlines()[-limit:])
        return [row for row in rows if row is not None]

    def _note(self, row: Mapping[str, Any]) -> None:
        """A disk that takes no row costs no answer, only a warning."""
        try:
            self._append(row)
        except StorageError as error:
            _log.warning("this is not in the audit log: %s", error)

    def _append(self, row: Mapping[str, Any]) -> None:
        data = json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n"
        with storage_errors(self.path):
            handle = self._disk.append(self.path)
            try:
                while data:
                    data = data[self._disk.write(handle, data) :]
            finally:
                self._disk.close(handle)


def _masked(task: str) -> str:
    return Request.parse(redact_text(task)).masked[:MAX_TASK]


def _quoted(text: str) -> bytes:
    return f'"task": {json.dumps(text, ensure_ascii=False)}'.encode("utf-8", "replace")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def read_tail(path: Path, size: int) -> bytes:
    """The last `size` bytes of a regular file, from the beginning of a line on."""
    with open_regular(path, MAX_LOG) as stream:
        length = stream.seek(0, 2)
        stream.seek(max(0, length - size))
        data: bytes = stream.read(size)
    return data if length <= size else data.partition(b"\n")[2]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _answer(found: Sequence[Hit]) -> dict[str, Any]:
    if not isinstance(found, Retrieval):
        return {}
    return {"engine": found.embedder, "threshold": found.threshold, "withheld": len(found.withheld)}


def _row(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.experience.id,
        "score": hit.score,
        "ranked_by": hit.ranked_by,
        "trust": hit.experience.trust.value,
        "success": hit.experience.outcome.success,
    }


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()
