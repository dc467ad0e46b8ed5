"""The values of one trajectory that must not be kept, and the placeholder of each."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ufo_experience.redact.checksums import is_stand_in
from ufo_experience.redact.disguises import Disguised, Disguises
from ufo_experience.redact.forms import bare, coded_forms, exact_forms, is_loose, loose_pattern
from ufo_experience.redact.slot_types import slot_type
from ufo_experience.redact.text import PLACEHOLDER, SECRET, strip_urls
from ufo_experience.text.slots import find_slots, find_whole

Find = Callable[[str], Iterable[Disguised]]


class TaskValues:
    """The values a user named in the task (the sub-task if there is one) and in the request."""

    def __init__(self, task: str, request: str) -> None:
        self._task, self._request = task, request
        self._slots: Sequence[str] = [slot.value for slot in find_slots(PLACEHOLDER.sub("<secret>", task))]

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the task, in their order."""
        return tuple(self._slots)

    def describe(self, value: str) -> str:
        """The slot type of a typed value, such as `text`, or `email from task slot 2` if the task names it."""
        kind = slot_type(value)
        if value in self._slots:
            return f"{kind} from task slot {self._slots.index(value) + 1}"
        if _stands_in(value, self._task):
            return f"{kind} from task"
        return f"{kind} from request" if _stands_in(value, self._request) else kind


def _stands_in(value: str, text: str) -> bool:
    return find_whole(value, text) >= 0


_NUMBERED = re.compile(r"\{\{(secret|input):(\d+)\}\}")
_PLAIN_WORD = re.compile(r"[^\W\d_]+")

# Secrets shorter than this are taken out only where they stand alone, or everything else would be torn apart.
_ANYWHERE = 4
_COPY_LENGTH = 4
# Two or three letters that are no word of prose: a name ("Bob", "LA"), or a word of a script without spaces.
_SHORT_NAME = re.compile(r"[A-Z][A-Za-z]{1,2}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,3}")
_PROSE_WORD = re.compile(r"[^\W\d_]{4}")
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def _may_let_in(value: str) -> bool:
    """True for a typed value that could be a code, an account or a password: figures, and no words of prose."""
    if not 4 <= len(value) <= 64 or not any(c.isdigit() for c in value):
        return False
    if value.isdigit():
        return True
    prose = " " in value and _PROSE_WORD.search(value) is not None
    return not prose and slot_type(value) in ("text", "phone", "number")


