"""What kind of field each step types into. Logs carry no "is a password" flag, so names and the way there must tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ufo_experience.actions import control_names, is_copy, is_paste, is_press, is_typing, typed_leaf
from ufo_experience.redact.names import (
    is_login_name,
    is_search_name,
    is_secret_name,
    lets_in,
    listed,
    mentions_password,
    words_of,
)
from ufo_experience.schema import Step
from ufo_experience.text.remembered import remembered

# Names that say what a control is, not which one.
_NAMELESS = listed("edit text textbox textfield input field document pane custom window none null textarea")


@dataclass
class Field:
    """Where a step's text goes. `secret`: never kept. `kept`: a search box, its text may stay.

    `after_tab`: text after a tab key goes on into a secret field.
    """

    secret: bool = False
    kept: bool = False
    after_tab: bool = False


def fields_of(steps: Sequence[Step]) -> list[Field]:
    """Say for every step what its text goes into.

    A step that names no control types into the one that was used last. A tab leads from a login name into the
    password. What is copied and then pasted into a secret field is secret where it was copied.
    """
    fields: list[Field] = []
    focus, copied = "", []
    names = [_own_name(step) for step in steps]
    for place, (step, name) in enumerate(zip(steps, names, strict=True)):
        field = _field(name or focus, step)
        fields.append(field)
        if is_copy(step.action_type):
            copied.append(place)
        if is_paste(step) and field.secret:
            for earlier in copied[-1:]:
                fields[earlier].secret = True
        focus = _focus_after(step, name, focus)
    for place in _last_before_entry(steps, names):
        fields[place].secret = True
    return fields


def _last_before_entry(steps: Sequence[Step], names: Sequence[str]) -> Iterator[int]:
    """What was typed last before a button that lets in, and names no user: a secret, whatever its field is called."""
    for place, step in enumerate(steps[1:]):
        leaf = typed_leaf(steps[place]) if is_typing(steps[place].action_type) else None
        name = names[place]
        named = name and not is_login_name(name) and not is_search_name(name)
        chosen = leaf and any(map(str.isdigit, leaf[1]))
        if named and chosen and not is_typing(step.action_type) and lets_in(step.target_control.name):
            yield place


def _field(name: str, step: Step) -> Field:
    secret = is_secret_name(name) or (not name and mentions_password(step.observation))
    kept = not secret and is_search_name(name)
    return Field(secret, kept, after_tab=secret or is_login_name(name) or mentions_password(step.observation))


def _focus_after(step: Step, name: str, focus: str) -> str:
    """The name of the control that has the focus once `step` is done."""
    types = is_typing(step.action_type) or is_press(step.action_type)
    now = name or (focus if types else "")
    if types and _has_tab(step):
        return "password" if is_login_name(now) and not is_secret_name(now) else ""
    return now


def _has_tab(step: Step) -> bool:
    leaf = typed_leaf(step)
    return leaf is not None and ("{tab" in leaf[1].casefold() or "\t" in leaf[1] or leaf[1].strip().casefold() == "tab")


def _own_name(step: Step) -> str:
    name = control_names(step)
    return name if _says_which(name) else ""


@remembered(4_096)
def _says_which(name: str) -> bool:
    """True when a name holds a word that does not only say what a control is."""
    return any(word not in _NAMELESS for word in words_of(name))
