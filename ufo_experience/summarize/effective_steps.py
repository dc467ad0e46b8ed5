"""Which logged steps are worth keeping: those that worked, had an effect and were not taken back."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ufo_experience.actions import plain, typed_leaf
from ufo_experience.redact.names import listed, words_of
from ufo_experience.schema import Step
from ufo_experience.summarize.shortest_path import VisibleBefore, shortest_path

_NOTHING: VisibleBefore = {}
_NO_EFFECT = listed(
    "wait waitfor sleep screenshot takescreenshot capturescreenshot annotation annotate noaction none noop done finish "
    "finished fail failed terminate status planaction evaluatesubtaskaction waitaction unknown hover movemouse "
    "mousemove moveto mousemoveto moverel cursorposition mouseposition browsersnapshot browsertakescreenshot "
    "browserwaitfor browserconsolemessages browsernetworkrequests browserresize browserclose setviewport"
)
_OPENING = listed(
    "click clickinput doubleclick leftclick rightclick tap clickoncoordinates clickelement goto navigate open"
)
_GOING = listed("goto navigate open openurl browsernavigate openapp launchapp visit")
_LEADING = listed("menuitem menu tabitem tab treeitem link hyperlink a menubutton splitbutton")
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
_ABOUT_TAKING_BACK = re.compile(
    r"\b(?:undo|cancel|escape|esc|dismiss|revert|toggle|untoggle|(?:go|going|navigate|step|press|click|tap) back)\b",
    re.IGNORECASE,
)


def is_skipped(step: Step) -> bool:
    """True for a step the agent planned and never tried."""
    return step.status in ("skipped", "not_executed")


def has_effect(step: Step) -> bool:
    """True unless a step only waits, looks, or says something."""
    return bool(step.action_type) and plain(step.action_type) not in _NO_EFFECT


def tried_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What was really tried, failed or not: the way a failed run went. The same failure in a row is kept once."""
    kept: list[Step] = []
    for step in steps:
        again = bool(kept) and step.error is not None and _same(kept[-1], step) and kept[-1].error == step.error
        if has_effect(step) and not is_skipped(step) and not again:
            kept.append(step)
    return tuple(kept)


def effective_steps(
    steps: Sequence[Step],
    task: str = "",
    visible: VisibleBefore = _NOTHING,
    *,
    opened: Collection[int] = (),
) -> tuple[Step, ...]:
    """The steps that led to the result, in order.

    Left out: failed steps, steps without effect, a field set again to the value it has, and what was taken back (undo
    after an action, a toggle clicked twice, a way into something that Escape, Cancel or Back left), together with what
    took it back, unless the task is about that. A click that worked and was repeated is no retry: "Next" three times
    is three steps. Of what is left, the shortest path (see `shortest_path` for `visible` and `opened`). If nothing
    would be left, all steps that worked are kept.
    """
    worked = [step for step in steps if step.ok and has_effect(step)]
    if _ABOUT_TAKING_BACK.search(task):
        return _without_repeats(worked)
    kept: list[Step] = []
    for step in worked:
        if not _takes_back(kept, step, _came_up(step, steps, visible)) and not _repeats(kept, step):
            kept.append(step)
    return shortest_path(kept or worked, steps, visible, task, opened)


def _without_repeats(steps: Sequence[Step]) -> tuple[Step, ...]:
    kept: list[Step] = []
    for step in steps:
        if not _repeats(kept, step):
            kept.append(step)
    return tuple(kept)


def _came_up(step: Step, steps: Sequence[Step], visible: VisibleBefore) -> int | None:
    """The number of the step that brought up the dialog `step` leaves; None where the log does not tell."""
    views = visible.get(step.step_number)
    if not views:
        return None
    numbers = [one.step_number for one in steps]
    at = numbers.index(step.step_number)
    if set(numbers[at + 1 : at + 2]) & set(views):
        return None  # still there: of two dialogs, or part of the window
    while at and numbers[at - 1] in views:
        at -= 1
    return numbers[at - 1] if at else None


def _takes_back(kept: list[Step], step: Step, opened: int | None) -> bool:
    """Remove from `kept` what `step` takes back; False when it takes nothing back.

    `opened` is the step that brought up what `step` leaves, where the log tells. Only a step that does nothing but lead
    somewhere is taken back by leaving: after "Send", a Cancel leaves some other dialog and undoes nothing. Where the
    log does not tell, what was done before the Cancel may be the run's own work, and stays.
    """
    if not kept:
        return False
    if _is_undo(step) or (_is_toggle(step) and _same(kept[-1], step)):
        kept.pop()
        return True
    if not _is_back(step):
        return False
    if opened is None:
        return bool(_only_leads(kept[-1]) and kept.pop())
    inside = [one for one in kept if one.step_number > opened]
    opener = next((one for one in kept if one.step_number == opened), None)
    if opener is None or not _only_leads(opener) or any(_is_sent_off(one) for one in inside):
        return False  # "Apply", then "Cancel": what was done is done
    kept[:] = [one for one in kept if one.step_number < opened]
    return True


def _repeats(kept: list[Step], step: Step) -> bool:
    """True when the text of this control was just set to the same."""
    if plain(step.action_type) not in _SETTING:
        return False
    for earlier in reversed(kept):
        if plain(earlier.action_type) not in _SETTING:
            return False
        if earlier.target_control == step.target_control:
            return _same(earlier, step)
    return False


def _same(one: Step, other: Step) -> bool:
    """True for the same action with the same arguments on the same control, its index or label included."""
    return (
        one.action_type == other.action_type
        and one.target_control == other.target_control
        and one.application == other.application
        and one.parameters == other.parameters
    )


def _only_leads(step: Step) -> bool:
    """True for a step that opens a menu, a dialog, a page or an application and does nothing else."""
    name = plain(step.action_type)
    if name in _GOING:
        return True
    leads = plain(step.target_control.type or "") in _LEADING or step.target_control.name.rstrip().endswith(
        ("…", "...")
    )
    return name in _OPENING and leads


def _is_undo(step: Step) -> bool:
    leaf = typed_leaf(step)
    by_keys = leaf is not None and _UNDO_KEYS.fullmatch(leaf[1].strip()) is not None
    return by_keys or (_is_click(step) and _named(step, _UNDO_NAMES))


def _is_back(step: Step) -> bool:
    leaf = typed_leaf(step)
    by_keys = leaf is not None and _ESCAPE.fullmatch(leaf[1].strip()) is not None
    return by_keys or plain(step.action_type) in _BACK_ACTIONS or (_is_click(step) and _named(step, _BACK_NAMES))


def _is_sent_off(step: Step) -> bool:
    """True for a click on a button that opens nothing further."""
    kind = plain(step.target_control.type or "")
    return _is_click(step) and kind == "button" and not step.target_control.name.rstrip().endswith(("…", "..."))


def _is_toggle(step: Step) -> bool:
    return _is_click(step) and plain(step.target_control.type or "") in _TOGGLES


def _is_click(step: Step) -> bool:
    return plain(step.action_type) in _OPENING


def _named(step: Step, names: frozenset[str]) -> bool:
    """True when the control's whole name is one of `names`: "Cancel", not "Cancel my order"."""
    words = words_of(step.target_control.name)
    return len(words) == 1 and words[0] in names
