"""What all agents of a session share: four memories for the prompt, and a tree of key-values for coordination.

In JSON every part may be missing; an object under any other name is read as key-values.
"""

import base64
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import partialmethod
from pathlib import Path
from typing import Any, Final, TypeAlias

from ufo_experience.errors import DataError, UsageError
from ufo_experience.schema import MAX_DEPTH, mapped
from ufo_experience.session.files import StrPath, append_line, dump, plain, read_json, read_jsonl, write_atomic
from ufo_experience.session.memory import Memory, MemoryItem, items_from_dicts
from ufo_experience.store.files import read_regular

Data: TypeAlias = MemoryItem | Mapping[str, Any] | str
PromptPart: TypeAlias = dict[str, Any]

FORMAT_VERSION = 1
MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_SCREENSHOTS = 100
MAX_IMAGE_BYTES = 20 * 1024 * 1024
# A trajectory filed under a key is an ordinary item that carries the key; a value without fields is one field.
TRAJECTORY_KEY, TRAJECTORY_VALUE = "trajectory_key", "trajectory_value"

_ABSENT: Any = object()
_FIRST_BYTES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


class ImageMemoryItemNames:
    METADATA: Final = "metadata"
    IMAGE_PATH: Final = "image_path"
    IMAGE_STR: Final = "image_str"


class ImageMemoryItem(MemoryItem):
    """A remembered screenshot: where it lies, what was said about it, and itself as a data URL."""


