"""What makes requests one task: they say the same but for values, in one application.

A value marks itself (quoted, a number, a name), or is a word that requests to computers do not know: a login, a code. A
verb at the beginning, with its capital, is none. Of a run what it typed or chose is one, too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache

from ufo_experience.controls import LABEL, is_fixed, is_part_of_page, role_of
from ufo_experience.ids import content_id
from ufo_experience.redact.typed import SLOT_TYPE, words_between
from ufo_experience.request import UNSPACED, Request, Value, application_key, find_whole, holds, on_forgetting, stem
from ufo_experience.retrieve.meaning import meanings
from ufo_experience.retrieve.thesaurus import SKIPPED, thesaurus
from ufo_experience.schema import Experience, Step

SAME_TASK = 0.99  # how probable it is that a record of the same task helps
_WORD = re.compile(rf"<\w+>|[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’.-][^\W_{UNSPACED}]+)*")
_ENDS = ".,;!?。，；！？“”\"'"
_BRACKET = re.compile(r"[()\[\]{}]")
_NAMES = re.compile(r"<name>(?: <name>)+")
_MOST_ODD = 1 / 3  # of the words of a request; where more are not known, it may be in another language


@lru_cache(maxsize=4_096)
def task_key(request: Request) -> str:
    """A short digest that all requests of one task share.

    >>> task_key(Request.parse("Lock tkent out")) == task_key(Request.parse("Lock mlopez out"))
    True
    """
    said, odd = request.masked, _odd_words(request)
    if odd:
        said = _WORD.sub(lambda word: "<name>" if word[0] in odd else word[0], said)
    return content_id([application_key(request.application), _NAMES.sub("<name>", said)])[:16]


def task_key_of(run: Experience) -> str:
    """That of a run: what it typed or chose is a value of its request, though nothing marks it there ("blue lamps")."""
    request = Request.parse(run.state.request or run.state.task, run.state.application)
    return task_key(_with_names(request, _values_said(run)))


def _with_names(request: Request, texts: Iterable[str]) -> Request:
    """A request with texts (in lower case) as names where they stand behind its first word."""
    text, values = request.text.casefold(), list(request.values)
    for one in sorted(texts, key=lambda text: (-len(text), text)):
        at = find_whole(one, text, 1) if len(text) == len(request.text) else -1
        end = at + len(one)
        cut = [value for value in values if at < value.end and value.start < end]
        is_more = any(len(value.text) < len(one) for value in cut) or not cut
        if at >= 0 and is_more and all(at <= value.start and value.end <= end for value in cut):
            whole = Value("name", request.text[at:end], at, end)
            values = [*(value for value in values if value not in cut), whole]
    return replace(request, values=tuple(sorted(values, key=lambda value: value.start)))


def _odd_words(request: Request) -> frozenset[str]:
    """The words of a request that are values though nothing marks them; none in a language that is not known."""
    words = _WORD.findall(request.masked)
    may_be = words[_is_verb(request, words) :]
    odd = frozenset(word for word in may_be if word[0] != "<" and word.isascii() and is_odd(word))
    return odd if len(odd) <= _MOST_ODD * len(words) else frozenset()


def _is_verb(request: Request, words: Sequence[str]) -> bool:
    """True for a first word with a capital, unless the rest of a name stands behind it."""
    return request.text.lstrip()[:1].isupper() and words[1:2] != ["<name>"]


def is_odd(word: str) -> bool:
    """True for what is no word of requests to computers: a login, a code, a name in lower case."""
    if "-" in word:  # "pre-set" is one of two words that are known, "kestrel-91" is not
        return not word.replace("-", "").isalpha() or any(map(is_odd, word.split("-")))
    own = stem(word.casefold())
    return len(own) > 2 and not thesaurus().is_known(own) and meanings().place(own) is None


def reads_alike(asked: Request, stored: Request) -> bool:
    """True where either says half of what the other says, or they begin alike: they may differ in values alone."""
    new, old = (_WORD.findall(one.masked) for one in (asked, stored))
    return 2 * len({*new} & {*old}) >= max(len({*new}), len({*old})) or new[:2] == old[:2]


def said_in(run: Experience) -> frozenset[str]:
    """What a run typed or chose, and the items it took, in lower case; not the verb at the beginning of its request,
    which is one only where a row begins with it."""
    items = (step.target_control.name.casefold() for step in run.action.steps if _takes_item(step))
    first = (run.state.request or run.state.task).casefold().partition(" ")[0]
    rows = (step.target_control.within.casefold() for step in run.action.steps)
    is_verb = not is_odd(first) and not any(row.startswith(first) for row in rows)
    return _values_said(run).union(items) - {"", first if is_verb else ""}


def _values_said(run: Experience) -> frozenset[str]:
    """What a run typed or chose, and what of its request the items and rows say that it took, in lower case."""
    values = (value for step in run.action.steps for value in step.parameters.values())
    said = {value.casefold() for value in values if isinstance(value, str)}
    asked = run.state.request or run.state.task
    for kind in run.slots.values():
        told = SLOT_TYPE.fullmatch(kind)
        if told is not None and told["first"]:
            words = words_between(asked.casefold(), int(told["first"]), int(told["last"] or told["first"]))
            said.add(words.strip(_ENDS))
    texts = [text for step in run.action.steps for text in _of_the_user(step)]
    links = (step.target_control.name for step in run.action.steps if _is_link(step))
    marked = [one.text for one in Request.parse(asked).values]
    # "My reading list", of which "My" alone is marked
    said.update(link.casefold() for link in links if holds(asked, link) and any(holds(link, one) for one in marked))
    return frozenset(said.union(_said_of(asked, text) for text in texts)) - {""}


def _of_the_user(step: Step) -> Iterator[str]:
    """The name of the item that a step takes, and the row it stands in."""
    within = step.target_control.within
    if _takes_item(step):
        yield step.target_control.name
    if not (LABEL.fullmatch(within) or is_part_of_page(within)):
        yield within


def _said_of(request: str, text: str) -> str:
    """The longest run of words, two at least, that a request has from a text: "no wireless" of "12. No wireless".
    It ends at a bracket."""
    places = list(_WORD.finditer(request.casefold()))
    words, theirs = [place[0] for place in places], _WORD.findall(text.casefold())
    at, _, size = SequenceMatcher(None, words, theirs, autojunk=False).find_longest_match()
    says_little = SKIPPED.issuperset(words[at : at + size])
    if size < 2 or says_little:
        return ""
    return max(_BRACKET.split(request.casefold()[places[at].start() : places[at + size - 1].end()]), key=len).strip()


def _takes_item(step: Step) -> bool:
    """True for a step on what belongs to a user: an item of a list, a link in a row."""
    control = step.target_control
    in_row = _is_link(step) and control.within and not is_part_of_page(control.within)
    return bool(in_row) or not is_fixed(role_of(control.type))


def _is_link(step: Step) -> bool:
    return role_of(step.target_control.type) == "hyperlink"


on_forgetting(task_key.cache_clear)
