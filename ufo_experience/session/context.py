"""The shared state of a session: named values, each with its own default, and the way commands go."""

from __future__ import annotations

import copy
import threading
from enum import Enum
from typing import Any

from ufo_experience.errors import UsageError
from ufo_experience.session.protocols import CommandDispatcher


class ContextNames(str, Enum):
    """What a context holds."""

    ID = "ID"
    MODE = "MODE"
    LOG_PATH = "LOG_PATH"
    REQUEST = "REQUEST"
    SUBTASK = "SUBTASK"
    PREVIOUS_SUBTASKS = "PREVIOUS_SUBTASKS"
    CURRENT_ROUND_ID = "CURRENT_ROUND_ID"
    ROUND_STEP = "ROUND_STEP"
    ROUND_COST = "ROUND_COST"
    ROUND_SUBTASK_AMOUNT = "ROUND_SUBTASK_AMOUNT"
    SUBTASK_AMOUNT = "SUBTASK_AMOUNT"
    SESSION_STEP = "SESSION_STEP"
    TOTAL_COST = "TOTAL_COST"
    TOTAL_TOKENS = "TOTAL_TOKENS"
    APPLICATION_WINDOW = "APPLICATION_WINDOW"
    APPLICATION_WINDOW_INFO = "APPLICATION_WINDOW_INFO"
    APPLICATION_PROCESS_NAME = "APPLICATION_PROCESS_NAME"
    APPLICATION_ROOT_NAME = "APPLICATION_ROOT_NAME"
    TRAJECTORY = "TRAJECTORY"
    SESSION_FINISH = "SESSION_FINISH"
    ERROR = "ERROR"
    ERROR_MESSAGE = "ERROR_MESSAGE"


_DEFAULTS: dict[ContextNames, Any] = {
    ContextNames.REQUEST: "",
    ContextNames.SUBTASK: "",
    ContextNames.PREVIOUS_SUBTASKS: [],
    ContextNames.CURRENT_ROUND_ID: 0,
    ContextNames.ROUND_STEP: {},
    ContextNames.ROUND_COST: {},
    ContextNames.ROUND_SUBTASK_AMOUNT: {},
    ContextNames.SUBTASK_AMOUNT: 0,
    ContextNames.SESSION_STEP: 0,
    ContextNames.TOTAL_COST: 0.0,
    ContextNames.TOTAL_TOKENS: 0,
    ContextNames.APPLICATION_PROCESS_NAME: "",
    ContextNames.APPLICATION_ROOT_NAME: "",
    ContextNames.TRAJECTORY: [],
    ContextNames.SESSION_FINISH: False,
    ContextNames.ERROR: False,
    ContextNames.ERROR_MESSAGE: "",
}


class Context:
    """Shared by the rounds and agents of one session. Thread-safe; no two contexts share a default."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._values: dict[ContextNames, Any] = copy.deepcopy(_DEFAULTS)
        self._dispatcher: CommandDispatcher | None = None

    def get(self, key: ContextNames, default: Any = None) -> Any:
        """Give the value of `key`, or `default` when none was ever set."""
        with self._lock:
            return self._values.get(key, default)

    def set(self, key: ContextNames, value: Any) -> None:
        """Set the value of `key`."""
        with self._lock:
            self._values[ContextNames(key)] = value

    def add(self, key: ContextNames, amount: float) -> None:
        """Add to a number, such as the cost so far."""
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def append(self, key: ContextNames, item: Any) -> None:
        """Append to a list, such as the trajectory."""
        with self._lock:
            self._values.setdefault(key, []).append(item)

    def update_dict(self, key: ContextNames, values: dict[Any, Any]) -> None:
        """Put `values` into a mapping, such as the cost of each round."""
        with self._lock:
            self._values.setdefault(key, {}).update(values)

    @property
    def command_dispatcher(self) -> CommandDispatcher:
        """The way commands go.

        Raises:
            UsageError: none was attached.
        """
        if self._dispatcher is None:
            raise UsageError(
                "no command dispatcher: attach one with attach_command_dispatcher, or give it to the parts"
            )
        return self._dispatcher

    def attach_command_dispatcher(self, dispatcher: CommandDispatcher | None) -> None:
        """Set the way commands go."""
        self._dispatcher = dispatcher

    def to_dict(self) -> dict[str, Any]:
        """Give all values by name."""
        with self._lock:
            return {key.value: copy.copy(value) for key, value in self._values.items()}