class Blackboard:
    """The shared memory of a session. Thread-safe; hold `lock` around a read and the write that depends on it.

    Every change made through it is one JSON line of `audit_file`, if given; it stands also where the disk refuses.
    """

    def __init__(
        self, *, questions_file: StrPath | None = None, questions_last_k: int = -1, audit_file: StrPath | None = None
    ) -> None:
        """Start empty, or with the last `questions_last_k` (-1: all) questions and answers in `questions_file`."""
        self.lock = threading.RLock()
        self._audit_file = audit_file
        self._memories = {name: Memory(lock=self.lock) for name in ("questions", "requests", "trajectories")}
        self.questions, self.requests, self.trajectories = self._memories.values()
        self.screenshots = self._memories["screenshots"] = Memory(MAX_SCREENSHOTS, lock=self.lock)
        self._values: dict[str, Any] = {}
        if questions_file is not None:
            self.load_questions(questions_file, questions_last_k)

    def add_data(self, data: Data, memory: Memory) -> None:
        """Add an item, a dict of fields, or a text (which becomes the field `text`) to `memory`."""
        item = _as_item(data)
        with self.lock:
            memory.add_memory_item(item)
            name = next((name for name, own in self._memories.items() if own is memory), None)
            self._record("add", memory=name, item={k: v for k, v in vars(item).items() if k != "image_str"})

    def add_questions(self, questions: Data) -> None:
        self.add_data(questions, self.questions)

    def add_requests(self, requests: Data) -> None:
        self.add_data(requests, self.requests)

    def add_trajectories(self, trajectories: Any = _ABSENT, value: Any = _ABSENT, *, key: Any = _ABSENT) -> None:
        """Add a step; given a key and a value, file the value under the key, where `get_trajectories(key)` finds it."""
        if value is not _ABSENT or key is not _ABSENT:
            trajectories = _filed(trajectories if key is _ABSENT else key, value)
        self.add_data(trajectories, self.trajectories)

    def get_trajectories(self, key: str | None = None) -> list[Any]:
        """Give what was filed under `key`, oldest first; without a key every step as a dict."""
        steps = self.trajectories.list_content
        if key is None:
            return steps
        found = [step for step in steps if step.pop(TRAJECTORY_KEY, None) == key]
        return [step.get(TRAJECTORY_VALUE, step) for step in found]

    def add_image(self, screenshot_path: StrPath = "", metadata: Mapping[str, Any] | None = None) -> None:
        """Add a PNG, JPEG, GIF, WebP or BMP; of `metadata` what is under that name in it, or all of it."""
        image = decode_image(read_regular(Path(screenshot_path), MAX_IMAGE_BYTES))
        if image is None:
            raise DataError("not a PNG, JPEG, GIF, WebP or BMP image", file=str(screenshot_path))
        about = dict(metadata or {})
        about = about.get(ImageMemoryItemNames.METADATA, about)
        item = ImageMemoryItem(metadata=about, image_path=str(screenshot_path), image_str=data_url(image))
        self.add_data(item, self.screenshots)

    def load_questions(self, file_path: StrPath, last_k: int = -1) -> None:
        """Add the last `last_k` (-1: all) questions and answers of a JSONL file; a file not there yet has none."""
        for question in self.read_json_file(file_path, last_k):
            self.add_questions(question)

    read_json_file = staticmethod(read_jsonl)

    def add_key_value(self, key: str, value: Any) -> None:
        """Put `value` at `key`, such as `devices/windows/ready`. Raises UsageError: the key lies below a value."""
        self._put(key, value, "add_key_value")

    def get_value(self, key: str, default: Any = None) -> Any:
        """Give the value at `key`, a dict of all that is below it if there is, or `default`."""
        *parents, name = _parts(key)
        with self.lock:
            return mapped(_level(self._values, parents).get(name, default))

    def update_value(self, key: str, value: Any) -> None:
        """Replace the value at `key`. Raises UsageError when there is none, or as `add_key_value`."""
        *parents, name = _parts(key)
        with self.lock:
            if name not in _level(self._values, parents):
                raise UsageError(f"there is no key {key!r} to update; add it first")
            self._put(key, value, "update_value")

    def delete_key(self, key: str) -> bool:
        """Remove what is at `key`, and the levels left empty by that; tell whether there was anything."""
        *parents, name = _parts(key)
        with self.lock:
            if name not in _level(self._values, parents):
                return False
            del _level(self._values, parents)[name]
            while parents and not _level(self._values, parents):
                *parents, name = parents
                del _level(self._values, parents)[name]
            self._record("delete_key", key=key)
            return True

    def _put(self, key: str, value: Any, operation: str) -> None:
        *parents, name = _parts(key)
        with self.lock:
            level = self._values
            for depth, part in enumerate(parents, start=1):
                level = level.setdefault(part, {})
                if not isinstance(level, dict):
                    above = "/".join(parents[:depth])
                    raise UsageError(f"{above!r} holds a value, so there can be no {key!r} below it")
            level[name] = mapped(value)
            self._record(operation, key=key, value=value)

    def blackboard_to_prompt(self) -> list[PromptPart]:
        """Give the four memories as parts of a chat message. Key-values are between agents and are not in it."""
        with self.lock:
            return [
                {"type": "text", "text": "[Blackboard:]"},
                *self.texts_to_prompt(self.questions, "[Questions & Answers:]"),
                *self.texts_to_prompt(self.requests, "[Request History:]"),
                *self.texts_to_prompt(self.trajectories, "[Step Trajectories Completed Previously:]"),
                *self.screenshots_to_prompt(),
            ]

    def texts_to_prompt(self, memory: Memory, prefix: str) -> list[PromptPart]:
        return [{"type": "text", "text": f"{prefix}\n {memory.to_json()}"}]

    def screenshots_to_prompt(self) -> list[PromptPart]:
        """Give each screenshot as its metadata and its image. Raises DataError for any address but an image's data."""
        parts: list[PromptPart] = []
        for number, shot in enumerate(self.screenshots.list_content):
            parts.append({"type": "text", "text": dump(shot.get("metadata", ""))})
            if url := shot.get("image_str"):
                image = decode_image(url)
                if image is None or url != data_url(image):
                    raise DataError("not the data URL of an image", field=f"screenshots[{number}].image_str")
                parts.append({"type": "image_url", "image_url": {"url": url}})
        return parts

    def _memory_to_json(self, name: str) -> str:
        return self._memories[name].to_json()

    questions_to_json = partialmethod(_memory_to_json, "questions")
    requests_to_json = partialmethod(_memory_to_json, "requests")
    trajectories_to_json = partialmethod(_memory_to_json, "trajectories")
    screenshots_to_json = partialmethod(_memory_to_json, "screenshots")

    def blackboard_to_dict(self) -> dict[str, Any]:
        """Give all content in its JSON form: a list per memory and, if there are any, `key_values`."""
        with self.lock:
            content: dict[str, Any] = {name: memory.list_content for name, memory in self._memories.items()}
            form: dict[str, Any] = plain(content | ({"key_values": self._values} if self._values else {}))
        return form

    def blackboard_to_json(self) -> str:
        return dump(self.blackboard_to_dict())

    def blackboard_from_dict(self, blackboard_dict: Mapping[str, Any]) -> None:
        """Replace all content by what `blackboard_to_dict` gave. On a `DataError` the content stays as it was."""
        self._take_over(blackboard_dict, "blackboard_from_dict")

    def save_to_file(self, path: StrPath) -> None:
        """Write all content to a JSON file, whole or not at all. Raises StorageError."""
        write_atomic(path, dump({"format_version": FORMAT_VERSION, **self.blackboard_to_dict()}))

    def load_from_file(self, path: StrPath) -> None:
        """Replace all content by that of a file. On a `DataError` the content stays as it was."""
        data, file = read_json(path, MAX_FILE_BYTES), str(path)
        try:
            self._take_over(data, "load_from_file", file=file)
        except DataError as error:
            raise DataError(error.reason, file=file, field=error.field, code=error.code) from error

    def is_empty(self) -> bool:
        with self.lock:
            return not self._values and all(memory.is_empty() for memory in self._memories.values())

    def clear(self) -> None:
        self._take_over({}, "clear")

    def _take_over(self, data: Any, operation: str, **details: Any) -> None:
        """Replace all content, once the whole of `data` is read and checked."""
        if not isinstance(data, Mapping):
            raise DataError("must be an object", code="E_SCHEMA")
        fresh, parts = Blackboard(), dict(data)
        version = parts.pop("format_version", FORMAT_VERSION)
        if version != FORMAT_VERSION:
            raise DataError(f"format version {version!r}, this program reads {FORMAT_VERSION}", code="E_VERSION")
        for name, memory in fresh._memories.items():
            kind = ImageMemoryItem if name == "screenshots" else MemoryItem
            memory.load(items_from_dicts(parts.pop(name, []), kind, field=name))
        own = parts.pop("key_values", {})
        if not isinstance(own, Mapping):
            raise DataError("must be an object", field="key_values", code="E_SCHEMA")
        path = ""
        try:
            for path, value in [*own.items(), *parts.items()]:
                fresh.add_key_value(path, value)
        except UsageError as error:
            raise DataError(str(error), field="key_values" if path in own else str(path), code="E_SCHEMA") from error
        with self.lock:
            for name, memory in self._memories.items():
                memory.load(fresh._memories[name].content)
            self._values = fresh._values
            self._record(operation, **details)

    def _record(self, operation: str, **details: Any) -> None:
        if self._audit_file is not None:
            append_line(self._audit_file, dump({"at": datetime.now(timezone.utc), "operation": operation, **details}))


