"""What stood around the control of a step, for logs that tell what was in view. Of the neighbours no name is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ufo_experience.schema import Around
from ufo_experience.text.controls import bare, fingerprint, is_fixed, role_of

NEAR = 12  # controls kept on either side


@dataclass(frozen=True)
class ListedControl:
    """A control in view as a log lists it; None for what the log does not say."""

    label: str
    name: str
    kind: str
    within: str | None = None
    dialog: bool | None = None
    checked: bool | None = None


def around(view: Sequence[ListedControl], label: str, name: str) -> tuple[str, Around] | None:
    """The place (row, group, dialog) of a control in a view, and what stood around it; None when it is not in view."""
    found = [one for one in view if one.name == name and (one.label == label or not label)]
    if len(found) != 1:
        return None
    (own,) = found
    at = view.index(own)
    role, said = role_of(own.kind), bare(name)
    equals = [one for one in view if bare(one.name) == said and role_of(one.kind) == role]
    before, after = _prints(view[:at])[-NEAR:], _prints(view[at + 1 :])[:NEAR]
    known = any(one.dialog is not None for one in view)
    return own.within or "", Around(
        before="".join(before),
        after="".join(after),
        place=equals.index(own) + 1,
        equals=len(equals),
        dialog=(own.dialog or False) if known else None,
        checked=own.checked,
    )


def _prints(view: Sequence[ListedControl]) -> list[str]:
    return [fingerprint(one.name, role) for one in view if one.name and is_fixed(role := role_of(one.kind))]
