"""The name of a control that a log gives only in words: in the agent's thought, or in a comment of its code.

"I'll click the 'File' menu" names File, a menu; so do "Ich klicke auf das Menü „Datei“" and "点击File菜单". The words
are data (`control_words.json`). What is not said plainly stays unnamed: a wrong name is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Literal, NamedTuple

By = Literal["tree", "code", "thought"]


class Named(NamedTuple):
    """Name and role ("" when it is not said) of a control, and what names it."""

    name: str
    role: str = ""
    by: By | None = None


MAX_SAID = 4_000  # characters of a thought that are looked at
_WORDS: dict[str, Any] = json.loads((files(__package__) / "control_words.json").read_text(encoding="utf-8"))


def _any(words: str) -> str:
    """A pattern for these words, the longest first, with blanks as they come."""
    return "|".join(re.escape(word) for word in sorted(words.split("|"), key=len, reverse=True))


_LATIN_ROLE = rf"(?i:{_any(_WORDS['roles']['en'] + '|' + _WORDS['roles']['de'])})(?!\w)"
_ZH_ROLE = _any(_WORDS["roles"]["zh"])
_ZH_NAME = rf"[^\W{_WORDS['joints']}A-Za-z0-9_]"  # a letter that may stand in a name
_VERB = re.compile(
    rf"(?i:(?<!\w)(?:{_any(_WORDS['verbs']['en'] + '|' + _WORDS['verbs']['de'])})(?!\w))|{_any(_WORDS['verbs']['zh'])}"
)
_QUOTED = re.compile(
    r"[\"“”«„](?P<one>[^\"“”«»„\n]{1,60})[\"“”»]|(?<!\w)['‘`](?P<two>[^'‘’`\n]{1,60})['’`](?!\w)"
    r"|[「『《](?P<three>[^」』》\n]{1,60})[」』》]"
)
_CELL = r"\$?[A-Z]{1,3}\$?\d{1,6}(?: ?[:：到至] ?\$?[A-Z]{1,3}\$?\d{1,6})?"
_FILLER = r"(?:[ \t]*(?i:on|onto|at|in|the|a|an|its|labell?ed|called|named|titled|again|now|auf|den|die|das|dem)(?!\w))*[ \t]*"
_LATIN_NOUN = rf"(?P<noun>(?:[^\W\u2e80-\U0002ffff][\w&+/'.-]{{0,40}} ){{1,5}}?)(?P<kind>{_LATIN_ROLE})"
_PLAIN = re.compile(
    rf"{_FILLER}(?:(?i:cells?|zelle) )?(?P<cell>{_CELL})(?![\w.])"
    rf"|{_FILLER}{_LATIN_NOUN}"
    rf"|{_FILLER}(?i:{_any(_WORDS['roles']['de'])}) (?P<german>[A-ZÄÖÜ][\w-]{{1,40}})"
)
_CHINESE = re.compile(
    rf"(?P<latin>[A-Za-z0-9][A-Za-z0-9 .&+/$:_'()-]{{0,40}}?) ?(?:[（(][^）)]{{1,20}}[）)])?(?P<role>{_ZH_ROLE})"
    rf"|(?P<chinese>{_ZH_NAME}{{0,8}}?)(?P<kind>{_ZH_ROLE})(?!的(?:{_ZH_NAME}){{1,8}}(?:{_ZH_ROLE}))"
)
_CHINESE_TITLE = re.compile(r"[ “]{0,2}(?P<title>[A-Z][\w.&+/-]*(?: [A-Z][\w.&+/-]*){0,4})")
_THIS = re.compile(rf"(?i:(?<!\w)(?:{_any(_WORDS['this'])})(?![A-Za-z]))")
_CLAUSE = re.compile(r"(?<=[.!?;,:])\s+|(?<=[。！？；，：、\n])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；;\n])")
_LATER = re.compile(rf"(?i)\A\W*(?:{_any(_WORDS['later'])})(?![A-Za-z])")
_PAST = re.compile(_any(_WORDS["past"]))
_IS_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ROLE_BESIDE = re.compile(rf"\W{{0,2}}(?P<role>{_LATIN_ROLE}|(?:所在的)?(?:{_ZH_ROLE}))")
_ROLE_BEFORE = re.compile(rf"(?P<role>{_LATIN_ROLE}) ?(?i:labell?ed |called |named |namens )?\W?\Z")
_KEYS, _VAGUE = (frozenset(_WORDS[kind].split()) for kind in ("keys", "vague"))


def names_in(text: str) -> list[Named]:
    """The controls a text says are acted on, in its order, each once; keys are none."""
    found: dict[str, Named] = {}
    for sentence in _SENTENCE.split(text[:MAX_SAID]):
        for named in _acted_on(sentence, None):
            found.setdefault(named.name.casefold(), named)
    return list(found.values())


def name_of_next(text: str) -> Named | None:
    """The control a thought says is acted on next; None when it names none.

    It is the first of the last sentence that is about now: not of what was done, nor of what comes later.
    """
    found: list[Named] = []
    last: Named | None = None
    for sentence in _SENTENCE.split(text[:MAX_SAID]):
        said = [named for named in _acted_on(sentence, last) if named.name]
        last = next(reversed([*_mentions(sentence), *said]), last)
        found += said[:1] if not found or not _LATER.match(sentence) else []
    return found[-1] if found else None


def name_each(count: int, comments: Sequence[str], thought: str) -> list[Named | None]:
    """The names of `count` controls that one message acts on, by the comment before each, else by the thought.

    A thought names them only when it names as many, or when there is one.
    """
    by_comment = [_by("code", name_of_next(comment)) if comment else None for comment in comments]
    if any(by_comment):
        return by_comment
    if count == 1:
        return [_by("thought", name_of_next(thought))]
    mentioned = [_by("thought", one) for one in names_in(thought)]
    return mentioned if len(mentioned) == count else [None] * count


def _by(by: By, named: Named | None) -> Named | None:
    return named and named._replace(by=by)


def _acted_on(sentence: str, last: Named | None) -> Iterator[Named]:
    """The controls of a sentence with a verb of acting on one; `last` is what "this" means at its begin."""
    for clause in _CLAUSE.split(sentence):
        mentioned = list(_mentions(clause))
        if (_LATER.match(clause) and _IS_CHINESE.search(clause)) or _PAST.search(clause):
            last = next(reversed(mentioned), last)
            continue
        for verb in _VERB.finditer(clause):
            rest = clause[verb.end() :]
            named = _after_verb(rest, clause[: verb.start()])
            if named is None and last and (this := _THIS.search(rest)) and this.start() < 4:
                named = last
            if named is not None:
                yield named
                break
        last = next(reversed(mentioned), last)


def _after_verb(rest: str, before: str) -> Named | None:
    """The control named after a verb; where nothing is, that before it ("auf „Speichern“ klicken")."""
    plain = _PLAIN.match(rest)
    quoted = _QUOTED.search(rest)
    if plain and plain["cell"]:
        return Named(plain["cell"].replace("$", ""), "cell")
    if quoted and (not plain or quoted.start() < plain.end()) and _is_near(rest[: quoted.start()]):
        return _of_quoted(quoted, rest)
    if _IS_CHINESE.search(rest):
        return _of_chinese(rest)
    if plain:
        return _of_plain(plain)
    if not rest.strip(" .!。"):
        found = list(_QUOTED.finditer(before))
        return _of_quoted(found[-1], before) if found else None
    return None


def _is_near(between: str) -> bool:
    """True when only a few words stand between a verb and a name."""
    return len(between) <= 60 and len(between.split()) <= 6


def _mentions(text: str) -> Iterator[Named]:
    """All that is named in a text, acted on or not."""
    for match in _QUOTED.finditer(text):
        if named := _of_quoted(match, text):
            yield named
    for match in _CHINESE.finditer(text):
        if (match["latin"] or "").strip():
            yield Named(match["latin"].strip(), match["role"])


def _of_quoted(match: re.Match[str], text: str) -> Named | None:
    name = next((group for group in match.groups() if group), "").strip(" ,:;，。")
    after, before = _ROLE_BESIDE.match(text[match.end() :]), _ROLE_BEFORE.search(text[: match.start()])
    role = after["role"].removeprefix("所在的") if after else before["role"] if before else ""
    if not name or (not role and name.casefold() in _KEYS):
        return None
    return Named(name if name.endswith("..") else name.rstrip("."), role.casefold())


def _of_plain(match: re.Match[str]) -> Named | None:
    if match["german"]:
        return Named(match["german"], "")
    noun, kind = match["noun"].strip(), match["kind"]
    if noun[:1].isupper():  # "Sign in", "Privacy and security"
        return Named(noun, kind.casefold())
    if not noun or not _VAGUE.isdisjoint(noun.casefold().split()):
        return None
    return Named(f"{noun} {kind}", kind.casefold())


def _of_chinese(rest: str) -> Named | None:
    if cell := re.match(rf"\W{{0,2}}(?P<cell>{_CELL})", rest):
        return Named(cell["cell"].replace("$", ""), "cell")
    match = _CHINESE.search(rest)
    if match and match.start() <= 24:
        if (match["latin"] or "").strip():
            return Named(match["latin"].strip(), match["role"])
        if match["chinese"] or len(match["kind"]) > 2:
            return Named(match["chinese"] + match["kind"], match["kind"])
    if title := _CHINESE_TITLE.match(rest):
        return Named(title["title"])
    return None
