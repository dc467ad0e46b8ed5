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


MAX_SAID = 2_000  # characters of a thought that are looked at, the last ones: what is done next stands at the end
MAX_CLAUSE, REACH = 400, 120  # characters of a clause, and behind a verb, that are looked at
_WORDS: dict[str, Any] = json.loads((files("ufo_experience.traces") / "control_words.json").read_text(encoding="utf-8"))


def _any(words: str) -> str:
    """A pattern for these words, the longest first, with blanks as they come."""
    return "|".join(re.escape(word) for word in sorted(words.split("|"), key=len, reverse=True))


_ROLES: dict[str, dict[str, str]] = {language: _WORDS["roles"][language] for language in ("de", "zh")}
_GERMAN_ROLE = _any("|".join(_ROLES["de"]))
_LATIN_ROLE = rf"(?i:{_any(_WORDS['roles']['en'])}|{_GERMAN_ROLE})(?!\w)"
_ZH_ROLE = _any("|".join(_ROLES["zh"]))
_ZH_NAME = rf"[^\W{_WORDS['joints']}A-Za-z0-9_]"  # a letter that may stand in a name
_VERB = re.compile(
    rf"(?i:(?<!\w)(?:{_any(_WORDS['verbs']['en'] + '|' + _WORDS['verbs']['de'])})(?!\w))|{_any(_WORDS['verbs']['zh'])}"
)
_QUOTED = re.compile(
    r"[\"“«„](?P<one>[^\"“”«»„\n]{1,60})[\"“”»]|(?<!\w)['‘`](?P<two>[^'‘’`\n]{1,60})['’`](?!\w)"
    r"|[「『《](?P<three>[^」』》\n]{1,60})[」』》]"
)
_CELL = r"\$?[A-Z]{1,3}\$?\d{1,6}(?: ?[:：到至] ?\$?[A-Z]{1,3}\$?\d{1,6})?"
_FILLERS = "on|onto|at|in|the|a|an|its|labelled|labeled|called|named|titled|again|now|auf|den|die|das|dem"
_FILLER = rf"(?:[ \t]*(?i:{_FILLERS})(?!\w))*[ \t]*"
_LATIN_NOUN = rf"(?P<noun>(?:[^\W\u2e80-\U0002ffff][\w&+/'.-]{{0,40}} ){{1,5}}?)(?P<kind>{_LATIN_ROLE})"
_PLAIN = re.compile(
    rf"{_FILLER}(?:(?i:cells?|zelle) )?(?P<cell>{_CELL})(?![\w.])|{_FILLER}(?P<file>[\w-]+\.[a-z]\w{{1,3}})(?!\w)"
    rf"|{_FILLER}(?i:{_GERMAN_ROLE}) (?P<german>[A-ZÄÖÜ][\w-]{{1,40}})"
    rf"|{_FILLER}{_LATIN_NOUN}"
)
_CHINESE = re.compile(
    rf"{_QUOTED.pattern.replace('<one>', '<q1>').replace('<two>', '<q2>').replace('<three>', '<q3>')}"
    rf"|(?P<cell>(?<![A-Za-z0-9]){_CELL})(?![A-Za-z0-9])"
    rf"|(?P<latin>[A-Za-z0-9][A-Za-z0-9 .&+/$:_'()-]{{0,40}}?) ?(?:[（(][^）)]{{1,20}}[）)])?(?={_ZH_ROLE})"
    rf"|(?:(?<=的)|\A)(?P<title>[A-Z][A-Za-z0-9.&+/-]*(?: [A-Z][A-Za-z0-9.&+/-]*){{0,4}}|[A-Za-z0-9_-]+\.\w{{2,4}}\b)"
    rf"|(?P<plain>(?:(?<=的)|(?<!\w)){_ZH_NAME}{{1,8}}?(?={_ZH_ROLE}))|(?P<alone>{_any(_WORDS['alone'])})"
)
_CHINESE_ROLE = re.compile(rf"(?:所在的)?(?P<role>(?:{_ZH_ROLE})+)")
_NOT_AFTER = tuple(_WORDS["not_after_verb"].split("|"))
_THIS = re.compile(rf"(?i:(?<!\w)(?:{_any(_WORDS['this'])})(?![A-Za-z]))")
_CLAUSE = re.compile(r"(?<=[.!?;,:])\s+|(?<=[。！？；，：、\n])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；;\n])")
_LATER = re.compile(rf"(?i)\A\W*(?:{_any(_WORDS['later'])})(?![A-Za-z])")
_PAST = re.compile(_any(_WORDS["past"]))
_IS_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ROLE_BESIDE = re.compile(rf"\W{{0,2}}(?P<role>{_LATIN_ROLE}|(?:所在的)?(?:{_ZH_ROLE}))")
_ROLE_BEFORE = re.compile(rf"(?P<role>{_LATIN_ROLE}) ?(?i:labell?ed |called |named |namens )?\W?\Z")
_CELLS = re.compile(rf"(?<![A-Za-z0-9.])({_CELL})(?![A-Za-z0-9]|\.\w)")
_OF = re.compile(r"[^，。,;]{0,8}的[^，。,;]{0,3}")  # between the name of a place and that of what is in it
_FAR = 16  # characters between a Chinese verb and the first name it may mean
_KEYS = frozenset(_WORDS["keys"].split())
_VAGUE = frozenset([*_WORDS["vague"].split(), *_FILLERS.split("|")])


