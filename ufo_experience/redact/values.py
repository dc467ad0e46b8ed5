"""The values of one run that must not be kept, and what stands in the place of each, in whatever writing.

A value is looked for folded to letters and digits, without case and accents, and in what base64, hex and percent signs
hide. Where a copy stands, its placeholder is written. Finding is linear in the text, however many values there are.
"""

import base64
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote_plus

from ufo_experience.redact.text import beside_placeholders, replaced
from ufo_experience.redact.tokens import is_stand_in

_START = 4  # letters and digits by which a value is looked up; shorter ones are removed only where they were typed
_ANYWHERE = 6  # of a secret that is removed in the middle of a word, too
_ENCODED = re.compile(r"[A-Za-z0-9+/_%-]{8,4000}={0,2}")
_NUMBERED = re.compile(r"\{\{(secret|input):(\d+)\}\}")
_PLAIN_WORD = re.compile(r"[^\W\d_]+")


class _Value(NamedTuple):
    folded: str
    placeholder: str
    secret: bool
    plain: bool  # one word of letters: it may also be the name of a control


class Values:
    """What was typed in a run and the secrets found in it. The same value always has the same placeholder."""

    def __init__(self, slots: Mapping[str, str], texts: Iterable[str]) -> None:
        """Numbers start after those that `slots` and `texts` use, so that redacting again changes nothing."""
        known = "".join(f"{{{{{slot}}}}}" for slot in slots)
        self._next = {"secret": 1, "input": 1}
        for kind, number in (found for text in (known, *texts) for found in _NUMBERED.findall(text)):
            self._next[kind] = max(self._next[kind], int(number) + 1)
        self._placeholders: dict[str, str] = {}
        self._by_start: defaultdict[str, list[_Value]] = defaultdict(list)
        self.slots: dict[str, str] = dict(slots)

    def add(self, value: str, kind: str, *, secret: bool) -> str:
        """Remember a value; returns its placeholder, that of the secret if it is one."""
        value = value.strip()
        if value not in self._placeholders:
            prefix = "secret" if secret else "input"
            slot = f"{prefix}:{self._next[prefix]}"
            self._next[prefix] += 1
            self.slots[slot] = kind
            self._placeholders[value] = f"{{{{{slot}}}}}"
            folded = "".join(char for char, _ in _folded(value))
            if len(folded) >= _START and not (secret and is_stand_in(value)):
                one = _Value(folded, self._placeholders[value], secret, _PLAIN_WORD.fullmatch(value) is not None)
                alike = self._by_start[folded[:_START]]
                alike.append(one)
                alike.sort(key=lambda one: (-len(one.folded), not one.secret))
        return self._placeholders[value]

    def without(self, text: str, *, secrets_only: bool = False, label: bool = False) -> str:
        """A text without the values. In a `label` a plain word that was typed somewhere may stand."""
        if not self._by_start or not text:
            return text

        def decoded(run: re.Match[str]) -> str:
            """The placeholder of the secret that a run of signs hides, or the run."""
            hidden = (found for plain in _decodings(run[0]) for _, _, found in self._find(plain, True, False))
            return next(hidden, run[0])

        def clean(part: str) -> str:
            return _ENCODED.sub(decoded, replaced(part, self._find(part, secrets_only, label)))

        return beside_placeholders(text, clean)

    def _find(self, text: str, secrets_only: bool, label: bool) -> Iterator[tuple[int, int, str]]:
        letters = list(_folded(text))
        folded = "".join(char for char, _ in letters)
        place = 0
        while place <= len(folded) - _START:
            for one in self._by_start.get(folded[place : place + _START], ()):
                hidden = one.secret or not (secrets_only or (label and one.plain))
                places = [at for _, at in letters[place : place + len(one.folded)]]
                if hidden and folded.startswith(one.folded, place) and _stands(text, places[0], places[-1], one):
                    yield places[0], places[-1] + 1, one.placeholder
                    place += len(one.folded)
                    break
            else:
                place += 1


def _folded(text: str) -> Iterator[tuple[str, int]]:
    """The letters and digits of a text, without case and accents, and where each stood."""
    for place, char in enumerate(text):
        small = char.casefold() if char.isascii() else unicodedata.normalize("NFKD", char).casefold()
        for one in small:
            if one.isalnum():
                yield one, place


def _stands(text: str, first: int, last: int, value: _Value) -> bool:
    """True for a copy: a whole word, a secret also within one; signs between its letters do not make it another."""
    if last - first + 1 > 3 * len(value.folded):
        return False
    if value.secret and len(value.folded) >= _ANYWHERE:
        return True
    return not (text[first - 1 : first].isalnum() or text[last + 1 : last + 2].isalnum()) or not text[first].isascii()


def _decodings(run: str) -> Iterator[str]:
    if "%" in run:
        yield unquote_plus(run, errors="replace")
    if re.fullmatch(r"[0-9A-Fa-f]+", run) and len(run) % 2 == 0:
        yield bytes.fromhex(run).decode("utf-8", "replace")
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    with suppress(ValueError):
        yield base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("utf-8", "ignore")
