"""How the rule-based agent gets to know anything of the past: by reading the text of its prompt.

What a remembered run typed stands there as a placeholder, and what the placeholder stood for as a slot type ("email
from task slot 2"): the same slot of the goal at hand is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ufo_experience.benchmark.steps.demonstration import Hints, HintStep
from ufo_experience.benchmark.steps.episode_memory import INPUT_TYPES, PLACES
from ufo_experience.errors import UsageError
from ufo_experience.prompt.builder import parse_block, read_step
from ufo_experience.redaction.vault import SLOT_TYPE
from ufo_experience.text.slots import find_slots

_PLACEHOLDER = re.compile(r"\{\{([^{}]+)\}\}")


def read_hints(prompt: str, goal: str) -> Hints | None:
    """What a prompt tells of the past: the steps of the best run that worked, and those of runs that failed.

    None when the prompt holds no past experience.
    """
    records = parse_block(prompt)
    if not records:
        return None
    best = next((one for one in records if one.get("successful_steps")), {})
    told = _seen(best.get("successful_steps", ()), best.get("slots", {}), goal)
    steps = without_loops([step for _, step in told])
    failed = [list(_seen(one["tried_and_failed"], one.get("slots", {}), goal)) for one in records if _failed(one)]
    avoid = tuple(step for one in failed for step in dead_ends(one))
    unfinished = () if steps else tuple(step for one in failed[:1] for step in not_finished(one))
    return Hints(tuple(steps), str(best.get("task", "")), avoid, unfinished, str(best.get("application", "")))


def without_loops(steps: list[HintStep]) -> list[HintStep]:
    """The steps without ways that lead back to where they began: a menu, tab or dialog that was opened again.

    A loop stays where it fills in or marks something that is not done again afterwards.
    """
    kept: list[HintStep] = []
    for at, step in enumerate(steps):
        kept.append(step)
        before = next((place for place in reversed(range(len(kept) - 1)) if kept[place] == step), None)
        if before is None or not _opens(step):
            continue
        later = steps[at + 1 :]
        lost = [one for one in kept[before:-1] if one.type in INPUT_TYPES]
        if all(one in later for one in lost):
            del kept[before:-1]
    return kept


def dead_ends(seen: Sequence[tuple[str, HintStep]]) -> list[HintStep]:
    """What a failed run opened in vain: a dialog it left again, a tab or folder it left for another.

    Args:
        seen: the steps, each with the window it was taken in.
    """
    last = {window: at for at, (window, _) in enumerate(seen)}
    return [
        step
        for at, (window, step) in enumerate(seen)
        if (_opens_dialog(step) and last[window] > at) or _is_left(window, step, seen[at + 1 :])
    ]


def _is_left(window: str, step: HintStep, later: Sequence[tuple[str, HintStep]]) -> bool:
    """True for a place that was left for another of the same window before anything was filled in."""
    following = ((where, one) for where, one in later if one.type == step.type or one.type in INPUT_TYPES)
    where, one = next(following, ("", step))
    return step.type in PLACES and bool(where) and (where, one.type) == (window, step.type)


def not_finished(seen: Sequence[tuple[str, HintStep]]) -> list[HintStep]:
    """What a failed run was about when it ended: what it opened after its last dead end has not been found wrong."""
    steps = [step for _, step in seen]
    dead = dead_ends(seen)
    begun = max((at + 1 for at, step in enumerate(steps) if step in dead), default=0)
    return [step for step in steps[begun:] if _opens(step)]


def _failed(record: Mapping[str, Any]) -> bool:
    return bool(record.get("tried_and_failed"))


def _opens(step: HintStep) -> bool:
    return step.type in (*PLACES, "MenuItem") or step.control.endswith("…")


def _opens_dialog(step: HintStep) -> bool:
    return step.control.endswith("…") and step.type not in INPUT_TYPES


def _seen(lines: Iterable[Mapping[str, Any]], slots: Mapping[str, str], goal: str) -> Iterator[tuple[str, HintStep]]:
    """Each step with what was observed before it."""
    values = [slot.value for slot in find_slots(goal)]
    for line in lines:
        try:
            _, function, control, observation = read_step(str(line["step"]))
        except UsageError:
            continue  # a step the text of a prompt cannot tell: the next ones may still help
        parameters = {key: _filled(str(value), slots, values) for key, value in (line.get("parameters") or {}).items()}
        kind = str(line.get("control_type") or "")
        yield observation, HintStep(function, _filled(control, slots, values), kind, parameters)


def _filled(text: str, slots: Mapping[str, str], values: list[str]) -> str:
    """`text` with each placeholder replaced by the slot of the goal it speaks of; others stay."""

    def value(match: re.Match[str]) -> str:
        kind = SLOT_TYPE.fullmatch(slots.get(match.group(1), ""))
        place = int(kind["slot"]) if kind and kind["slot"] else 0
        return values[place - 1] if 0 < place <= len(values) else match.group()

    return _PLACEHOLDER.sub(value, text)
