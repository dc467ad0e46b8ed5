"""No regular expression of the package grows faster than in proportion to what it is given.

Every compiled pattern of every module is tried on repetitions of what it is made of, and of what hostile texts are
made of. What a pattern needs for four times the text is compared with what it needs for the text, in one run: no clock
of the wall decides.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import pytest

import ufo_experience
from ufo_experience.errors import ServiceError

if sys.version_info >= (3, 11):
    from re import _constants as codes
    from re import _parser as parser
else:
    import sre_constants as codes
    import sre_parse as parser

SHORT, TIMES = 2_000, 4
SUSPICIOUS_S = 0.0004  # a linear pattern needs less for a text of this length; what needs more is looked at closely
HOPELESS_S = 0.02  # for a quarter of the text: worse than quadratic
END = "!\x00"  # what no pattern goes on with: a match that was nearly there is tried in every other way
LIMIT = 9.0  # times as much for four times the text; quadratic is sixteen
COMMON = (
    "a", "A", "0", ".", "-", "_", "^", "+", "=", ":", "(", "[", "{", "<", "\\", "/", "'", '"', " ", "\n", "\t", ",",
    "a.", "a-", "a b", "a 1 ", "1. ", "а", "中", "http://", "www.", "a@", "@a.", "eyJ", "sk-", "AKIA", "password ",
)  # fmt: skip


def modules() -> Iterator[Any]:
    """Every module that can be imported here."""
    for found in pkgutil.walk_packages(ufo_experience.__path__, "ufo_experience."):
        if not found.name.endswith("__main__"):
            try:
                yield importlib.import_module(found.name)
            except (ImportError, ServiceError):  # an extra that is not installed: `.ci/run` has them all
                continue


def is_read_once(value: Any) -> bool:
    """A function that reads a file of data, and keeps what it read."""
    return isinstance(value, type(cache(len))) and not inspect.signature(value).parameters


@cache
def patterns() -> dict[str, re.Pattern[Any]]:
    """Name → compiled pattern, also those in tuples, lists and dictionaries."""
    found: dict[str, re.Pattern[Any]] = {}

    def look(name: str, value: Any, levels: int) -> None:
        if isinstance(value, re.Pattern):
            if value not in found.values():
                found[name] = value
        elif levels and isinstance(value, dict):
            for key, one in value.items():
                look(f"{name}[{key!r}]", one, levels - 1)
                look(f"{name}({key!r:.40})", key, levels - 1)
        elif levels and isinstance(value, (list, tuple, set, frozenset)):
            for place, one in enumerate(value):
                look(f"{name}[{place}]", one, levels - 1)

    for module in modules():
        for name, value in vars(module).items():
            own = f"{module.__name__.removeprefix('ufo_experience.')}.{name}"
            look(own, value() if is_read_once(value) else value, 3)
    return found


_METHODS = re.compile(r"(?<=\.)(?:match|fullmatch|search|sub|subn|findall|finditer|split)(?=\()")


@cache
def source() -> dict[str, list[str]]:
    """Module → its lines."""
    root = Path(ufo_experience.__file__).parent
    files = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.rglob("*.py")}
    return {name: path.read_text(encoding="utf-8").splitlines() for name, path in files.items()}


def anchored_use(name: str) -> frozenset[str]:
    """`match`, `fullmatch` or both when a pattern is used so and not otherwise, as its module's lines show; else none.

    Where it is not seen how a pattern is used, it is tried as if it were searched for.
    """
    module, _, own = name.partition("[")[0].rpartition(".")
    lines = source().get(module, [])
    mentions = [line for line in lines if re.search(rf"\b{own}\b", line)]
    used = {method for line in mentions for method in _METHODS.findall(line.partition("re.compile")[0])}
    private = own.startswith("_") and not any(f"{own}.pattern" in line for line in mentions)
    return frozenset(used) if private and used and used <= {"match", "fullmatch"} else frozenset()


def sample(tree: Any, chance: random.Random) -> str:
    """A text that the pattern would begin to match: one way through it, repeats up to twice more than needed."""
    parts = []
    for code, value in tree:
        if code is codes.LITERAL:
            parts.append(chr(value))
        elif code is codes.NOT_LITERAL:
            parts.append("a" if value != ord("a") else "b")
        elif code is codes.ANY:
            parts.append("a")
        elif code is codes.IN:
            parts.append(_of_class(value, chance))
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, *_POSSESSIVE):
            least, most, inner = value
            times = min(most, least + chance.choice((0, 1, 2)))
            parts.append("".join(sample(inner, chance) for _ in range(min(times, 40))))
        elif code is codes.SUBPATTERN:
            parts.append(sample(value[-1], chance))
        elif code is codes.BRANCH:
            parts.append(sample(chance.choice(value[1]), chance))
        elif code in _ATOMIC:
            parts.append(sample(value, chance))
    return "".join(parts)


_POSSESSIVE = [getattr(codes, name) for name in ("POSSESSIVE_REPEAT",) if hasattr(codes, name)]
_ATOMIC = [getattr(codes, name) for name in ("ATOMIC_GROUP",) if hasattr(codes, name)]
_CLASSES = {"DIGIT": "7", "SPACE": " ", "WORD": "w", "NOT_DIGIT": "d", "NOT_SPACE": "s", "NOT_WORD": "-"}


def _of_class(members: Any, chance: random.Random) -> str:
    if members[0][0] is codes.NEGATE:
        return chance.choice("a0 .-")
    code, value = chance.choice(members)
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.RANGE:
        return chr(chance.choice(value))
    return _CLASSES.get(str(value).removeprefix("CATEGORY_"), "a")


def seeds(pattern: re.Pattern[Any], tries: int) -> list[str]:
    chance = random.Random(pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1"))
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else 0)
    made = [sample(tree, chance) for _ in range(tries)]
    halves = [one[: max(1, len(one) // 2)] for one in made]
    return [one for one in dict.fromkeys([*made, *halves]) if one]


def cost(pattern: re.Pattern[Any], text: Any, least: int, used: frozenset[str] = frozenset()) -> float:
    """Processor time of what is done with a pattern; the best of several tries."""
    best = float("inf")
    for _ in range(least):
        begun = process_time()
        if not used:
            for _ in pattern.finditer(text):
                pass
        for method in used:
            getattr(pattern, method)(text)
        best = min(best, process_time() - begun)
    return best


def worst(
    pattern: re.Pattern[Any], texts: list[str], used: frozenset[str] = frozenset(), ends: tuple[str, ...] = (END,)
) -> tuple[float, str]:
    """The largest growth of all texts with each end, and the text it was met with."""
    found = (0.0, "")
    for seed in texts:
        for end in ends:
            tiny, short, long = (_repeated(seed, size, end, pattern) for size in (SHORT // 4, SHORT, SHORT * TIMES))
            if cost(pattern, tiny, 1, used) > HOPELESS_S and cost(pattern, tiny, 2, used) > HOPELESS_S:
                return 99.0, seed
            if (first := cost(pattern, short, 1, used)) > SUSPICIOUS_S and (
                first := cost(pattern, short, 3, used)
            ) > SUSPICIOUS_S:
                found = max(found, (cost(pattern, long, 2, used) / first, seed))
                if found[0] > LIMIT:  # one of the two may have been slow by chance: both again, longer
                    again = (cost(pattern, long, 3, used) / cost(pattern, short, 3, used) for _ in range(4))
                    found = (min(again), seed)
                if found[0] > LIMIT:
                    return found
    return found


def _repeated(seed: str, size: int, end: str, pattern: re.Pattern[Any]) -> Any:
    text = (seed * (size // len(seed) + 1))[:size] + end
    return text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text


def test_the_sweep_sees_a_quadratic_pattern():
    """A case that must fail: two repeats that can share the same text."""
    assert worst(re.compile(r"[a-z]+\s*[a-z]+@"), ["a"])[0] > LIMIT
    assert worst(re.compile(r"(?<![a-z])[a-z]+@"), ["a"])[0] < LIMIT


def test_every_pattern_is_linear_in_hostile_texts():
    """All compiled patterns of the package: more than two hundred, none left out."""
    assert len(patterns()) > 200
    common = list(COMMON[::6])
    grown = {name: worst(one, [*common, *seeds(one, 1)], anchored_use(name)) for name, one in patterns().items()}
    assert {name: found for name, found in grown.items() if found[0] > LIMIT} == {}


@pytest.mark.slow
def test_every_pattern_is_linear_in_many_hostile_texts():
    """The same with more texts, also with ones a pattern may match to the end."""
    grown = {
        name: worst(one, [*COMMON, *seeds(one, 25)], anchored_use(name), ("", END)) for name, one in patterns().items()
    }
    assert {name: found for name, found in grown.items() if found[0] > LIMIT} == {}
