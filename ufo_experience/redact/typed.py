"""Which text of a step was typed, what kind of thing it is, and which of it goes into a field of a secret or a login.

Options that were chosen and keys that were pressed together (`ctrl+s`, `{ENTER}`, `["ctrl", "s"]`) are not typed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from pydantic import JsonValue

from ufo_experience import actions
from ufo_experience.actions import FIELD_VALUES, does, is_press, plain, takes_text, typed_leaf
from ufo_experience.redact.secrets import data
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.request import UNSPACED, Request, find_whole, on_forgetting
from ufo_experience.schema import Step

SECRET, TYPED, OTHER = "secret", "typed", "other"
Visit = Callable[[str, str], str]  # rewrites one text, given its role

_MODIFIERS = frozenset(
    "ctrl control alt shift win windows lwin rwin cmd command meta super option strg umschalt lcontrol rcontrol lshift "
    "rshift lmenu".split()
)
_KEYS = _MODIFIERS | frozenset(
    "enter return tab esc escape space backspace back bs bksp delete del insert ins home end pageup pagedown pgup pgdn "
    "next prior up down left right arrowup arrowdown arrowleft arrowright capslock numlock printscreen prtsc pause "
    "break apps menu help clear plus minus add subtract multiply divide fn entf einfg".split()
)
_PRESSED = re.compile(
    rf"(?i)(\{{(?:VK_)?(?:{'|'.join(_MODIFIERS)})(?: +(?:\d+|down))?\}}[^{{]?"
    rf"|\{{(?:VK_)?(?:{'|'.join(_KEYS)}|f\d{{1,2}})(?: +(?:\d+|down|up))?\}})"
)
_SYMBOL_CHORD = re.compile(r"(?<![\^%+])[\^%+]{1,8}(?:\{[^{}]{1,80}\}|[A-Za-z0-9]|\([^()]{0,80}\))")
_SENTENCE = 5  # words from which on an argument of a call is a text that somebody wrote
_Place = tuple[str, str, str | None]
_PAD: _Place = ("type", "PIN pad", None)  # what clicks on its digits are joined to
_SINGLE = {"backspace": "\b", "space": " "}
_SINGLE_KEYS = 3  # keys pressed one after the other that are a text
_KEY_ARGUMENTS = frozenset({"keys", "key", "keyboardkey"})
_SPOKEN = ("password", "code")  # sections whose words are read in what was seen
_COUNTED_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_SEPARATORS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# "email", "email from task", "email from task slot 2", "email from request": in a new task of the same kind, the n-th
# value is the one to type. "text from task word 7": what is no value by itself, or a part of one, as a login or a first
# name; "and their mark": the full stop behind them was typed, too. A summarizer may add what the value means: "email
# from task slot 2 (the recipient)".
SLOT_TYPE = re.compile(
    r"(?P<type>[\w ]+?)"
    r"(?: from (?P<where>task|request)(?: slot (?P<slot>\d+)"
    r"| words? (?P<first>\d+)(?: to (?P<last>\d+))?(?P<mark> and their mark)?)?)?"
    r"(?: \((?P<meaning>[^()]*)\))?"
)
MARKS = ".!?…。！？"  # at the end of a sentence
FIXED = "= "  # begins the type of a slot whose value is known: two runs typed it, or a person says so
_TYPES = (
    ("email", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("url", re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)),
    ("date", re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})")),
    ("time", re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?", re.IGNORECASE)),
    ("number", re.compile(r"[-+]?[$€£]?\d[\d.,]*%?")),
    ("phone", re.compile(r"\+?\(?\d[\d() ./-]{5,18}\d")),
    ("formula", re.compile(r"=.+", re.DOTALL)),
    ("path", re.compile(r"(?:[A-Za-z]:[\\/]|\\\\|~?/|\.{1,2}[\\/])[^\n]*|[^\s\\/]+(?:[\\/][^\s\\/]+)+")),
    ("file", re.compile(r"[^\\/:*?\"<>|\n]{1,80}\.[A-Za-z][A-Za-z0-9]{1,4}")),
)


def words_of(name: str) -> list[str]:
    """Split a name into lower-case words: `txtPinCode`, `pin_code` and `PIN code` share `pin` and `code`."""
    return [word.casefold() for word in _SEPARATORS.split(_CAMEL.sub(" ", name)) if word]


@lru_cache(4_096)
def is_secret_name(name: str) -> bool:
    """True when what is typed into, or passed as, something of this name is a secret.

    >>> is_secret_name("txtUserPassword"), is_secret_name("PIN"), is_secret_name("Search")
    (True, True, False)
    """
    return names_one_of(name, "password", "code", "key", "field")


on_forgetting(is_secret_name.cache_clear)


def names_one_of(name: str, *sections: str) -> bool:
    """True when a word of these sections of `secrets.txt` is among the words of a name, or within them put together."""
    words, (alone, within) = words_of(name), _patterns(sections)
    return bool(alone.search(f" {' '.join(words)} ") or within.search("".join(words)))


@cache
def _patterns(sections: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds the words of these sections that must stand alone, between blanks, and those that need not."""
    nouns = [(re.escape(word), within) for word, section, within, _ in data().nouns if section in sections]
    alone, within = ("|".join(word for word, is_within in nouns if is_within is kind) for kind in (False, True))
    return re.compile(f" (?:{alone or '(?!)'}) "), re.compile(within or "(?!)")


