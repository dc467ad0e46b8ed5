"""How the rule-based agent gets to know anything of the past: by reading the text of its prompt.

What a remembered run typed stands there as a placeholder, and what the placeholder stood for as a slot type ("email
from task slot 2"): the same slot of the goal at hand is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ufo_experience.benchmark.following import Hints, HintStep
from ufo_experience.errors import UsageError
from ufo_experience.prompt_builder import parse_block, read_step
from ufo_experience.redaction.slots import SLOT_TYPE
from ufo_experience.text.intent import find_slots

_PLACEHOLDER = re.compile(r"\{\{([^{}]+)\}\}")


def read_hints(prompt: str, goal: str) -> Hints | None:
    """What a prompt tells of the past: the steps of the best run that worked, and those of runs that failed.

    None when the prompt holds no past experience.
    """
    records = parse_block(prompt)
    if not records:
        return None
    best = next((one for one in records if one.get("successful_steps")), {})
    steps = tuple(_steps(best.get("successful_steps", ()), best.get("slots", {}), goal))
    failed = [one for one in records if one.get("tried_and_failed")]
    avoid = tuple(step for one in failed for step in _steps(one["tried_and_failed"], one.get("slots", {}), goal))
    return Hints(steps, str(best.get("task", "")), avoid)


def _steps(lines: Iterable[Mapping[str, Any]], slots: Mapping[str, str], goal: str) -> Iterable[HintStep]:
    values = [slot.value for slot in find_slots(goal)]
    for line in lines:
        try:
            _, function, control, _ = read_step(str(line["step"]))
        except UsageError:
            continue  # a step the text of a prompt cannot tell: the next ones may still help
        parameters = {key: _filled(str(value), slots, values) for key, value in (line.get("parameters") or {}).items()}
        yield HintStep(function, _filled(control, slots, values), str(line.get("control_type") or ""), parameters)


def _filled(text: str, slots: Mapping[str, str], values: list[str]) -> str:
    """`text` with each placeholder replaced by the slot of the goal it speaks of; others stay."""

    def value(match: re.Match[str]) -> str:
        kind = SLOT_TYPE.fullmatch(slots.get(match.group(1), ""))
        place = int(kind["slot"]) if kind and kind["slot"] else 0
        return values[place - 1] if 0 < place <= len(values) else match.group()

    return _PLACEHOLDER.sub(value, text)
