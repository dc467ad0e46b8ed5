"""The parameters of a step: which text in them is a secret, which was typed, and a way to rewrite each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import JsonValue

from ufo_experience.actions import (
    FIELD_NAMES,
    FIELD_VALUES,
    is_copy,
    is_option,
    is_press,
    plain,
    takes_text,
)
from ufo_experience.redact import keystrokes
from ufo_experience.redact.fields import Field
from ufo_experience.redact.names import is_secret_name
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.schema import Step

SECRET, TYPED, KEPT, OTHER = "secret", "typed", "kept", "other"
_FIGURES = FIELD_VALUES | {"pin", "otp", "password"}  # parameters whose number may be a secret
_KEY_PARAMETERS = frozenset({"keys", "key", "keyboardkey"})

# Rewrites one text, given its role: SECRET, TYPED, KEPT (typed, but may stay) or OTHER.
Visit = Callable[[str, str], str]


def rewrite_parameters(step: Step, field: Field, visit: Visit) -> dict[str, JsonValue]:
    """Rewrite every text in a step's parameters, keys included, through `visit(text, role)`."""

    def rewrite(value: JsonValue, key: str, secret: bool) -> JsonValue:
        if isinstance(value, dict):
            inside = secret or _is_secret_field(value)
            return {
                visit(name, OTHER): rewrite(
                    item, name, (inside and name.casefold() in FIELD_VALUES) or is_secret_name(name)
                )
                for name, item in value.items()
            }
        if isinstance(value, list):
            return (
                value if _is_chord_list(value, step, key, secret) else [rewrite(v, key, secret) for v in _joined(value)]
            )
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, str):
            role = _role(step, field, key, secret)
            if role == OTHER:
                return visit(value, OTHER)
            return _leaf(value, role, field, visit, bare=is_press(step.action_type) or plain(key) in _KEY_PARAMETERS)
        number = str(value)
        role = _role(step, field, key, secret and key.casefold() in _FIGURES)
        typed = role in (SECRET, TYPED) and (key.casefold() in FIELD_VALUES or role == SECRET)
        return visit(number, role) if typed else value

    return {visit(name, OTHER): rewrite(item, name, is_secret_name(name)) for name, item in step.parameters.items()}


def _role(step: Step, field: Field, key: str, secret: bool) -> str:
    if secret:
        return SECRET
    if not takes_text(step.action_type) or is_option(key):
        return OTHER
    if field.secret:
        return SECRET
    return KEPT if field.kept and not is_copy(step.action_type) else TYPED


def _leaf(value: str, role: str, field: Field, visit: Visit, *, bare: bool) -> str:
    """Rewrite one text; in key syntax only what is typed between the keys."""
    if not value.strip() or is_placeholder(value):
        return visit(value, OTHER)
    if role == KEPT or keystrokes.is_chord(value, bare=bare) or (role == TYPED and bare and len(value) == 1):
        return visit(value, KEPT)
    return "".join(_pieces(keystrokes.join_braces(value), role, field, visit))


def _pieces(value: str, role: str, field: Field, visit: Visit) -> Iterator[str]:
    for piece, is_text in keystrokes.split_keys(value):
        if not is_text or not piece.strip() or is_placeholder(piece):
            yield piece
            role = SECRET if field.after_tab and "tab" in piece.casefold() and not is_text else role
        else:
            yield visit(piece, role)


def _is_chord_list(items: list[JsonValue], step: Step, key: str, secret: bool) -> bool:
    """True for a list of keys pressed together: `["ctrl", "s"]`."""
    texts = [item for item in items if isinstance(item, str)]
    return (
        not secret
        and len(texts) == len(items) > 0
        and takes_text(step.action_type)
        and not is_option(key)
        and keystrokes.is_chord("+".join(texts))
    )


def _joined(items: list[JsonValue]) -> list[JsonValue]:
    """A list of single characters is a text typed key by key."""
    if len(items) > 1 and all(isinstance(item, str) and len(item) == 1 for item in items):
        return ["".join(str(item) for item in items)]
    return items


def _is_secret_field(value: dict[str, JsonValue]) -> bool:
    names = (value.get(key) for key in FIELD_NAMES)
    return any(isinstance(name, str) and is_secret_name(name) for name in names)


def is_placeholder(value: str) -> bool:
    """True when nothing but placeholders is left of a text."""
    return not PLACEHOLDER.sub("", value).strip() and bool(value.strip())


def strings_in(value: JsonValue) -> Iterator[str]:
    """Every text in a JSON value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
