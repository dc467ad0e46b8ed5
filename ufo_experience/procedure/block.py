"""What comes next, as text for a prompt: framed and cleaned like every block of past experiences, since it is one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.guide import Guide
from ufo_experience.prompt.cleaning import clean_json
from ufo_experience.prompt.data_block import frame, new_nonce
from ufo_experience.prompt.notation import encode
from ufo_experience.text.slots import mask_slots
from ufo_experience.trust.values import asked_first

NEXT_ACTIONS, NOTES = "next_actions", "notes"
WAY, ASKED = "way", "asked"
_SLOT = re.compile(r"<(\w+)>")
_TEXT = 200  # characters of a name or value


FILL = 'Where "fill" is true put the value in place of the text in ‹›: the task does not give it.'
SEEN = '"seen" is where the past run found the value.'
READ = 'Where "read" is true leave the text as it is: the value is read off the screen on the way.'
RESUMED = "The way was left. It can be taken up again here, with the first of these."
MORE = "Only one of your task and the one it was learned for says this: see whether it is all you need: "
UNSAID = "The way does not speak of this; a folder or tab of that name in view is opened first, the rest is yours: "
REWORDED = "Learned for a task that was put in other words: take them only if yours is the same."
CHOOSE = (
    "Nothing known asks for this in the same words. Each of these ways was learned for what its asked says: take the "
    "one that asks for the same as your task, if one does; else none."
)
CONFIRM = 'What has "confirm" is hard to take back: to answer with it is to say that it is meant.'


def ahead_block(acts: Sequence[Act], nonce: str | None = None, note: str = "", *, resumed: bool = False) -> str:
    """The actions of `Guide.ahead` as one record of a data block; "" for none.

    `note` is what to know of the way beside its steps; `resumed` says that it is found again after a detour. `nonce` is
    for repeatable output; it is fresh otherwise.

    Raises:
        UsageError: the nonce is not 32 hex digits.
    """
    if not acts:
        return ""
    actions = [action_of(act) for act in acts]
    notes = [*_explained(actions), *filter(None, (note, RESUMED if resumed else ""))]
    return frame([encode({NEXT_ACTIONS: actions, **({NOTES: notes} if notes else {})})], nonce or new_nonce())


def choice_block(ways: Sequence[tuple[Guide, Sequence[Act]]], nonce: str | None = None) -> str:
    """Several ways, with what was asked when each was learned, one record each, of which the agent may take one; "" for
    none.

    Raises:
        UsageError: the nonce is not 32 hex digits.
    """
    if not ways:
        return ""
    told = [[action_of(act) for act in acts] for _, acts in ways]
    asked = [clean_json(_SLOT.sub(r"[\1]", mask_slots(asked_first(one.procedure.task))), _TEXT) for one, _ in ways]
    records: list[dict[str, Any]] = [
        {WAY: number, ASKED: request, NEXT_ACTIONS: actions}
        for number, (request, actions) in enumerate(zip(asked, told, strict=True), start=1)
    ]
    records[0][NOTES] = [CHOOSE, *_explained([one for actions in told for one in actions])]
    return frame([encode(one) for one in records], nonce or new_nonce())


def _explained(actions: Sequence[dict[str, Any]]) -> list[str]:
    """What the marks of some actions stand for."""
    marks = {FILL: "fill", SEEN: "seen", READ: "read", CONFIRM: "confirm"}
    return [text for text, mark in marks.items() if any(mark in one for one in actions)]


def action_of(act: Act) -> dict[str, Any]:
    """An action in words that can be answered with: function, name, type, within, parameters, and its marks."""
    target = act.target
    fields: dict[str, Any] = {"function": act.action}
    if target is not None:
        fields |= {"name": target.name, "type": target.type, "within": target.within}
    fields |= {key: value for key, value in act.parameters.items() if key not in fields}
    kept = {key: value for key, value in fields.items() if value not in ("", None)}
    marks = {"confirm": act.confirm, "fill": act.fill, "read": act.read}
    seen = {"seen": act.seen} if act.seen and not act.read else {}
    return {**clean_json(kept | seen, _TEXT), **{mark: True for mark, said in marks.items() if said}}
