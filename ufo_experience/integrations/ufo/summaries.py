"""What UFO's summarizer hands around: parts of a log, summaries of them, and the YAML file of summaries.

Parts and summaries are the dicts UFO knows. Each carries what it was made from as an attribute, so that the whole
record is stored and not only what UFO's form can say; a dict that somebody made or changed stands for itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from ufo_experience.errors import DataError, StorageError
from ufo_experience.integrations.formats.ufo_example import from_ufo_example, to_ufo_example
from ufo_experience.redact import redact_json
from ufo_experience.schema import Experience, Trajectory, Trust
from ufo_experience.session.files import dump, write_atomic
from ufo_experience.store.safe_yaml import load_yaml

_log = logging.getLogger(__name__)


class LogPart(dict[str, Any]):
    """A sub-task of a log: subtask_index, subtask, application, and `logs`, its steps."""

    def __init__(self, index: int, trajectory: Trajectory) -> None:
        steps = [step.model_dump(mode="json", exclude_none=True) for step in trajectory.steps]
        application = trajectory.applications[0] if trajectory.applications else ""
        super().__init__(subtask_index=index, subtask=trajectory.task, logs=steps, application=application)
        self.trajectory = trajectory


class Summary(dict[str, Any]):
    """UFO's summary of a sub-task: example, Tips, request, Sub-task, app_list."""

    def __init__(self, experience: Experience) -> None:
        super().__init__(to_ufo_example(experience))
        self.experience = experience


def trajectory_of(part: object) -> Trajectory:
    """What a part was made from. Raises DataError when it was not made by `read_logs`."""
    if not isinstance(part, LogPart):
        raise DataError("not a part of a log as read_logs gives it", code="E_SCHEMA")
    return part.trajectory


def record_of(summary: object) -> Experience:
    """The record a summary stands for. One that was made or changed by hand says nothing certain about success.

    Raises:
        DataError: it holds no example or no request, or a value breaks a limit.
    """
    if isinstance(summary, Summary) and summary == to_ufo_example(summary.experience):
        return summary.experience
    if not isinstance(summary, Mapping):
        raise DataError("not an object", code="E_SCHEMA")
    record = from_ufo_example(redact_json(dict(summary)), trust=Trust.OBSERVED)
    return record.model_copy(update={"provenance": record.provenance.model_copy(update={"origin": "api"})})


def add_to_yaml(summaries: Iterable[object], path: Path) -> int:
    """Add summaries to a file in UFO's form, each once, and return how many came in. What stands there stays.

    Failed runs are left out: UFO imitates what the file shows. So is what has no UFO form. A file that cannot be
    read is set aside under a name of its own, and a new one is begun.

    Raises:
        StorageError: the disk refused; the old file is as it was.
    """
    entries = _entries(path)
    known = {_content(entry) for entry in entries.values()}
    numbers = [int(key[7:]) for key in entries if key.startswith("example") and key[7:].isdigit()]
    last, before = max(numbers, default=-1), len(entries)
    for place, summary in enumerate(summaries):
        try:
            record = record_of(summary)
        except DataError as error:
            _log.warning("summary %d is left out of %s: %s", place, path, error)
            continue
        entry = to_ufo_example(record)
        if not record.is_negative and _content(entry) not in known:
            known.add(_content(entry))
            last += 1
            entries[f"example{last}"] = entry
    write_atomic(path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=120) if entries else "")
    return len(entries) - before


def _entries(path: Path) -> dict[str, Any]:
    """What stands in the file; nothing if there is none."""
    if not path.exists():
        return {}
    try:
        return load_yaml(path, typed="Args")
    except DataError as error:
        if error.code == "E_EMPTY":
            return {}
        aside = path.with_name(f"{path.name}.unreadable-{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}")
        try:
            path.rename(aside)
        except OSError as refused:
            raise StorageError(f"{path}: cannot be set aside: {refused}") from refused
        _log.warning("%s; it was set aside as %s", error, aside.name)
        return {}


def _content(entry: Any) -> str:
    """What makes two entries the same: their content, not how YAML types it."""
    return json.dumps(_texts(json.loads(dump(entry))), sort_keys=True)


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else str(value)
