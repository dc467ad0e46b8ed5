"""What a slot's type says: the kind of value and, when the user named the value in the task, where it stands there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ufo_experience.redaction.text import PLACEHOLDER
from ufo_experience.redaction.values import slot_type
from ufo_experience.text.intent import find_slots

# "email", "email from task", "email from task slot 2", "email from request". Slot n is `find_slots(task)[n - 1]`: in a
# new task of the same kind, the n-th value is the one to type.
# A summarizer may add what the value means: "email from task slot 2 (the recipient)".
SLOT_TYPE = re.compile(
    r"(?P<type>[\w ]+?)(?: from (?P<where>task|request)(?: slot (?P<slot>\d+))?)?(?: \((?P<meaning>[^()]*)\))?"
)


class TaskValues:
    """The values a user named in the task (the sub-task if there is one) and in the request."""

    def __init__(self, task: str, request: str) -> None:
        self._task, self._request = task, request
        self._slots: Sequence[str] = [slot.value for slot in find_slots(PLACEHOLDER.sub("<secret>", task))]

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the task, in their order."""
        return tuple(self._slots)

    def describe(self, value: str) -> str:
        """The slot type of a typed value, such as `text`, or `email from task slot 2` if the task names it."""
        kind = slot_type(value)
        if value in self._slots:
            return f"{kind} from task slot {self._slots.index(value) + 1}"
        if _stands_in(value, self._task):
            return f"{kind} from task"
        return f"{kind} from request" if _stands_in(value, self._request) else kind


def _stands_in(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
