"""What comes next, as text for a prompt: framed and cleaned like every block of past experiences, since it is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ufo_experience.guide.guide import Act
from ufo_experience.prompt.cleaning import clean_json
from ufo_experience.prompt.data_block import frame, new_nonce
from ufo_experience.prompt.notation import encode

NEXT_ACTIONS = "next_actions"
_TEXT = 200  # characters of a name or value


def ahead_block(acts: Sequence[Act], nonce: str | None = None) -> str:
    """The actions of `Guide.ahead` as one record of a data block; "" for none.

    `nonce` is for repeatable output; it is fresh otherwise.

    Raises:
        UsageError: the nonce is not 32 hex digits.
    """
    if not acts:
        return ""
    return frame([encode({NEXT_ACTIONS: [action_of(act) for act in acts]})], nonce or new_nonce())


def action_of(act: Act) -> dict[str, Any]:
    """An action in words that an agent can answer with: function, name, type, within, its parameters, and `confirm`."""
    target = act.target
    fields: dict[str, Any] = {"function": act.action}
    if target is not None:
        fields |= {"name": target.name, "type": target.type, "within": target.within}
    fields |= {key: value for key, value in act.parameters.items() if key not in fields}
    kept = {key: value for key, value in fields.items() if value not in ("", None)}
    return {**clean_json(kept, _TEXT), **({"confirm": True} if act.confirm else {})}
