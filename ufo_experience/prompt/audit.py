"""The trail of injections: one JSON line for each prompt that memory added to, appended and never rewritten.

It answers "which record reached which prompt" and holds no text: the query and the prompt stand in it as hashes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from ufo_experience.errors import StorageError
from ufo_experience.fileio.atomic import Disk, storage_errors
from ufo_experience.prompt.builder import PromptBlock
from ufo_experience.redaction import redact_text
from ufo_experience.retrieval.answer import Retrieval
from ufo_experience.schema import Hit

FILE = "audit.jsonl"
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
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "query_sha256": _digest(redact_text(task)),
            **_answer(found),
            "injected": [_row(shown[identifier]) for identifier in block.ids],
            "tokens": block.tokens,
            "prompt_sha256": _digest(json.dumps(block.prompt, ensure_ascii=False, sort_keys=True)),
        }
        try:
            self._append(row)
        except StorageError as error:
            _log.warning("this injection is not in the audit log: %s", error)

    def _append(self, row: Mapping[str, Any]) -> None:
        data = json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n"
        with storage_errors(self.path):
            handle = self._disk.append(self.path)
            try:
                while data:
                    data = data[self._disk.write(handle, data) :]
            finally:
                self._disk.close(handle)


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
