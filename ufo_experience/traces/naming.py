"""The name of a control that a log gives only in words: in the agent's thought, or in a comment of its code.

"I'll click the 'File' menu" names File, a menu; so do "Ich klicke auf das Menü „Datei“" and "点击File菜单". The words
are data (`control_words.json`). What is not said plainly stays unnamed: a wrong name is worse than none.
"""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Literal, NamedTuple

By = Literal["tree", "code", "thought"]


class Named(NamedTuple):
    """Name and role ("" when it is not said) of a control, and what names it."""

    name: str
    role: str = ""
    by: By | None = None


class _Mention(NamedTuple):
    """A control that a text names, and where that begins and ends, its role included."""

    named: Named
    start: int
    end: int
    plainly: bool  # in quotes, or a cell


MAX_SAID = 2_000  # characters of a thought that are looked at, the last ones: what is done next stands at the end
MAX_CLAUSE, REACH = 400, 120  # characters of a clause, and behind a verb, that are looked at
_NEAR, _NEAR_ZH = 6, 16  # words, of Chinese characters, between a verb and the name it means
_WORDS: dict[str, Any] = json.loads((files("ufo_experience.traces") / "control_words.json").read_text(encoding="utf-8"))


def _any(words: str) -> str:
    """A pattern for these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words.split("|"), key=len, reverse=True))


_ROLES: dict[str, dict[str, str]] = {language: _WORDS["roles"][language] for language in ("de", "zh")}
_ROLE_DE, _ROLE_ZH = _any("|".join(_ROLES["de"])), rf"(?:所在的)?(?:{_any('|'.join(_ROLES['zh']))})"
_ROLE = rf"(?i:(?<!\w)(?:{_any(_WORDS['roles']['en'])}|{_ROLE_DE})(?!\w))"
_VERB = re.compile(
    rf"(?i:(?<!\w)(?:{_any(_WORDS['verbs']['en'] + '|' + _WORDS['verbs']['de'])})(?!\w))|{_any(_WORDS['verbs']['zh'])}"
)
_CELL = r"\$?[A-Z]{1,3}\$?\d{1,6}(?: ?[:：到至] ?\$?[A-Z]{1,3}\$?\d{1,6})?"
_FILLER = rf"\A\s*(?:(?i:{_WORDS['fillers']})(?!\w)\s*)*"
_ZH = rf"[^\W{_WORDS['joints']}A-Za-z0-9_]"  # a letter that may stand in a name
# In this order: what is quoted, a cell; right behind a verb a file or words with their role, in German behind it; in
# Chinese what stands before a role, what has capitals, and roles that are names.
_NAME = re.compile(
    r"[\"“«„](?P<one>[^\"“”«»„\n]{1,60})[\"“”»]|(?<!\w)['‘`](?P<two>[^'‘’`\n]{1,60})['’`](?!\w)"
    rf"|[「『《](?P<three>[^」』》\n]{{1,60}})[」』》]|(?P<cell>(?<![A-Za-z0-9.]){_CELL})(?![A-Za-z0-9]|\.\w)"
    rf"|{_FILLER}(?:(?P<file>[\w-]+\.[a-z]\w{{1,3}})(?!\w)"
    rf"|(?i:{_ROLE_DE}) (?P<german>[A-ZÄÖÜ][\w-]{{1,40}})"
    rf"|(?P<noun>(?:[^\W\u2e80-\U0002ffff][\w&+/'.-]{{0,40}} ){{1,5}}?)(?P<kind>{_ROLE}))"
    rf"|(?P<latin>[A-Za-z0-9][A-Za-z0-9 .&+/$:_'()-]{{0,40}}?) ?(?:[（(][^）)]{{1,20}}[）)])?(?={_ROLE_ZH})"
    r"|(?:(?<=的)|\A)(?P<title>[A-Z][A-Za-z0-9.&+/-]*(?: [A-Z][A-Za-z0-9.&+/-]*){0,4}|[A-Za-z0-9_-]+\.\w{2,4}\b)"
    r"(?=\W*[\u3400-\u9fff]|\W*\Z)"
    rf"|(?P<plain>(?:(?<=的)|(?<!\w)){_ZH}{{1,8}}?(?={_ROLE_ZH}))|(?P<alone>{_any(_WORDS['alone'])})"
)
_ROLE_BESIDE = re.compile(rf"\W{{0,2}}(?P<role>{_ROLE}|(?:{_ROLE_ZH})+)")
_ROLE_BEFORE = re.compile(rf"(?P<role>{_ROLE}) ?(?i:labell?ed |called |named |namens )?\W?\Z")
_THIS = re.compile(rf"(?i:\s*(?:{_any(_WORDS['this'])})(?![A-Za-z]))")
_CLAUSE = re.compile(r"(?<=[.!?;,:])\s+|(?<=[。！？；，：、\n])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；;\n])")
_LATER = re.compile(rf"(?i)\A\W*(?:{_any(_WORDS['later'])})(?![A-Za-z])")
_PAST = re.compile(_any(_WORDS["past"]))
_NOT_AFTER = tuple(_WORDS["not_after_verb"].split("|"))
_IS_CHINESE = re.compile(r"[\u3400-\u9fff]")
_OF = re.compile(r"[^，。,;]{0,8}的[^，。,;]{0,3}")  # between the name of a place and that of what is in it
_CELLS = re.compile(rf"(?<![A-Za-z0-9.])({_CELL})(?![A-Za-z0-9]|\.\w)")
_KEYS = frozenset(_WORDS["keys"].split())
_VAGUE = frozenset([*_WORDS["vague"].split(), *_WORDS["fillers"].split("|")])


def english_role(role: str) -> str:
    """The usual English word for a role in German or Chinese; "菜单按钮" is what its last part says."""
    found = re.findall(_any("|".join(_ROLES["zh"])), role)
    return _ROLES["zh"][found[-1]] if found else _ROLES["de"].get(role, role)


def name_of_next(text: str, by: By) -> Named | None:
    """The control a thought or a comment says is acted on next; None when it names none.

    It is the first of the last sentence about now: not of what was done, nor of what comes later.
    """
    found: Named | None = None
    history: list[Named] = []
    for sentence in _SENTENCE.split(text[-MAX_SAID:]):
        first = next(iter([*_acted_on(sentence, history)]), None)
        if first and (found is None or not _LATER.match(sentence)):
            found = first
    return found and found._replace(by=by)


def cells_in(text: str) -> list[Named]:
    """The cells a text names, each once."""
    return [Named(_cell(cell), "cell", "thought") for cell in dict.fromkeys(_CELLS.findall(text[-MAX_SAID:]))]


def _acted_on(sentence: str, history: list[Named]) -> Iterator[Named]:
    """The controls a sentence says are acted on; `history` is what was mentioned so far, for "this"."""
    for clause in (whole[:MAX_CLAUSE] for whole in _CLAUSE.split(sentence)):
        chinese = _IS_CHINESE.search(clause) is not None
        verbs = [] if chinese and (_LATER.match(clause) or _PAST.search(clause)) else _VERB.finditer(clause)
        objects = (_object_of(clause, verb, chinese, history) for verb in verbs)
        if named := next((one for one in objects if one), None):
            yield named
        history += [one.named for one in _mentions(clause) if chinese or one.plainly]


def _object_of(clause: str, verb: re.Match[str], chinese: bool, history: list[Named]) -> Named | None:
    """The control a verb acts on: the last named behind it, or one before it ("auf „Speichern“ klicken"), or "this"."""
    rest = clause[verb.end() : verb.end() + REACH]
    if rest.startswith(_NOT_AFTER):
        return None
    found = _mentions(rest)
    if (this := _THIS.match(rest)) and not (found and found[0].start <= this.end() + 1 and found[0].named.role):
        return _meant(rest[this.end() :], history)
    if not rest.strip(" .!。"):
        before = [one.named for one in _mentions(clause[: verb.start()]) if one.plainly]
        return before[-1] if before and not chinese else None
    acted: _Mention | None = None
    for one in found:
        between = rest[acted.end if acted else 0 : one.start]
        if acted is None:
            near = len(between) <= _NEAR_ZH if chinese else one.plainly and len(between.split()) <= _NEAR
            goes_on = near or not between.strip()
        else:
            beside = one.plainly and not acted.plainly and len(between) <= 2 and one.named.role != "cell"
            goes_on = beside or _OF.fullmatch(between) is not None
        if not goes_on:
            break
        acted = one
    return acted.named if acted else None


def _meant(noun: str, history: list[Named]) -> Named | None:
    """What "it", or "this button", means: what was mentioned last, of this role where one is said."""
    role = _ROLE_BESIDE.match(noun.removeprefix("个"))
    if role is None and noun.strip(" .!")[:1] not in ("", *"，。就来即可后以"):
        return None
    wanted = role["role"].casefold() if role else ""
    return next((one for one in reversed(history) if one.role.endswith(wanted)), None)


def _mentions(text: str) -> list[_Mention]:
    found = []
    for match in _NAME.finditer(text):
        said = match.groupdict()
        plainly = bool(said["one"] or said["two"] or said["three"])
        after = None if said["noun"] else _ROLE_BESIDE.match(text, match.end())
        before = _ROLE_BEFORE.search(text[: match.start()]) if plainly and not after else None
        role = (after or before or {"role": said["kind"] or ""})["role"].removeprefix("所在的").casefold()
        kind = said.pop("kind")
        name = next((part for part in said.values() if part), "").strip(" ,:;，。")
        if said["cell"]:
            name, role, plainly = _cell(name), "cell", True
        elif said["noun"] and not name[:1].isupper():  # else "Sign in", "Privacy and security"
            name = "" if _VAGUE & {*name.casefold().split()} else f"{name} {kind}"
        elif said["plain"]:
            name += role
        name = name if name.endswith("..") else name.rstrip(".")
        if name and (role or name.casefold() not in _KEYS):
            found.append(_Mention(Named(name, role), match.start(), after.end() if after else match.end(), plainly))
    return found


def _cell(name: str) -> str:
    """`$A$1到C3` is "A1:C3"."""
    return re.sub(r" ?[:：到至] ?", ":", name.replace("$", ""))
