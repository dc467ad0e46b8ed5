"""What comes next, as text for a prompt: framed and cleaned like every block of past experiences, since it is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ufo_experience.guide.guide import Act
from ufo_experience.prompt.cleaning import clean_json
from ufo_experience.prompt.data_block import frame, new_nonce
from ufo_experience.prompt.notation import encode

NEXT_ACTIONS, NOTES = "next_actions", "notes"
_TEXT = 200  # characters of a name or value


FILL = 'Where "fill" is true put the value in place of the text in ‹›: the task does not give it.'
SEEN = '"seen" is where the past run found the value.'
READ = 'Where "read" is true leave the text as it is: the value is read off the screen on the way.'
RESUMED = "The way was left. It can be taken up again here, with the first of these."
REWORDED = "Learned for a task that was put in other words: take them only if yours is the same."
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
    marks = {FILL: "fill", SEEN: "seen", READ: "read", CONFIRM: "confirm"}
    said = [text for text, mark in marks.items() if any(mark in one for one in actions)]
    told = (*said, note, RESUMED if resumed else "")
    notes = {NOTES: kept} if (kept := [one for one in told if one]) else {}
    return frame([encode({NEXT_ACTIONS: actions, **notes})], nonce or new_nonce())


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
