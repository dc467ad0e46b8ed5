"""How two requests differ that read alike: another deed, a word in the place of another, some instead of all.

Who words a task anew changes much; who asks for another feature, object or scope in the same words changes one (a twin
of the task). Two words are swapped when neither request has what the other says and both stand between the same
neighbours that the requests share. Values may be swapped freely; and of an unknown word nobody can say that it means
something else.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from ufo_experience.text.frames import PREPOSITIONS, Frame
from ufo_experience.text.terms import COMMON, stem

DISTANT = 0.5  # how much two deeds differ that have nothing to do with each other, but both with a third one
_LIGHT = frozenset(stem(word) for word in "put add insert place apply send take attach write start do".split())
_SWITCHED_ON = frozenset(" ".join(map(stem, one.split())) for one in ("turn on", "switch on", "enable"))
_VERB_FOLLOWS = frozenset("and then to or please can could should must would will i you not let me".split())
ONE_SIDE = 0.5  # what a swap counts of whose neighbours only those on one side agree
_ARTICLES = frozenset("the a an my your his her our their this that".split())
_ALL = frozenset(stem(word) for word in "all every whole entire everything everywhere".split())
_SOME = frozenset(stem(word) for word in "only just single current".split())
_FROM, _TO = (frozenset(map(stem, words.split())) for words in ("from", "to into onto"))
_EDGE = "$"


@dataclass(frozen=True)
class Swap:
    """Places of the words of a query and of a record that stand for each other, `between` the same neighbours; `share`
    is 1.0, or `ONE_SIDE` where one neighbour agrees. `is_all`: nothing else that is known is left over.
    """

    share: float
    is_all: bool
    places: tuple[int, ...]
    others: tuple[int, ...]
    between: tuple[str, str]


def find_swap(query: Frame, record: Frame, asked: Sequence[float], named: Sequence[float]) -> Swap | None:
    """The surest swap of known words, or None.

    `asked` and `named` say of each word of query and record how much of it the other one has.
    """
    had = [place for place in record.reading.telling if not named[place]]
    own = [place for place in query.reading.telling if not asked[place]] if had else []
    is_unknown = bool(had) and not own and not record.pressed.isdisjoint(record.stems[place] for place in had)
    if is_unknown:
        own = _unknown(query, asked)
    if own:
        shared = (query.words & record.words) - _ARTICLES
        others, left = _left_between(record, had, shared), _left_between(query, own, shared)
        if is_unknown:
            others = {between: found for between, found in others.items() if _are_pressed(record, between, found)}
        for between, places in left.items():
            if between in others and between != (_EDGE, _EDGE):
                return Swap(1.0, len(left) == len(others) == 1, tuple(places), tuple(others[between]), between)
        if is_unknown:
            return None
        before: dict[str, int] = {}
        behind: dict[str, int] = {}
        for number, one in enumerate(others):
            before.setdefault(one[0], number)
            behind.setdefault(one[1], number)
        none = len(others)
        for between, places in left.items():
            number = min(before.get(between[0], none), behind.get(between[1], none))
            if number < none and between != (_EDGE, _EDGE):
                return Swap(ONE_SIDE, False, tuple(places), tuple([*others.values()][number]), between)
    return None


def _are_pressed(record: Frame, between: tuple[str, str], places: Sequence[int]) -> bool:
    """True where what stands behind a word that both say is nothing but what the steps press."""
    return between[0] != _EDGE and all(record.stems[place] in record.pressed for place in places)


def _unknown(query: Frame, asked: Sequence[float]) -> list[int]:
    """The places of words of no known meaning that a record has nothing of: where it has a feature that its steps
    press, they name another one if they stand between the same neighbours."""
    said = query.reading
    return [
        place for place in said.content if not asked[place] and not query.kinds[place] and not said.is_measure[place]
    ]


def _left_between(frame: Frame, left: Sequence[int], shared: Set[str]) -> dict[tuple[str, str], list[int]]:
    """The places of words the other one has nothing of, by the nearest shared words before and behind them."""
    stems = (*frame.stems, _EDGE)
    found: dict[tuple[str, str], list[int]] = {}
    before, begin, end = _EDGE, 0, 0
    for mark in [place for place, one in enumerate(frame.stems) if one in shared] + [len(frame.stems)]:
        while end < len(left) and left[end] < mark:  # a word that is left is no shared one
            end += 1
        if end > begin:
            found.setdefault((before, stems[mark]), []).extend(left[begin:end])
        before, begin = stems[mark], end
    return found


def is_way_back(query: Frame, record: Frame) -> bool:
    """True where one request goes from where the other goes to, and to where it comes from: things that the steps
    click, or that are known and no names. What was typed, or is marked, may be any value."""
    if query.words.isdisjoint(_FROM | _TO):
        return False
    origins, goals = _ends(query)
    its_origins, its_goals = _ends(record)
    there, back = origins & its_goals - its_origins - goals, goals & its_origins - its_goals - origins
    if not (there and back):
        return False
    turned = there | back
    words = zip(record.stems, record.kinds, record.reading.is_known, strict=True)
    things = {one for one, kind, known in words if known and not kind and one not in record.names}
    return not turned.isdisjoint(record.clicked | things)


def _ends(frame: Frame) -> tuple[Set[str], Set[str]]:
    """The words that say from where, and those that say where to."""
    origins: set[str] = set()
    goals: set[str] = set()
    stems = frame.stems
    outward = [place for place in range(1, len(stems)) if stems[place] == "of" and stems[place - 1] == "out"]
    for place in frame.reading.content:
        lead = frame.reading.leads[place]
        if lead in _FROM or (lead == "of" and any(stems.index("of", one) < place for one in outward)):
            origins.add(stems[place])
        elif lead in _TO:
            goals.add(stems[place])
    return origins, goals


def other_deed(query: Frame, record: Frame) -> float:
    """1.0 when both deeds are known, and neither request does what the other one does.

    What one request does and the other only speaks of ("flag the mail", "clear the flag of the mail") is the same deed
    where the other one's says little by itself ("put a flag on the mail").
    """
    asked, had = query.deed, record.deed
    if asked < 0 or had < 0 or not (query.reading.is_known[asked] and record.reading.is_known[had]):
        return 0.0
    if query.entries[asked] & record.related[had] or query.related[asked] & record.entries[had]:
        return 0.0
    one, other = query.stems[asked], record.stems[had]
    if one == other or _does(record, query, asked) or _does(query, record, had):
        return 0.0
    on_controls = one in record.clicked or bool(query.related[asked] & record.clicked_entries)
    if on_controls and other not in record.clicked:
        return 0.0
    return DISTANT if query.related[asked] & record.related[had] else 1.0


def _does(frame: Frame, other: Frame, deed: int) -> bool:
    """True where a request does what is the deed of the other one, too, or names it behind a deed that says little."""
    light = frame.stems[frame.deed] in _LIGHT or bool(frame.entries[frame.deed] & _SWITCHED_ON)
    for place, one in enumerate(frame.stems):
        same = one == other.stems[deed] or bool(frame.entries[place] & other.related[deed])
        spoken_of = not light and place != frame.deed and frame.stems[place - 1] not in _VERB_FOLLOWS
        if same and not spoken_of and one not in PREPOSITIONS and not frame.kinds[place]:
            return True
    return False


def scope_clash(query: Frame, record: Frame) -> float:
    """1.0 where one is about all of them and the other about one or some only."""
    if _ALL.isdisjoint(query.words) and _ALL.isdisjoint(record.words):
        return 0.0
    return float(_is_about_all(query) and _is_about_some(record, query)) or float(
        _is_about_all(record) and _is_about_some(query, record)
    )


def _is_about_all(frame: Frame) -> bool:
    return bool(_ALL & frame.words) and not _SOME & frame.words


def _is_about_some(frame: Frame, all_of: Frame) -> bool:
    """True where a request says so, or numbers what the other one wants all of."""
    if _ALL & frame.words:
        return False
    if _SOME & frame.words:
        return True
    things = {one for before, one in zip(all_of.stems, all_of.stems[1:], strict=False) if before in _ALL}
    pairs = zip(frame.stems, frame.kinds[1:], strict=False)
    return any(kind == "number" and one in things for one, kind in pairs if one not in COMMON)
