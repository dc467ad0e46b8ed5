"""What UFO's summarizer hands around: parts of a log, summaries of them, and the YAML file of summaries.

Parts and summaries are the dicts UFO knows. Each carries what it was made from as an attribute, so that the whole
record is stored and not only what UFO's form can say; a dict that somebody made or changed stands for itself.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ufo_experience.errors import SchemaError, TraceError
from ufo_experience.fileio.atomic import Disk, replace, replace_file
from ufo_experience.formats.ufo_example import from_ufo_example, to_ufo_example
from ufo_experience.redaction import redact_json
from ufo_experience.schema import Experience, Trajectory, Trust

_EXAMPLE_KEY = re.compile(r"example(\d{1,9})")
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
    """What a part was made from.

    Raises:
        SchemaError: it was not made by `read_logs`.
    """
    if not isinstance(part, LogPart):
        raise SchemaError("not a part of a log as read_logs gives it")
    return part.trajectory


def record_of(summary: object) -> Experience:
    """The record a summary stands for. One that was made or changed by hand says nothing certain about success.

    Raises:
        SchemaError: it holds no example or no request, or a value breaks a limit.
    """
    if isinstance(summary, Summary) and summary == to_ufo_example(summary.experience):
        return summary.experience
    if not isinstance(summary, Mapping):
        raise SchemaError("not an object")
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
    known = {_digest(entry) for entry in entries.values()}
    numbers = [int(match.group(1)) for key in entries if (match := _EXAMPLE_KEY.fullmatch(key))]
    number, before = max(numbers, default=-1), len(entries)
    for summary in summaries:
        try:
            record = record_of(summary)
        except SchemaError as error:
            _log.warning("a summary is left out of %s: %s", path, error)
            continue
        entry = to_ufo_example(record)
        if not record.is_negative and _digest(entry) not in known:
            number += 1
            known.add(_digest(entry))
            entries[f"example{number}"] = entry
    _write(entries, path)
    return len(entries) - before


def _entries(path: Path) -> dict[str, Any]:
    """What stands in the file; nothing if there is none."""
    from ufo_experience.traces.safe_yaml import load_yaml

    if not path.exists():
        return {}
    try:
        return load_yaml(path, typed="Args")
    except TraceError as error:
        if error.code == "E_EMPTY":
            return {}
        aside = path.with_name(f"{path.name}.unreadable-{_file_digest(path)}")
        replace(path, aside, Disk())
        _log.warning("%s; it was set aside as %s", error, aside.name)
        return {}


def _write(entries: Mapping[str, Any], path: Path) -> None:
    import yaml

    text = yaml.safe_dump(dict(entries), sort_keys=False, allow_unicode=True, width=120) if entries else ""
    replace_file(path, text.encode("utf-8"), Disk())


def _digest(entry: Any) -> str:
    """What makes two entries the same: their content, not how YAML types it."""
    return hashlib.sha256(repr(_texts(entry)).encode("utf-8", "replace")).hexdigest()


def _texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((str(key), _texts(item)) for key, item in value.items())
    return [_texts(item) for item in value] if isinstance(value, list) else str(value)


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.sha256(stream.read(1 << 20)).hexdigest()[:12]
