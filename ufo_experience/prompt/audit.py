"""The trail of injections: one JSON line for each prompt that memory added to; a purge takes out what it must.

It answers "which record reached which prompt" and holds no text of a prompt: both stand in it as hashes. Of a
task nothing was known for it holds the wording with its values masked, so that people see what to teach next; and it
says who changed which records.
"""

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from ufo_experience.errors import LockedError, StorageError
from ufo_experience.prompt.builder import PromptBlock
from ufo_experience.redact import redact_text
from ufo_experience.request import Request
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.schema import Hit
from ufo_experience.store.files import append, patiently, read_regular, replace_file, storage_errors, writer_lock

FILE = "audit.jsonl"
MAX_TASK = 300  # characters of a task nothing was known for
MAX_ROWS = 5_000
MAX_FILE = 4 << 20  # bytes; then the file becomes `audit.jsonl.1` and a new one begins: 5,000 prompts and more
MAX_LOG = 2 * MAX_FILE
_LOCK, _WAIT_S = ".audit.lock", 1.0
_log = logging.getLogger(__name__)


class AuditLog:
    """Appends to one file; threads and processes may write at once, under a lock of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def injection(self, task: str, hits: Sequence[Hit], block: PromptBlock, found: Sequence[Hit]) -> None:
        """Note a prompt: time, hash of the (redacted) query, what was shown of what was `found` and why, its hash."""
        shown = {hit.id: hit for hit in hits}
        row = {
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
        self._note({"unanswered": row})

    def change(self, actor: str, verb: str, ids: Sequence[str]) -> None:
        """Note who changed which records, and how."""
        self._note({"actor": actor, "change": verb, "ids": list(ids)})

    def forget(self, texts: Iterable[str]) -> None:
        """Take out the rows of tasks nothing was known for that say one of these texts: what is purged is there, too.

        Raises `StorageError`.
        """
        rows = (f'"task": {json.dumps(text, ensure_ascii=False)}' for text in {_masked(text) for text in texts} - {""})
        wanted = [row.encode("utf-8", "replace") for row in rows]
        for path in (self.path, self._older):
            if wanted and path.is_file() and not path.is_symlink():
                with writer_lock(path.parent, _WAIT_S, _LOCK):
                    lines = read_regular(path, MAX_LOG).splitlines(keepends=True)
                    kept = [line for line in lines if not any(text in line for text in wanted)]
                    if len(kept) < len(lines):
                        replace_file(path, b"".join(kept))

    def rows(self, limit: int = MAX_ROWS) -> list[dict[str, Any]]:
        """The last rows, oldest first; [] when nothing was noted yet. What is no row is left out.

        Raises:
            DataError: the file cannot be read.
        """
        there = [path for path in (self._older, self.path) if path.exists()]
        lines = [line for path in there for line in read_regular(path, MAX_LOG).splitlines()]
        found = []
        for line in lines[-limit:]:
            with suppress(ValueError, RecursionError):
                found.append(json.loads(line))
        return [row for row in found if isinstance(row, dict)]

    @property
    def _older(self) -> Path:
        return self.path.with_name(f"{self.path.name}.1")

    def _note(self, row: Mapping[str, Any]) -> None:
        """Append a row. A disk that takes none costs no answer, only a warning."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        data = json.dumps({"time": now, **row}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            with writer_lock(self.path.parent, _WAIT_S, _LOCK), storage_errors(self.path):
                if self.path.exists() and self.path.stat().st_size + len(data) > MAX_FILE:
                    patiently(os.replace, self.path, self._older)
                append(self.path, data, sync=False)
        except (LockedError, StorageError) as error:
            _log.warning("this is not in the audit log: %s", error)


def _masked(task: str) -> str:
    return Request.parse(redact_text(task)).masked[:MAX_TASK]


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
