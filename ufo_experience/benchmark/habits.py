"""Common knowledge of user interfaces: what applications are for, how buttons that send off or give up are called."""

from __future__ import annotations

from ufo_experience.benchmark.environment import ControlView, Observation
from ufo_experience.benchmark.recollection import PLACES
from ufo_experience.benchmark.wording import Goal, bare, words

_PURPOSES = {
    "mail": words("mail message email send sender inbox reply write signature receipt"),
    "sheet": words("sheet workbook column row cell chart"),
    "files": words("file folder directory document archive"),
    "settings": words(
        "turn alert network proxy server traffic device account language computer display light update allow camera "
        "microphone location"
    ),
}
_COMMIT = words(
    "save ok apply send submit search login next finish continue done confirm yes create accept go dispatch keep put "
    "change start restore"
)
_RETREAT = ("cancel", "dismiss", "close", "back", "no")
_MORE = ("more", "menu", "options")


def likely(goal: Goal, applications: tuple[str, ...]) -> set[str]:
    """The applications whose purpose shares most words with the goal; empty when none shares any."""
    shared = {name: len(_PURPOSES.get(name.lower(), frozenset()) & goal.words) for name in applications}
    most = max(shared.values(), default=0)
    return {name for name, count in shared.items() if count == most} if most else set()


def is_commit(control: ControlView, observation: Observation) -> bool:
    """True for the last button of a dialog, and for a button of a page that is called like one."""
    if control.type not in ("Button", "Text") or control.name.endswith("…") or is_retreat(control):
        return False
    if control.dialog:
        return control.id == max(one.id for one in observation.controls if one.type == "Button")
    return bool(words(control.name) & _COMMIT)


def is_retreat(control: ControlView) -> bool:
    """True for a control that gives something up: Cancel, Close, Back."""
    return bare(control.name).split(" ")[0] in _RETREAT


def opens(control: ControlView) -> bool:
    """True for what shows something and does nothing yet: a menu, a tab, a button with an ellipsis."""
    return control.expanded is not None or control.name.endswith("…") or control.type in PLACES


def shows_more(control: ControlView) -> bool:
    """True for a control that is called like one that opens a menu."""
    return bare(control.name) in _MORE
