"""No pattern of secrets can match a text without its hints: each way through each pattern holds one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

from ufo_experience.redact.hints import Hinted, Searched, hinted, hints_of

from ufo_experience.redact import credential_slots, introduced, secrets, shapes
from ufo_experience.trust import confirm

if sys.version_info >= (3, 11):
    from re import _constants as codes
    from re import _parser as parser
else:
    import sre_constants as codes
    import sre_parse as parser

GAP, DIGIT = "\x00", "\x01"
# What is searched for a digit that the code asks of a match, not the pattern.
ASKED_AFTERWARDS = {"_GROUPED", "_IN_FOURS", "_RUNS"}


def table() -> dict[str, Hinted]:
    """Name → every hinted pattern of the package, rules included."""
    found = {f"rule {n}": Hinted(rule.pattern.pattern, rule.hints) for n, rule in enumerate(secrets._RULES)}
    found |= {**dict(confirm._NAMES), "what carries out": confirm._CARRIES_OUT}
    for module in (shapes, introduced, credential_slots):
        for name, value in vars(module).items():
            rows = value if isinstance(value, tuple) and not isinstance(value, Hinted) else (value,)
            for number, row in enumerate(rows):
                one = row[0] if isinstance(row, tuple) and row and isinstance(row[0], Hinted) else row
                if isinstance(one, Hinted):
                    found[f"{name}[{number}]" if len(rows) > 1 else name] = one
    return found


def ways(tree: Any, *, without: Callable[[str], bool] = lambda way: True) -> set[str]:
    """What each way through a pattern spells, in lower case; what may differ is a gap, what must be a digit is one.

    Ways that are not `without` are left out as soon as they are not.
    """
    so_far = {""}
    for code, value in tree:
        so_far = {way for one, more in product(so_far, _of(code, value)) if without(way := _shortened(one + more))}
        assert len(so_far) < 50_000
    return so_far


def _of(code: Any, value: Any) -> set[str]:
    if code is codes.LITERAL:
        return {chr(value).lower()}
    if code is codes.IN:
        listed = [chr(one).lower() for kind, one in value if kind is codes.LITERAL]
        return (
            {DIGIT}
            if _is_digits(value)
            else {*listed}
            if len(listed) == len(value) and all(map(str.isalnum, listed))
            else {GAP}
        )
    if code is codes.SUBPATTERN:
        return ways(value[-1])
    if code is codes.BRANCH:
        return set().union(*map(ways, value[1]))
    if code is codes.ASSERT and value[0] > 0:  # what must follow stands in the text, too
        return {f"{GAP}{way}{GAP}" for way in ways(value[1])}
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, inner = value
        once = ways(inner) if most == 1 else {f"{one}{GAP}" for one in ways(inner)} if least else {GAP}
        return once if least else {"", *once}
    return {""} if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT) else {GAP}


def _is_digits(members: Any) -> bool:
    return all(
        (code is codes.CATEGORY and value is codes.CATEGORY_DIGIT)
        or (code is codes.RANGE and value[0] >= ord("0") and value[1] <= ord("9"))
        for code, value in members
    )


def _shortened(way: str) -> str:
    return re.sub(f"{GAP}+", GAP, way)


def ways_around(name: str, one: Hinted) -> set[str]:
    """The ways through a pattern that hold none of its hints, or fewer digits than are said to be needed."""
    tree = parser.parse(one.pattern.pattern, one.pattern.flags)
    around = ways(tree, without=lambda way: not any(hint in way for hint in one.hints)) if one.hints else set()
    if one.digits > fewest_digits(tree) and name not in ASKED_AFTERWARDS:
        around.add(f"fewer than {one.digits} digits")
    return around


def fewest_digits(tree: Any) -> int:
    """How many digits every match of a pattern has, what is only looked at around it left out."""
    found = 0
    for code, value in tree:
        if code is codes.LITERAL:
            found += chr(value).isdecimal()
        elif code is codes.IN:
            found += _is_digits(value)
        elif code is codes.SUBPATTERN:
            found += fewest_digits(value[-1])
        elif code is codes.BRANCH:
            found += min(map(fewest_digits, value[1]))
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            found += value[0] * fewest_digits(value[2])
    return found


def test_every_way_through_every_pattern_holds_a_hint():
    """Else a text could match that is not searched."""
    patterns = table()
    assert len(patterns) > 60
    assert {name: around for name, one in patterns.items() if (around := ways_around(name, one))} == {}


def test_a_missing_hint_is_noticed():
    """A case that must fail."""
    found = ways(parser.parse(r"(?i)(?:pass\W?words?|login)\s(?P<v>\d)"))
    assert any("pass" not in way for way in found)
    assert all("pass" in way or "login" in way for way in found)
    assert all(DIGIT in way for way in found)


def test_a_text_in_letters_of_another_case_is_searched_whatever_its_hints():
    """`ſ` is an s when case is ignored, but its lower case is not."""
    pattern = hinted("(?i)secret", "secret")
    for text in ("SECRET", "\u017fecret"):
        assert [*Searched(text, hints_of([pattern])).matches(pattern)]
    assert not [*Searched("nothing", hints_of([pattern])).matches(pattern)]