def _as_item(data: Any) -> MemoryItem:
    if isinstance(data, MemoryItem):
        return data
    if not isinstance(data, (str, Mapping)):
        raise UsageError(f"a blackboard takes a MemoryItem, a dict or a text, not {type(data).__name__}")
    item = MemoryItem()
    item.add_values_from_dict({"text": data} if isinstance(data, str) else data)
    return item


def _filed(key: Any, value: Any) -> MemoryItem:
    """`value` under `key`: an item or a dict keeps its fields, anything else becomes one field."""
    if not isinstance(key, str) or not key or value is _ABSENT:
        raise UsageError("a trajectory is filed under a text key, with a value")
    fields = vars(_as_item(value)) if isinstance(value, (MemoryItem, Mapping)) else {TRAJECTORY_VALUE: value}
    return _as_item({**fields, TRAJECTORY_KEY: key})


def _parts(path: str) -> list[str]:
    parts = path.split("/") if isinstance(path, str) else []
    if not all(parts) or not 0 < len(parts) <= MAX_DEPTH:
        raise UsageError(f"a key is 1 to {MAX_DEPTH} names joined by '/', none of them empty, not {path!r}")
    return parts


def _level(values: Any, parents: list[str]) -> dict[str, Any]:
    """The dict that is below `parents`; an empty one where there is none."""
    for part in parents:
        values = values.get(part) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else {}


def image_type(data: bytes) -> str | None:
    """The media type of PNG, JPEG, GIF, WebP or BMP by the first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:2] == b"BM" and data[6:10] == bytes(4):
        return "image/bmp"
    return next((kind for first, kind in _FIRST_BYTES.items() if data.startswith(first)), None)


def data_url(data: bytes) -> str:
    return f"data:{image_type(data)};base64,{base64.b64encode(data).decode('ascii')}"


def decode_image(value: Any) -> bytes | None:
    """The bytes of an image given as bytes, base64 or a data URL; None for anything else."""
    if isinstance(value, str):
        try:
            value = base64.b64decode(value.rpartition(";base64,")[2], validate=True)
        except ValueError:
            return None
    usable = isinstance(value, bytes) and len(value) <= MAX_IMAGE_BYTES and image_type(value) is not None
    return value if usable else None