def join_single_keys(steps: Sequence[Step]) -> tuple[Step, ...]:
    """One step for each run of steps that type one character each into the same control, or click digits of a pad.

    No rule would see a password in its single letters. Clicked digits are joined where the run speaks of a code.
    """
    pads = any(names_one_of(f"{step.target_control.within} {step.observation[:200]}", *_SPOKEN) for step in steps)
    joined: list[Step] = []
    for place, run in groupby(((*_single_key(step, pads), step) for step in steps), key=itemgetter(0)):
        keys = [(key, step) for _, key, step in run]
        joined += [_join(place, keys)] if place and len(keys) >= _SINGLE_KEYS else [step for _, step in keys]
    return tuple(joined)


def _single_key(step: Step, pads: bool) -> tuple[_Place | None, str]:
    """Where a step types one character (action, name and kind of the control), and which; a backspace as `\\b`."""
    control = step.target_control
    if pads and does(step.action_type, "click") and re.fullmatch(r"\d(?: ?[A-Z]{3,4})?", control.name.strip()):
        return _PAD, control.name.strip()[0]
    leaf = typed_leaf(step) if step.ok and does(step.action_type, "type", "press") else None
    text = leaf[1] if leaf else ""
    key = _SINGLE.get(text.strip("{}").casefold(), text if len(text) == 1 else text.strip("{}"))
    return ((step.action_type, control.name, control.type) if len(key) == 1 else None), key


def _join(place: _Place, keys: Sequence[tuple[str, Step]]) -> Step:
    typed: list[str] = []
    for key, _ in keys:
        typed = typed[:-1] if key == "\b" else [*typed, key]
    first, (action, name, kind) = keys[0][1], place
    leaf = typed_leaf(first) if place != _PAD else None
    control = first.target_control.model_copy(update={"name": name, "type": kind})
    parameters = {**(first.parameters if leaf else {}), leaf[0] if leaf else "text": "".join(typed)}
    update = {"action_type": action, "target_control": control, "parameters": parameters, "result": "success"}
    return first.model_copy(update=update)


def secret_fields(steps: Sequence[Step]) -> list[bool]:
    """For every step whether its text goes into a secret field: by the name of the field, or, where a step names none,
    by that of the last one and by what was seen.
    """
    fields: list[bool] = []
    focus = ""
    for step in steps:
        name, named = actions.control_names(step), step.target_control.name
        led = not named and (is_secret_name(focus) or names_one_of(step.observation[:200], *_SPOKEN))
        fields.append(led or is_secret_name(name))
        focus = name if named or not takes_text(step.action_type) else focus
    return fields


def is_chord(value: str, *, bare: bool = True) -> bool:
    """True when `value` presses keys and types no text. `bare`: a key's name alone ("enter") is a key, not a word."""
    text = value.strip()
    if not text or text.casefold() in _KEYS or re.fullmatch(r"(?i)f\d{1,2}", text):
        return bool(text) and bare
    parts = [part.strip().casefold() for part in re.split(r"[+ -]", text)] if len(text) > 1 else []
    if len(parts) > 1 and parts[0] in _MODIFIERS and all(part in _KEYS or len(part) <= 2 for part in parts):
        return True
    return not any(is_text for _, is_text in _split(_SYMBOL_CHORD.sub("", text)))


def _split(value: str) -> Iterator[tuple[str, bool]]:
    """Cut `value` into (piece, whether it is text); one character after a modifier belongs to it: `{VK_CONTROL}a`."""
    return ((piece, place % 2 == 0) for place, piece in enumerate(_PRESSED.split(value)) if piece)


class Typing(NamedTuple):
    """What the texts of a JSON value are: those of no action, unless it says so."""

    takes: bool = False  # it types them
    calls: bool = False  # a call, whose sentences somebody wrote
    secret: bool = False  # into a field of a secret
    bare: bool = False  # a key's name alone ("enter") is a key


