"""The audit trail: one JSON line for each change, appended and never rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ufo_experience.session.files import StrPath, append_line
from ufo_experience.session.images import ImageMemoryItemNames
from ufo_experience.session.jsonform import dump


def append_event(path: StrPath, operation: str, details: Mapping[str, Any]) -> None:
    """Append `{"at": …, "operation": …, details}`; a picture is named by its path and not repeated in the trail.

    Raises:
        StorageError: the disk refused.
    """
    event = {"at": datetime.now(timezone.utc), "operation": operation, **details}
    if "item" in event:
        event["item"] = {key: value for key, value in event["item"].items() if key != ImageMemoryItemNames.IMAGE_STR}
    append_line(path, dump(event))
