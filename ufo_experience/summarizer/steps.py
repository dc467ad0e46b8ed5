"""Which logged steps are worth keeping: those that worked, had an effect and were not taken back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ufo_experience.redaction.actions import is_typing, plain, typed_leaf
from ufo_experience.redaction.words import listed, words_of
from ufo_experience.schema import Step

_NO_EFFECT = listed(
    "wait waitfor sleep screenshot takescreenshot capturescreenshot annotation annotate noaction none noop done finish "
    "finished fail failed terminate status planaction evaluatesubtaskaction waitaction unknown hover movemouse "
    "mousemove"
)
_OPENING = listed(
    "click clickinput doubleclick leftclick rightclick tap clickoncoordinates clickelement goto navigate open"
)
_SETTING = listed("setedittext settext setvalue fill")
_TOGGLES = listed("checkbox togglebutton switch toggle radiobutton checkmenuitem togglecontrol")
_BACK_ACTIONS = listed("goback back navigateback browserback pressback")
_BACK_NAMES = listed("cancel back dismiss abbrechen zurück annuler retour cancelar annulla 取消 返回 キャンセル 戻る")
_UNDO_NAMES = listed("undo rückgängig deshacer annuler 撤销 元に戻す")
_ESCAPE = re.compile(r"\{?(?:vk_)?esc(?:ape)?\}?", re.IGNORECASE)
_UNDO_KEYS = re.compile(
    r"(?:\{(?:vk_)?(?:control|ctrl)(?: down)?\}|\^|(?:ctrl|control|cmd|command|meta) ?[+-] ?)z"
    r"(?:\{(?:vk_)?(?:control|ctrl) up\})?",
    re.IGNORECASE,
)
# A task that is about taking something back keeps such steps.
_ABOUT_TAKING_BACK = listed("undo cancel back escape esc dismiss revert toggle untoggle")


def is_skipped(step: Step) -> bool:
    """True for a step the agent planned and never tried."""
    return step.error is not None and step.error.startswith("skipped")


def has_effect(step: Step) -> bool:
    """True unless a step only waits, looks, or says something."""
    return bool(step.action_type) and plain(step.action_type) not in _NO_EFFECT


def tried_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What was really tried, failed or not, each attempt once: the way a failed run went."""
    kept: list[Step] = []
    for step in steps:
        again = bool(kept) and _same(kept[-1], step) and kept[-1].error == step.error
        if has_effect(step) and not is_skipped(step) and not again:
            kept.append(step)
    return tuple(kept)


def effective_steps(steps: Sequence[Step], task: str = "") -> tuple[Step, ...]:
    """The steps that led to the result, in order.

    Left out: failed steps, steps without effect, immediate repeats, text set again to the same value, and what was
    taken back (undo after an action, a toggle clicked twice, a way into something that Escape, Cancel or Back left),
    together with what took it back, unless the task is about that. If nothing would be left, all steps that worked
    are kept.
    """
    worked = [step for step in steps if step.ok and has_effect(step)]
    judge_back = not _ABOUT_TAKING_BACK & set(words_of(task))
    kept: list[Step] = []
    for step in worked:
        if judge_back and _takes_back(kept, step):
            continue
        if not _repeats(kept, step):
            kept.append(step)
    return tuple(kept or worked)


def _takes_back(kept: list[Step], step: Step) -> bool:
    """Remove from `kept` what `step` takes back; False when it takes nothing back."""
    if not kept:
        return False
    if _is_undo(step) or (_is_toggle(step) and _same(kept[-1], step)):
        kept.pop()
        return True
    if not _is_back(step):
        return False
    start = len(kept)
    while start and is_typing(kept[start - 1].action_type):
        start -= 1
    if start and plain(kept[start - 1].action_type) in _OPENING:
        del kept[start - 1 :]
        return True
    return False


def _repeats(kept: list[Step], step: Step) -> bool:
    """True when the step before did the same, or the text of this control was just set to the same."""
    if kept and _same(kept[-1], step):
        return True
    if plain(step.action_type) not in _SETTING:
        return False
    for earlier in reversed(kept):
        if plain(earlier.action_type) not in _SETTING:
            return False
        if earlier.target_control == step.target_control:
            return _same(earlier, step)
    return False


def _same(one: Step, other: Step) -> bool:
    return (
        one.action_type == other.action_type
        and one.target_control == other.target_control
        and one.application == other.application
        and _arguments(one) == _arguments(other)
    )


def _arguments(step: Step) -> dict[str, object]:
    """Parameters without the label of the moment: ids are given anew for every screenshot."""
    return {name: value for name, value in step.parameters.items() if plain(name) not in ("id", "index", "label")}


def _is_undo(step: Step) -> bool:
    leaf = typed_leaf(step)
    by_keys = leaf is not None and _UNDO_KEYS.fullmatch(leaf[1].strip()) is not None
    return by_keys or (_is_click(step) and _named(step, _UNDO_NAMES))


def _is_back(step: Step) -> bool:
    leaf = typed_leaf(step)
    by_keys = leaf is not None and _ESCAPE.fullmatch(leaf[1].strip()) is not None
    return by_keys or plain(step.action_type) in _BACK_ACTIONS or (_is_click(step) and _named(step, _BACK_NAMES))


def _is_toggle(step: Step) -> bool:
    return _is_click(step) and plain(step.target_control.type or "") in _TOGGLES


def _is_click(step: Step) -> bool:
    return plain(step.action_type) in _OPENING


def _named(step: Step, names: frozenset[str]) -> bool:
    """True when the control's whole name is one of `names`: "Cancel", not "Cancel my order"."""
    words = words_of(step.target_control.name)
    return len(words) == 1 and words[0] in names
