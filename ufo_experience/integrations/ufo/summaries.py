"""What UFO's summarizer hands around: parts of a log, summaries of them, and the YAML file of summaries.

Parts and summaries are the dicts UFO knows. Each carries what it was made from as an attribute, so that the whole
record is stored and not only what UFO's form can say; a dict that somebody made or changed stands for itself.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, SchemaError, TraceError
from ufo_experience.integrations.formats.ufo_example import from_ufo_example, to_ufo_example
from ufo_experience.redact import redact_json
from ufo_experience.schema import Experience, Trajectory, Trust
from ufo_experience.store.files import read_regular, replace_file, storage_errors

_EXAMPLE_KEY = re.compile(r"example(\d{1,9})")
_KEY_LINE = re.compile(r"^example(\d{1,9}):[ ]*$", re.MULTILINE)
_OTHER_LINE = re.compile(r"^(?!example\d{1,9}:[ ]*$|[ \r]|$)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z0-9]{3,}")
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
    """Add summaries to a file in UFO's form, each once, and return how many came in. What stands there stays: a file
    of nothing but numbered entries is not read as a whole, the new ones are put behind its bytes.

    Failed runs are left out: UFO imitates what the file shows. So is what has no UFO form. A file that cannot be
    read is set aside under a name of its own, and a new one is begun.

    Raises:
        StorageError: the disk refused; the old file is as it was.
    """
    offered = list(_shown(summaries, path))
    listed = _listed(path)
    alike = None if listed is None else listed.like(offered)
    if listed is None or alike is None:
        entries = _entries(path)
        known = {_digest(entry) for entry in entries.values()}
        numbers = [int(match.group(1)) for key in entries if (match := _EXAMPLE_KEY.fullmatch(key))]
        text, last = _as_text(entries), max(numbers, default=-1)
    else:
        known = {_digest(entry) for entry in alike}
        text, last = listed.text, listed.last
    new: dict[str, Any] = {}
    for entry in offered:
        if _digest(entry) not in known:
            known.add(_digest(entry))
            new[f"example{last + 1 + len(new)}"] = entry
    replace_file(path, (text + _as_text(new)).encode("utf-8"))
    return len(new)


def _shown(summaries: Iterable[object], path: Path) -> Iterator[dict[str, Any]]:
    """The entries of summaries that a file may show."""
    for summary in summaries:
        try:
            record = record_of(summary)
        except SchemaError as error:
            _log.warning("a summary is left out of %s: %s", path, error)
            continue
        if not record.is_negative:
            yield to_ufo_example(record)


@dataclass(frozen=True)
class _Listed:
    """A file that is a list of numbered entries, as text; `last` is the highest number."""

    path: Path
    text: str
    last: int

    def like(self, entries: Sequence[Mapping[str, Any]]) -> list[Any] | None:
        """The entries of the file that hold all words of the request of one of these: only they can be equal.

        None when one of them cannot be read: then the whole file has to be looked at.
        """
        from ufo_experience.traces.safe_yaml import parse_yaml

        found: list[Any] = []
        starts = [match.start() for match in _KEY_LINE.finditer(self.text)]
        wanted = [set(_WORD.findall(str(entry.get("request", "")))) for entry in entries]
        for start, end in zip(starts, [*starts[1:], len(self.text)], strict=True):
            block = self.text[start:end]
            if any(all(word in block for word in words) for words in wanted):
                try:
                    found += parse_yaml(block.encode("utf-8"), self.path, typed="Args").values()
                except TraceError:
                    return None
        return found


def _listed(path: Path) -> _Listed | None:
    """The file, if it is nothing but numbered entries that can be told apart by their lines; None for any other."""
    from ufo_experience.traces.safe_yaml import MAX_YAML

    try:
        text = read_regular(path, MAX_YAML).decode("utf-8") if path.exists() else ""
    except (DataError, UnicodeDecodeError):  # the reader of YAML says what is wrong with it
        return None
    numbers = [int(number) for number in _KEY_LINE.findall(text)]
    plain = text.endswith("\n") and not _OTHER_LINE.search(text) and len(set(numbers)) == len(numbers)
    return _Listed(path, text, max(numbers)) if numbers and plain else None


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
        with storage_errors(path):
            path.replace(aside)
        _log.warning("%s; it was set aside as %s", error, aside.name)
        return {}


def _as_text(entries: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(entries), sort_keys=False, allow_unicode=True, width=120) if entries else ""


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