class Vault:
    """Values to remove and what stands in their place. The same value always has the same placeholder."""

    def __init__(self, slots: Mapping[str, str], texts: Iterable[str]) -> None:
        """Start after the numbers that `slots` and `texts` use, so that redacting again changes nothing."""
        named = (*map(_placeholder, slots), *(text for text in texts if "{{" in text))
        used = [(m[1], int(m[2])) for text in named for m in _NUMBERED.finditer(text)]
        self._next = {kind: 1 + max((n for k, n in used if k == kind), default=0) for kind in ("secret", "input")}
        self._secrets: dict[str, str] = {}
        self._inputs: dict[str, str] = {}
        self._names: dict[str, re.Pattern[str]] = {}
        self._meaning: dict[str, str] = {}
        self._disguises, self._copies = Disguises(), Disguises()
        self.slots: dict[str, str] = dict(slots)

    def add_secret(self, value: str, kind: str) -> str:
        """Remember a secret; returns its placeholder."""
        value = value.strip()
        if value not in self._secrets:
            self._secrets[value] = self._new("secret", kind)
            if not is_stand_in(value):  # who types "password" has a label of every form for a password
                self._remember(value, self._secrets[value], value)
                self._disguises.add(value)
        return self._secrets[value]

    def add_input(self, value: str, kind: str) -> str:
        """Remember a typed value; returns its placeholder (that of the secret, if it is one)."""
        bare = value.strip()
        if bare in self._secrets:
            return self._secrets[bare]
        if bare not in self._inputs:
            self._inputs[bare] = self._new("input", kind)
            if _may_let_in(bare):
                self._copies.add(bare, parts=False)
            if len(bare) >= _COPY_LENGTH or _SHORT_NAME.fullmatch(bare):
                self._remember(bare, self._inputs[bare], strip_urls(bare))
        return self._inputs[bare]

    def without_secrets(self, text: str) -> str:
        """Replace secrets wherever they stand."""
        return self._replace(text, "secrets", lambda: self._secrets)

    def without_values(self, text: str) -> str:
        """Replace secrets and copies of typed values."""
        return self._replace(text, "all", lambda: {**self._secrets, **self._inputs})

    def without_phrases(self, text: str) -> str:
        """Replace secrets, and typed values that are more than one plain word: a button "Save" stays a button."""
        return self._replace(text, "phrases", lambda: {**self._secrets, **self._phrases()})

    def _phrases(self) -> dict[str, str]:
        return {value: name for value, name in self._inputs.items() if not _PLAIN_WORD.fullmatch(value)}

    def _new(self, kind: str, meaning: str) -> str:
        slot = f"{kind}:{self._next[kind]}"
        self._next[kind] += 1
        self.slots[slot] = meaning
        return _placeholder(slot)

    def _remember(self, value: str, name: str, cleaned: str) -> None:
        self._names.clear()
        forms = exact_forms(value) | exact_forms(cleaned)
        if value in self._secrets and len(value) >= _ANYWHERE:
            forms |= coded_forms(value)
            self._meaning.setdefault(bare(value), name)
        elif len(value) >= _ANYWHERE:
            forms |= {"{" + "}{".join(value) + "}", base64.b64encode(value.encode("utf-8", "replace")).decode()}
        for form in sorted(forms):
            self._meaning.setdefault(form, name)

    def _replace(self, text: str, scope: str, values: Callable[[], Mapping[str, str]]) -> str:
        if not text or not (self._secrets or self._inputs):
            return text
        if scope not in self._names:
            self._names[scope] = self._pattern(values())
        hidden, copies = self._disguises, self._copies
        # What can be read first: what is left of a secret that was spelled, once its figures are gone, tells nothing.
        clean = self._without(text, hidden.rests) if self._secrets else text
        clean = self._undisguised(clean, hidden.find_readable, self._secrets)
        clean = self._names[scope].sub(self._placeholder_of, clean)
        clean = self._undisguised(clean, hidden.find, self._secrets)
        return clean if scope == "secrets" else self._undisguised(clean, copies.find, self._inputs)

    def learn(self, texts: Iterable[str]) -> None:
        """Look for parts of secrets in all texts of a run before any is cleaned."""
        self._disguises.learn(texts)

    def _undisguised(self, text: str, find: Find, names: Mapping[str, str]) -> str:
        """Replace values in forms that nobody wrote down; placeholders are left as they are."""
        if not names:
            return text
        parts, end = [], 0
        for match in PLACEHOLDER.finditer(text):
            parts += [self._without(text[end : match.start()], find, names), match[0]]
            end = match.end()
        return "".join([*parts, self._without(text[end:], find, names)])

    def _without(self, text: str, find: Find, names: Mapping[str, str] | None = None) -> str:
        names = self._secrets if names is None else names
        parts, end = [], 0
        for start, stop, value in find(text):
            parts += [text[end:start], names[value]]
            end = stop
        return "".join(parts) + text[end:]

    def _placeholder_of(self, match: re.Match[str]) -> str:
        """What stands in the place of a form of a value; a placeholder is left as it is."""
        found = match[0]
        if PLACEHOLDER.fullmatch(found):
            return found
        return self._meaning.get(found) or self._meaning.get(bare(found)) or self._meaning.get(found.lower(), SECRET)

    def _pattern(self, values: Mapping[str, str]) -> re.Pattern[str]:
        """Match placeholders (to leave them), then every form of every value, the longest first."""
        wanted = set(values.values())
        forms = sorted((f for f, name in self._meaning.items() if name in wanted), key=lambda f: (-len(f), f))
        return re.compile("|".join([PLACEHOLDER.pattern, *(self._form(form) for form in forms)]))

    def _form(self, form: str) -> str:
        is_secret = self._meaning[form] in self._secrets.values()
        if is_secret and form in self._secrets and is_loose(form):
            return loose_pattern(form)
        if is_secret and len(form) >= _ANYWHERE:
            return f"(?i:{re.escape(form)})" if len(form) >= 2 * _ANYWHERE else re.escape(form)
        if _NO_SPACES.fullmatch(form):  # nothing tells where a word of these scripts begins
            return re.escape(form)
        before = r"(?<!\w)" if form[:1].isalnum() or form[:1] == "_" else ""
        after = r"(?!\w)" if form[-1:].isalnum() or form[-1:] == "_" else ""
        return before + re.escape(form) + after


def _placeholder(slot: str) -> str:
    return "{{" + slot + "}}"
