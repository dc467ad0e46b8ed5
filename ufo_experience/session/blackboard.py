"""What all agents of a session share: four memories for the prompt, and a tree of key-values for coordination."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, TypeAlias, overload

from ufo_experience.session.blackboard_format import (
    ABSENT,
    TRAJECTORY_KEY,
    Content,
    Data,
    KeyValues,
    append_event,
    as_item,
    content_from,
    filed_value,
    keyed_item,
    picture_of,
    read_content,
    write_content,
)
from ufo_experience.session.files import StrPath, dump, plain, read_json_lines
from ufo_experience.session.images import MAX_IMAGE_BYTES, ImageMemoryItem, ImageMemoryItemNames, encode_image
from ufo_experience.session.memory import Memory

__all__ = ["Blackboard", "ImageMemoryItem", "ImageMemoryItemNames"]

PromptPart: TypeAlias = dict[str, Any]

MAX_SCREENSHOTS = 100


class Blackboard:
    """The shared memory of a session. Thread-safe; hold `lock` around a read and the write that depends on it.

    With `audit_file`, every change made through the blackboard is appended to that file as one JSON line. If the disk
    refuses the line, the call raises `StorageError` and the change stands in memory.
    """

    def __init__(
        self,
        *,
        questions_file: StrPath | None = None,
        questions_last_k: int = -1,
        audit_file: StrPath | None = None,
        max_items: int | None = None,
        max_screenshots: int = MAX_SCREENSHOTS,
        max_image_bytes: int = MAX_IMAGE_BYTES,
    ) -> None:
        """Start empty, or with the last `questions_last_k` (-1: all) questions and answers in `questions_file`."""
        self.lock = threading.RLock()
        self._audit_file = audit_file
        self._max_image_bytes = max_image_bytes
        self._questions = Memory(max_items, lock=self.lock)
        self._requests = Memory(max_items, lock=self.lock)
        self._trajectories = Memory(max_items, lock=self.lock)
        self._screenshots = Memory(max_screenshots, lock=self.lock)
        self._values = KeyValues()
        if questions_file is not None:
            self.load_questions(questions_file, questions_last_k)

    # ---- the four memories

    @property
    def questions(self) -> Memory:
        """Questions put to the user, with the answers."""
        return self._questions

    @property
    def requests(self) -> Memory:
        """What the user asked for, round by round."""
        return self._requests

    @property
    def trajectories(self) -> Memory:
        """Steps taken, by any agent."""
        return self._trajectories

    @property
    def screenshots(self) -> Memory:
        """Screenshots worth keeping, as `ImageMemoryItem`."""
        return self._screenshots

    def add_data(self, data: Data, memory: Memory) -> None:
        """Add an item, a dict of fields, or a text (which becomes the field `text`) to `memory`.

        Raises:
            UsageError: `data` is of another kind.
        """
        item = as_item(data)
        with self.lock:
            memory.add_memory_item(item)
            self._record("add", memory=self._name_of(memory), item=item.to_dict())

    def add_questions(self, questions: Data) -> None:
        """Add a question with its answer."""
        self.add_data(questions, self._questions)

    def add_requests(self, requests: Data) -> None:
        """Add a request of the user."""
        self.add_data(requests, self._requests)

    @overload
    def add_trajectories(self, trajectories: Data) -> None: ...
    @overload
    def add_trajectories(self, key: str, /, value: Any) -> None: ...
    @overload
    def add_trajectories(self, *, key: str, value: Any) -> None: ...
    def add_trajectories(self, trajectories: Any = ABSENT, value: Any = ABSENT, *, key: Any = ABSENT) -> None:
        """Add a step; given a key and a value, file the value under the key, where `get_trajectories(key)` finds it."""
        if key is ABSENT and value is ABSENT:
            self.add_data(trajectories, self._trajectories)
        else:
            self.add_data(keyed_item(trajectories if key is ABSENT else key, value), self._trajectories)

    def get_trajectories(self, key: str | None = None) -> list[Any]:
        """Give what was filed under `key`, oldest first; without a key every step as a dict."""
        steps = self._trajectories.to_list_of_dicts()
        return steps if key is None else [filed_value(step) for step in steps if step.get(TRAJECTORY_KEY) == key]

    def add_image(self, screenshot_path: StrPath = "", metadata: Mapping[str, Any] | None = None) -> None:
        """Add a screenshot: its path, its metadata, and the picture itself as a data URL.

        `metadata` is kept whole, or, if it has a key `metadata`, what is under that.

        Raises:
            DataError: no such file, not a PNG, JPEG, GIF, WebP or BMP image, or larger than `max_image_bytes`.
        """
        about = dict(metadata or {})
        item = ImageMemoryItem()
        item.set_value(ImageMemoryItemNames.METADATA, about.get(ImageMemoryItemNames.METADATA, about))
        item.set_value(ImageMemoryItemNames.IMAGE_PATH, str(screenshot_path))
        item.set_value(ImageMemoryItemNames.IMAGE_STR, encode_image(screenshot_path, self._max_image_bytes))
        self.add_data(item, self._screenshots)

    def load_questions(self, file_path: StrPath, last_k: int = -1) -> None:
        """Add the last `last_k` (-1: all) questions and answers of a JSONL file; a file not there yet has none."""
        for question in self.read_json_file(file_path, last_k):
            self.add_questions(question)

    @staticmethod
    def read_json_file(file_path: StrPath, last_k: int = -1) -> list[Any]:
        """Read the objects and texts in the last `last_k` (-1: all) lines of a JSONL file, blank lines aside.

        A line that is neither is left out and named in a warning of the log; a file that does not exist has no lines.
        """
        return read_json_lines(file_path, last_k)

    # ---- key-values

    def add_key_value(self, key: str, value: Any) -> None:
        """Put `value` at `key`, such as `devices/windows/ready`; a value already there is replaced.

        Raises:
            UsageError: the key is malformed, a namespace, or would lie below a value that is not a dict.
        """
        with self.lock:
            self._values.set(key, value)
            self._record("add_key_value", key=key, value=value)

    def get_value(self, key: str, default: Any = None) -> Any:
        """Give the value at `key`, a dict of the whole namespace if it is one, or `default`."""
        with self.lock:
            return self._values.get(key, default)

    def update_value(self, key: str, value: Any) -> None:
        """Replace the value at `key`.

        Raises:
            UsageError: there is none, or as `add_key_value`.
        """
        with self.lock:
            self._values.update(key, value)
            self._record("update_value", key=key, value=value)

    def delete_key(self, key: str) -> bool:
        """Remove the value or the whole namespace at `key`; tell whether there was one."""
        with self.lock:
            found = self._values.delete(key)
            if found:
                self._record("delete_key", key=key)
            return found

    # ---- prompt

    def blackboard_to_prompt(self) -> list[PromptPart]:
        """Give the four memories as parts of a chat message. Key-values are between agents and are not in it."""
        with self.lock:
            return [
                {"type": "text", "text": "[Blackboard:]"},
                *self.texts_to_prompt(self._questions, "[Questions & Answers:]"),
                *self.texts_to_prompt(self._requests, "[Request History:]"),
                *self.texts_to_prompt(self._trajectories, "[Step Trajectories Completed Previously:]"),
                *self.screenshots_to_prompt(),
            ]

    def texts_to_prompt(self, memory: Memory, prefix: str) -> list[PromptPart]:
        """Give a memory as one text part: the prefix, then the items as JSON."""
        return [{"type": "text", "text": f"{prefix}\n {memory.to_json()}"}]

    def screenshots_to_prompt(self) -> list[PromptPart]:
        """Give each screenshot as two parts: its metadata, and the image as a data URL.

        A screenshot without a picture (an empty `image_str`) has only the first.

        Raises:
            DataError: a screenshot was added by hand with something that is not a data URL of an image.
        """
        parts: list[PromptPart] = []
        for number, shot in enumerate(self._screenshots.list_content):
            parts.append({"type": "text", "text": dump(shot.get(ImageMemoryItemNames.METADATA, ""))})
            url = picture_of(shot, number, self._max_image_bytes)
            if url:
                parts.append({"type": "image_url", "image_url": {"url": url}})
        return parts

    # ---- as JSON, as a dict, as a file

    def questions_to_json(self) -> str:
        """Give the questions as one JSON array."""
        return self._questions.to_json()

    def requests_to_json(self) -> str:
        """Give the requests as one JSON array."""
        return self._requests.to_json()

    def trajectories_to_json(self) -> str:
        """Give the trajectories as one JSON array."""
        return self._trajectories.to_json()

    def screenshots_to_json(self) -> str:
        """Give the screenshots, pictures included, as one JSON array."""
        return self._screenshots.to_json()

    def blackboard_to_dict(self) -> dict[str, Any]:
        """Give all content in its JSON form: a list per memory and, if there are any, `key_values` by full path."""
        with self.lock:
            lists = {name: memory.to_list_of_dicts() for name, memory in self._memories().items()}
            values = self._values.flat()
        content: dict[str, Any] = plain({**lists, "key_values": values} if values else lists)
        return content

    def blackboard_to_json(self) -> str:
        """Give all content as one JSON object."""
        return dump(self.blackboard_to_dict())

    def blackboard_from_dict(self, blackboard_dict: Mapping[str, Any]) -> None:
        """Replace all content by what `blackboard_to_dict` gave; a missing part is empty.

        Raises:
            DataError: a part has the wrong shape (the message names it); the content stays as it was.
        """
        self._take_over(content_from(blackboard_dict, self._max_image_bytes), "blackboard_from_dict")

    def save_to_file(self, path: StrPath) -> None:
        """Write all content to a JSON file, whole or not at all.

        Raises:
            DataError: it would be larger than `load_from_file` reads.
            StorageError: the disk refused; an earlier file is as it was.
        """
        write_content(path, self.blackboard_to_dict())

    def load_from_file(self, path: StrPath) -> None:
        """Replace all content by that of a file `save_to_file` wrote. Whatever is raised, the content stays as it was.

        Raises:
            DataError: no such file, or (as `CorruptError`) torn or not JSON, (as `FormatVersionError`) written by a
                newer version, (as `SchemaError`) with a part of the wrong shape.
        """
        self._take_over(read_content(path, self._max_image_bytes), "load_from_file", file=str(path))

    def is_empty(self) -> bool:
        """Tell whether there is neither an item in a memory nor a key-value."""
        with self.lock:
            return self._values.is_empty() and all(memory.is_empty() for memory in self._memories().values())

    def clear(self) -> None:
        """Forget all content; files stay."""
        with self.lock:
            for memory in self._memories().values():
                memory.clear()
            self._values = KeyValues()
            self._record("clear")

    # ---- inside

    def _memories(self) -> dict[str, Memory]:
        return {
            "questions": self._questions,
            "requests": self._requests,
            "trajectories": self._trajectories,
            "screenshots": self._screenshots,
        }

    def _name_of(self, memory: Memory) -> str | None:
        return next((name for name, own in self._memories().items() if own is memory), None)

    def _take_over(self, content: Content, operation: str, **details: Any) -> None:
        with self.lock:
            for name, memory in self._memories().items():
                memory.load(content.items[name])
            self._values = content.values
            self._record(operation, **details)

    def _record(self, operation: str, **details: Any) -> None:
        if self._audit_file is not None:
            append_event(self._audit_file, operation, details)
