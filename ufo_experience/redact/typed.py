"""Which text of a step was typed, what kind of thing it is, and which of it goes into a field of a secret or a login.

Options that were chosen and keys that were pressed together (`ctrl+s`, `{ENTER}`, `["ctrl", "s"]`) are not typed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

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
_KEY = re.compile(r"(?i)\{(?:VK_)?([A-Z]+\d{0,2})(?: +(?:\d+|down|up))?\}")
_SYMBOL_CHORD = re.compile(r"(?<![\^%+])[\^%+]{1,8}(?:\{[^{}]{1,80}\}|[A-Za-z0-9]|\([^()]{0,80}\))")
_BRACED = re.compile(r"(?i)(?:\{.\}|\{SPACE\}){2,}")
_IN_BRACES = re.compile(r"(?i)\{(?:(SPACE)|(.))\}")
_SENTENCE = 5  # words from which on an argument of a call is a text that somebody wrote
_NAMELESS = frozenset("edit text textbox textfield input field document pane custom window none null textarea".split())
_PAD = ("", "", None)  # the run of clicks on digits
_SINGLE = {"backspace": "\b", "space": " "}
_SINGLE_KEYS = 3  # keys pressed one after the other that are a text; so many digits of a pad and one more, a code
_KEY_ARGUMENTS = frozenset({"keys", "key", "keyboardkey"})

# Besides the words of `secrets.txt` that introduce a password, a code or a key in running text.
_SECRET = frozenset("pass pw psk ssn cookie authorization credential credentials passkey".split())
_PHRASES = ("card number", "credit card", "social security", "security answer", "recovery phrase", "seed phrase")
_LOGIN = frozenset(
    "user username login logon account email mail userid benutzer benutzername utilisateur usuario".split()
)
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
    words = words_of(name)
    known = not _SECRET.isdisjoint(words) or any(phrase in " ".join(words) for phrase in _PHRASES)
    return known or _names_one_of(words, "password", "code", "key")


on_forgetting(is_secret_name.cache_clear)


def is_login_name(name: str) -> bool:
    """True when the next field is likely the password."""
    return not _LOGIN.isdisjoint(words_of(name))


def speaks_of_secrets(text: str) -> bool:
    """True when a text speaks of a password or of a code that lets in."""
    return _names_one_of(words_of(text), "password", "code")


def _names_one_of(words: list[str], *sections: str) -> bool:
    """True when a word of these sections of `secrets.txt` is among some words, or within them put together."""
    spaced, joined = f" {' '.join(words)} ", "".join(words)
    nouns = ((word, inside) for word, section, inside, _ in data().nouns if section in sections)
    return any(word in joined if inside else f" {word} " in spaced for word, inside in nouns)


def join_single_keys(steps: Sequence[Step]) -> tuple[Step, ...]:
    """One step for each run of steps that type one character each into the same control, or click digits of a pad.

    No rule would see a password in its single letters. Clicked digits are joined where the run speaks of a code.
    """
    pads = any(speaks_of_secrets(f"{step.target_control.within} {step.observation[:200]}") for step in steps)

    def run_of(step: Step) -> tuple[str, str, str | None] | None:
        """What steps share that are typed as one text; None for a step that types no single character."""
        control = step.target_control
        if pads and does(step.action_type, "click") and re.fullmatch(r"\d(?: ?[A-Z]{3,4})?", control.name.strip()):
            return _PAD
        return (step.action_type, control.name, control.type) if step.ok and _single_key(step) is not None else None

    joined: list[Step] = []
    for key, run in groupby(steps, key=run_of):
        group = list(run)
        least = _SINGLE_KEYS if key and is_press(key[0]) else _SINGLE_KEYS + 1 if key == _PAD else 2
        joined += [_join(group)] if key is not None and len(group) >= least else group
    return tuple(joined)


def _single_key(step: Step) -> str | None:
    """The one character a step types, a backspace as `\\b`; None when it does something else."""
    leaf = typed_leaf(step) if does(step.action_type, "type", "press") else None
    if leaf is None:
        return None
    bare = leaf[1].strip("{}").casefold() if len(leaf[1]) > 1 else leaf[1]
    if bare in _SINGLE:
        return _SINGLE[bare]
    shifted = re.fullmatch(r"(?i)shift ?\+ ?(.)", leaf[1])
    return shifted[1].upper() if shifted else bare if len(bare) == 1 else None


def _join(steps: list[Step]) -> Step:
    typed: list[str] = []
    for step in steps:
        key = _single_key(step) or step.target_control.name.strip()[:1]
        typed = typed[:-1] if key == "\b" else [*typed, key]
    first, leaf = steps[0], typed_leaf(steps[0])
    if does(first.action_type, "click") and _single_key(first) is None:
        pad = first.target_control.model_copy(update={"name": "PIN pad", "type": None})
        parameters: dict[str, JsonValue] = {"text": "".join(typed)}
        return first.model_copy(update={"action_type": "type", "target_control": pad, "parameters": parameters})
    parameters = {**first.parameters, leaf[0] if leaf else "text": "".join(typed)}
    return first.model_copy(update={"parameters": parameters, "result": "success"})


def secret_fields(steps: Sequence[Step]) -> list[bool]:
    """For every step whether its text goes into a secret field, by the field's name and the way there.

    A step that names no control types into the last one; a tab leads from a login into the password. What is copied
    and then pasted into a secret field is secret where it was copied.
    """
    fields: list[bool] = []
    focus, copied = "", -1
    for place, step in enumerate(steps):
        named = actions.control_names(step)
        name = named if any(word not in _NAMELESS for word in words_of(named)) else ""
        fields.append(is_secret_name(name or focus) or (not name and speaks_of_secrets(step.observation[:200])))
        if does(step.action_type, "copy"):
            copied = place
        if actions.is_paste(step) and fields[-1] and copied >= 0:
            fields[copied] = True
        leaf = typed_leaf(step) if takes_text(step.action_type) else None
        focus = name or focus if takes_text(step.action_type) else name
        if leaf and ("{tab" in leaf[1].casefold() or "\t" in leaf[1] or leaf[1].strip().casefold() == "tab"):
            focus = "password" if is_login_name(focus) and not is_secret_name(focus) else ""
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
    end = 0
    for match in _KEY.finditer(value):
        key = match[1].casefold()
        if (key not in _KEYS and not re.fullmatch(r"f\d{1,2}", key)) or match.start() < end:
            continue
        if match.start() > end:
            yield value[end : match.start()], True
        after = match.end()
        if key in _MODIFIERS and value[after : after + 1] not in ("", "{") and not match[0].casefold().endswith(" up}"):
            after += 1
        yield value[match.start() : after], False
        end = after
    if end < len(value):
        yield value[end:], True


def rewrite_parameters(step: Step, secret: bool, visit: Visit) -> dict[str, JsonValue]:
    """The parameters of a step with every text in them, names included, put through `visit(text, role)`."""
    takes, leaf, calls = takes_text(step.action_type), typed_leaf(step), actions.kind_of(step.action_type) == "other"
    bare = is_press(step.action_type) or (leaf is not None and plain(leaf[0]) in _KEY_ARGUMENTS)

    def rewrite(value: JsonValue, key: str, hidden: bool) -> JsonValue:
        written = calls and isinstance(value, str) and len(value.split()) >= _SENTENCE
        typed = (takes or written) and not actions.is_option(key)
        role = SECRET if hidden or (typed and secret) else TYPED if typed else OTHER
        if isinstance(value, dict):
            inside = hidden or any(is_secret_name(str(value[name])) for name in actions.FIELD_NAMES if name in value)
            secrets = {name for name in value if (inside and name.casefold() in FIELD_VALUES) or is_secret_name(name)}
            return {visit(name, OTHER): rewrite(item, name, name in secrets) for name, item in value.items()}
        if isinstance(value, list):
            texts = [item for item in value if isinstance(item, str)]
            if typed and not hidden and len(texts) == len(value) > 0 and is_chord("+".join(texts)):
                return value
            by_key = len(value) > 1 and len(texts) == len(value) and all(len(text) == 1 for text in texts)
            return [rewrite(item, key, hidden) for item in (["".join(texts)] if by_key else value)]
        if isinstance(value, str):
            return visit(value, OTHER) if role == OTHER else text_of(value, role)
        told = role == SECRET or (role == TYPED and key.casefold() in FIELD_VALUES)
        return visit(str(value), role) if told and not isinstance(value, bool) and value is not None else value

    def text_of(value: str, role: str) -> str:
        one_key = role == TYPED and bare and len(value) == 1
        if one_key or not value.strip() or is_placeholder(value) or is_chord(value, bare=bare):
            return value
        # `{P}{a}{s}` is `Pas`.
        plain_keys = _BRACED.sub(lambda run: _IN_BRACES.sub(lambda one: " " if one[1] else one[2], run[0]), value)
        pieces = ((piece, said and piece.strip() and not is_placeholder(piece)) for piece, said in _split(plain_keys))
        return "".join(visit(piece, role) if said else piece for piece, said in pieces)

    return {visit(name, OTHER): rewrite(item, name, is_secret_name(name)) for name, item in step.parameters.items()}


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
