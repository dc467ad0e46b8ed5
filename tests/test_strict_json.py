"""The one JSON reader: what it refuses, what it mends in logs, and how deep it goes."""

from __future__ import annotations

import pytest

from ufo_experience.errors import DataError
from ufo_experience.store.strict_json import DEPTH, MAX_DIGITS, MAX_LEVELS, StrictJsonError, parse, read


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ("[NaN]", "NaN"),
        ("[-Infinity]", "Infinity"),
        ("[1e999]", "not a number"),
        (f"[{'9' * (MAX_DIGITS + 1)}]", "digits"),
        ("[" * (MAX_LEVELS + 1) + "]" * (MAX_LEVELS + 1), "deeper"),
        ("[" * 100_000 + "]" * 100_000, "deeper"),
    ],
)
def test_what_readers_disagree_about_or_choke_on_is_refused(text, reason):
    """The error names the file."""
    with pytest.raises(DataError, match=reason) as caught:
        parse(text, file="a.json")
    assert caught.value.file == "a.json"


def test_a_syntax_error_names_its_line_or_the_line_it_was_told():
    """A line of a file of lines is known to the caller only."""
    with pytest.raises(DataError) as caught:
        parse("{\n]")
    assert caught.value.line == 2
    with pytest.raises(DataError) as caught:
        parse("]", line=7)
    assert caught.value.line == 7


def test_bytes_that_are_not_utf8_are_corrupt():
    """With the place of the first wrong byte."""
    with pytest.raises(DataError, match="byte 2"):
        parse(b'["\xff"]')


def test_a_byte_order_mark_is_passed_over():
    """Editors on Windows write it."""
    assert parse(b"\xef\xbb\xbf[1]") == parse("\ufeff[1]") == [1]


def test_the_deepest_value_allowed_is_read():
    """Brackets in a text are no nesting."""
    deep = parse("[" * MAX_LEVELS + "]" * MAX_LEVELS)
    for _ in range(MAX_LEVELS - 1):
        (deep,) = deep
    assert deep == []
    assert parse('["' + "[" * 500 + '"]') == ["[" * 500]


def test_oddities_of_logs_are_mended_and_named():
    """The last value of a key counts, what is not finite is missing, half a surrogate pair is replaced."""
    notes: dict[str, str] = {}
    assert read(r'{"a": 1, "a": [NaN, 1e999], "b": "\ud800"}', mended=notes) == {"a": [None, None], "b": "?"}
    assert set(notes) == {"E_DUPLICATE_KEY", "E_NOT_FINITE", "E_SURROGATE"}


def test_mending_has_the_same_limits():
    """Depth and digits."""
    with pytest.raises(StrictJsonError) as caught:
        read("[[[1]]]", levels=2, mended={})
    assert caught.value.code == DEPTH
    with pytest.raises(StrictJsonError, match="digits"):
        read("9" * 400, mended={})