def english_role(role: str) -> str:
    """The usual English word for a role in German or Chinese; "菜单按钮" is what its last part says."""
    found = re.findall(_ZH_ROLE, role)
    return _ROLES["zh"][found[-1]] if found else _ROLES["de"].get(role, role)


def names_in(text: str) -> list[Named]:
    """The controls a text says are acted on, in its order, each once; keys are none."""
    found: dict[str, Named] = {}
    for sentence in _SENTENCE.split(text[-MAX_SAID:]):
        for named in _acted_on(sentence, []):
            found.setdefault(named.name.casefold(), named)
    return list(found.values())


def name_of_next(text: str) -> Named | None:
    """The control a thought says is acted on next; None when it names none.

    It is the first of the last sentence about now: not of what was done, nor of what comes later.
    """
    found: Named | None = None
    history: list[Named] = []
    for sentence in _SENTENCE.split(text[-MAX_SAID:]):
        first = next(iter([*_acted_on(sentence, history)]), None)
        if first and (found is None or not _LATER.match(sentence)):
            found = first
    return found


def cells_in(text: str) -> list[Named]:
    """The cells a text names, each once."""
    return [Named(_cell(cell), "cell", "thought") for cell in dict.fromkeys(_CELLS.findall(text[-MAX_SAID:]))]


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


def _acted_on(sentence: str, history: list[Named]) -> Iterator[Named]:
    """The controls of a sentence with a verb of acting on one; `history` is what was mentioned so far, for "this"."""
    for clause in (whole[:MAX_CLAUSE] for whole in _CLAUSE.split(sentence)):
        chinese = _IS_CHINESE.search(clause) is not None
        if not (chinese and (_LATER.match(clause) or _PAST.search(clause))):
            for verb in _VERB.finditer(clause):
                rest, before = clause[verb.end() : verb.end() + REACH], clause[: verb.start()]
                named = _of_chinese(rest, history) if chinese else _after_verb(rest, before, history)
                if named is not None:
                    yield named
                    break
        history += _mentions(clause)


