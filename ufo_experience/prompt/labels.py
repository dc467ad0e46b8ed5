"""Values of a recorded task under names a reader can follow: "[email 1]" in the task and in the steps alike."""

from __future__ import annotations

import re
from collections import Counter

from ufo_experience.actions import clicked_controls
from ufo_experience.redact import PLACEHOLDER
from ufo_experience.redact.slot_types import SLOT_TYPE
from ufo_experience.schema import Experience, Trust
from ufo_experience.text.own_case import feature_words, in_own_case
from ufo_experience.text.slots import find_slots, find_whole, mask_slots
from ufo_experience.trust.values import asked_first, without_addresses

LABEL = re.compile(r"\[([a-z][a-z ]*) (\d{1,4})\]")
_QUOTES = "\"'“”‘’`«»"
_MASK = re.compile(r"<(\w+)>")
_BARE = re.compile(r"[^a-z ]+")


def fill_labels(text: str, task: str) -> str:
    """`text` of an example with each label replaced by the value of `task` it speaks of: "[email 2]" by the second
    email; a label the task has no value for stays.
    """
    values: dict[str, list[str]] = {}
    for slot in find_slots(task):
        known = values.setdefault(slot.kind, [])
        known += [slot.value] if slot.value not in known else []

    def value(match: re.Match[str]) -> str:
        known = values.get(match[1], [])
        place = int(match[2]) - 1
        return known[place] if 0 <= place < len(known) else match[0]

    return LABEL.sub(value, text)


class Labels:
    """The task of a record as it is shown, and what stands for each placeholder of its steps.

    A value that the new task names too is shown as it is: it is the same one.
    """

    def __init__(self, experience: Experience, task: str) -> None:
        state = experience.state
        self._counts: Counter[str] = Counter()
        self._slots = experience.slots
        self._of_slot: dict[str, str] = {}
        request = state.request or state.task
        masked = PLACEHOLDER.sub("<secret>", request)
        own = in_own_case(masked, feature_words(clicked_controls(experience.action.steps)))
        self._names = {slot.value.lower() for slot in find_slots(own) if slot.kind == "name"}
        self._of_value = self._name_values(masked, task)
        self._in_task = list(self._of_value.values())
        self._places = [slot.value for slot in find_slots(masked)]
        if experience.trust is Trust.APPROVED:
            self.task = self.fill(self._in_place(request, self._places))
        else:
            first = asked_first(request)
            places = [slot.value for slot in find_slots(PLACEHOLDER.sub("<secret>", first))]
            known = all(value in self._of_value for value in places)
            self.task = without_addresses(self.fill(self._in_place(first, places if known else self._places)), task)

    def fill(self, text: str) -> str:
        """`text` with each placeholder replaced by its label."""
        return PLACEHOLDER.sub(lambda match: self._label_of(match[0]), text) if "{{" in text or "<" in text else text

    def _name_values(self, request: str, task: str) -> dict[str, str]:
        """The label of each value of the request, equal values under one; capitals that mark no name stay."""
        found: dict[str, str] = {}
        for slot in find_slots(request):
            if slot.value and slot.value not in found:
                known = find_whole(slot.value.lower(), task.lower()) >= 0
                known = known or (slot.kind == "name" and slot.value.lower() not in self._names)
                found[slot.value] = slot.value if known else self._new(slot.kind)
        return found

    def _in_place(self, request: str, places: list[str]) -> str:
        """The request in its own words and case, its values replaced where they stand.

        A value that is not found as it was read is a reason to show the task's masked form instead.
        """
        parts, rest = [], request
        for value in places:
            if not value:
                continue
            first = find_whole(value, rest)
            if first < 0:
                return _MASK.sub(r"[\1]", mask_slots(request))
            label, end = self._of_value[value], first + len(value)
            first -= first > 0 and rest[first - 1] in _QUOTES
            end += rest[end : end + 1] != "" and rest[end] in _QUOTES
            parts += [rest[:first], rest[first:end] if label == value else label]
            rest = rest[end:]
        return "".join([*parts, rest])

    def _label_of(self, placeholder: str) -> str:
        name = placeholder.strip("{}<>")
        if name not in self._of_slot:
            told = SLOT_TYPE.fullmatch(self._slots.get(name, ""))
            place = int(told["slot"]) if told and told["slot"] else 0
            if told and told["where"] == "task" and 0 < place <= len(self._places) and self._places[place - 1]:
                self._of_slot[name] = self._of_value[self._places[place - 1]]
            else:
                kind = "secret" if name.startswith("secret") else told["type"] if told else name.partition(":")[0]
                self._of_slot[name] = self._new(kind)
        return self._of_slot[name]

    def _new(self, kind: str) -> str:
        bare = " ".join(_BARE.sub(" ", kind.casefold()).split()) or "text"
        self._counts[bare] += 1
        return f"[{bare} {self._counts[bare]}]"
