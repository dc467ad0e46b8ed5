"""How the rule-based agent gets to know anything of the past: by reading the text of its prompt.

What a remembered run typed stands there under the name of a value of its task ("[email 1]"): the same value of the
goal at hand is filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.reading import parse_block
from benchmarks.steps.demonstration import Hints, HintStep
from benchmarks.steps.episode_memory import INPUT_TYPES, PLACES

FUNCTIONS = {
    **dict.fromkeys(("click", "tick", "untick"), "click_input"),
    "type": "set_edit_text",
    "choose": "select_item",
    "press": "keyboard_input",
    "switch to": "switch_application",
}


def read_hints(prompt: str, goal: str) -> Hints | None:
    """What a prompt tells of the past: the steps of the best run that worked, and those of runs that failed.

    None when the prompt holds no past experience.
    """
    records = parse_block(prompt)
    if not records:
        return None
    best = next((one for one in records if one.get("steps")), {})
    told = _seen(best.get("steps", ()), goal)
    steps = without_loops([step for _, step in told])
    failed = [list(_seen(one["tried_and_failed"], goal)) for one in records if _failed(one)]
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


def _seen(lines: Iterable[Mapping[str, Any]], goal: str) -> Iterator[tuple[str, HintStep]]:
    """Each step that says all it takes, with the window it was taken in; a value that is open is for the agent."""
    for line in lines:
        if line.get("open"):
            continue
        control = str(line.get("control") or line.get("item_of") or "")
        parameters = {key: str(value) for key, value in line.get("parameters", {}).items()}
        yield (
            str(line.get("within", "")),
            HintStep(function_of(line), control, str(line.get("control_type", "")), parameters),
        )


def function_of(step: Mapping[str, Any]) -> str:
    """What the fake desktop calls a step of the block."""
    return FUNCTIONS.get(str(step["action"]), str(step["action"]))