def _after_verb(rest: str, before: str, history: list[Named]) -> Named | None:
    """The control named after a verb; where nothing is, that before it ("auf „Speichern“ klicken")."""
    plain = _PLAIN.match(rest)
    quoted = _QUOTED.search(rest)
    if plain and plain["cell"]:
        return Named(_cell(plain["cell"]), "cell")
    if quoted and (not plain or quoted.start() <= plain.end() + 2) and _is_near(rest[: quoted.start()]):
        return _of_quoted(quoted, rest)
    if plain:
        return _of_plain(plain)
    if history and (this := _THIS.match(rest.strip())):
        return history[-1] if not rest.strip()[this.end() :].strip(" .!") else None
    if not rest.strip(" .!。"):
        found = list(_QUOTED.finditer(before))
        return _of_quoted(found[-1], before) if found else None
    return None


def _cell(name: str) -> str:
    """A cell or a range of cells: `$A$1到C3` is "A1:C3"."""
    return re.sub(r" ?[:：到至] ?", ":", name.replace("$", ""))


def _is_near(between: str) -> bool:
    """True when only a few words stand between a verb and a name."""
    return len(between) <= 60 and len(between.split()) <= 6


def _mentions(text: str) -> list[Named]:
    """All that is named in a text, acted on or not."""
    if _IS_CHINESE.search(text):
        return [named for named, _, _ in _chinese_names(text)]
    return [named for match in _QUOTED.finditer(text) if (named := _of_quoted(match, text))]


def _of_quoted(match: re.Match[str], text: str) -> Named | None:
    name = next((group for group in match.groups() if group), "").strip(" ,:;，。")
    after, before = _ROLE_BESIDE.match(text[match.end() :]), _ROLE_BEFORE.search(text[: match.start()])
    role = after["role"].removeprefix("所在的") if after else before["role"] if before else ""
    if not name or (not role and name.casefold() in _KEYS):
        return None
    return Named(name if name.endswith("..") else name.rstrip("."), role.casefold())


def _of_plain(match: re.Match[str]) -> Named | None:
    if name := match["german"] or match["file"]:
        return Named(name)
    noun, kind = match["noun"].strip(), match["kind"]
    if noun[:1].isupper():  # "Sign in", "Privacy and security"
        return Named(noun, kind.casefold())
    if not noun or not _VAGUE.isdisjoint(noun.casefold().split()):
        return None
    return Named(f"{noun} {kind}", kind.casefold())


def _of_chinese(rest: str, history: list[Named]) -> Named | None:
    """The control named after a Chinese verb; of "the File menu's Open" (`File菜单下的Open`) the last."""
    if rest.startswith(_NOT_AFTER):
        return None
    found = _chinese_names(rest)
    if (this := _THIS.match(rest)) and not (found and found[0][1] <= this.end() + 1 and found[0][0].role != ""):
        return _meant(rest[this.end() :], history)
    acted: Named | None = None
    end = 0
    for named, start, stop in found:
        if (acted is None and start > _FAR) or (acted is not None and not _OF.fullmatch(rest[end:start])):
            break
        acted, end = named, stop
    return acted


def _meant(noun: str, history: list[Named]) -> Named | None:
    """What "it", or "this button", means: what was mentioned last, of this role where one is said."""
    role = _CHINESE_ROLE.match(noun.removeprefix("个"))
    if role is None and noun[:1] and noun[:1] not in "，。 就来即可后以":
        return None
    wanted = role["role"] if role else ""
    return next((one for one in reversed(history) if one.role.endswith(wanted)), None)


def _chinese_names(text: str) -> list[tuple[Named, int, int]]:
    """What a Chinese text names, each with where it begins and ends, its role included."""
    found = []
    for match in _CHINESE.finditer(text):
        role = _CHINESE_ROLE.match(text, match.end())
        kind = role["role"] if role else ""
        name = next((group for group in match.groups() if group), "").strip(" ,:;，。")
        if match["plain"]:
            name += kind
        if match["cell"]:
            name, kind = _cell(name), "cell"
        if name and (kind or name.casefold() not in _KEYS):
            found.append((Named(name, kind), match.start(), role.end() if role else match.end()))
    return found