def rewrite_parameters(step: Step, secret: bool, visit: Visit) -> dict[str, JsonValue]:
    """The parameters of a step with every text in them, names included, put through `visit(text, role)`."""
    takes, leaf, calls = takes_text(step.action_type), typed_leaf(step), actions.kind_of(step.action_type) == "other"
    bare = is_press(step.action_type) or (leaf is not None and plain(leaf[0]) in _KEY_ARGUMENTS)
    made: dict[str, JsonValue] = rewrite_json(step.parameters, visit, Typing(takes, calls, secret, bare))
    return made


def rewrite_json(value: Any, visit: Visit, how: Typing = Typing(), key: str = "", hidden: bool = False) -> Any:  # noqa: B008
    """A JSON value with every text visited; a text under a name such as `password` is a secret as a whole."""
    written = how.calls and isinstance(value, str) and len(value.split()) >= _SENTENCE
    typed = (how.takes or written) and not actions.is_option(key)
    role = SECRET if hidden or (typed and how.secret) else TYPED if typed else OTHER
    if isinstance(value, Mapping):
        inside = hidden or any(is_secret_name(str(value[name])) for name in actions.FIELD_NAMES if name in value)
        named = {name: is_secret_name(name) and not is_placeholder(f"{{{{{name}}}}}") for name in map(str, value)}
        secrets = {name for name in named if named[name] or (inside and name.casefold() in FIELD_VALUES)}
        return {
            visit(name, OTHER): rewrite_json(item, visit, how, name, name in secrets)
            for name, item in zip(named, value.values(), strict=True)
        }
    if isinstance(value, list | tuple):
        texts = [item for item in value if isinstance(item, str)]
        all_texts = len(texts) == len(value)
        if typed and not hidden and texts and all_texts and is_chord("+".join(texts)):
            return value
        by_key = (typed or hidden) and len(value) > 1 and all_texts and all(len(text) == 1 for text in texts)
        return [rewrite_json(item, visit, how, key, hidden) for item in (["".join(texts)] if by_key else value)]
    if isinstance(value, str):
        return visit(value, OTHER) if role == OTHER and value else _typed_text(value, role, visit, how.bare)
    told = role == SECRET or (role == TYPED and key.casefold() in FIELD_VALUES)
    return visit(str(value), role) if told and not isinstance(value, bool) and value is not None else value


def _typed_text(value: str, role: str, visit: Visit, bare: bool) -> str:
    one_key = role == TYPED and bare and len(value) == 1
    if one_key or not value.strip() or is_placeholder(value) or is_chord(value, bare=bare):
        return value
    pieces = ((piece, said and piece.strip() and not is_placeholder(piece)) for piece, said in _split(value))
    return "".join(visit(piece, role) if said else piece for piece, said in pieces)


def is_placeholder(value: str) -> bool:
    """True when nothing but placeholders is left of a text."""
    return bool(value.strip()) and not PLACEHOLDER.sub("", value).strip()


def slot_type(value: str) -> str:
    """Say what kind of thing a typed value is: email, url, date, time, number, phone, formula, path, file or text."""
    bare = value.strip()[:2048]
    return next((name for name, pattern in _TYPES if pattern.fullmatch(bare)), "text")


def describe(value: str, asked: Sequence[str]) -> str:
    """The type of a typed value, and where it stands of what was asked: the task, and the request it is part of."""
    kind = slot_type(value)
    values = [one.text for one in Request.parse(PLACEHOLDER.sub("<secret>", asked[0])).values]
    if value in values:
        return f"{kind} from task slot {values.index(value) + 1}"
    if (at := find_whole(value, asked[0])) >= 0:
        first, words = count_words(asked[0][: at + 1]), count_words(value)  # "(Hugo" is one word
        said = f"word {first}" if words == 1 else f"words {first} to {first + words - 1}"
        return f"{kind} from task {said}{' and their mark' if value[-1] in MARKS else ''}"
    return f"{kind} from request" if find_whole(value, asked[-1]) >= 0 else kind


def count_words(text: str) -> int:
    """How many words a text has as records count them: between blanks, and each sign of a script without them."""
    return len(_COUNTED_WORD.findall(text))


def words_between(text: str, first: int, last: int) -> str:
    """What stands in a text from one of these words (1 is the first) to another."""
    spans = [match.span() for match in _COUNTED_WORD.finditer(text)][first - 1 : last]
    return text[spans[0][0] : spans[-1][1]] if spans else ""
