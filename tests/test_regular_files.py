"""Reading what somebody names: regular files of a bounded size, whole."""

from __future__ import annotations

import os
import sys

import pytest

from ufo_experience.errors import DataError
from ufo_experience.store.files import NOT_A_FILE, TOO_LARGE, UNREADABLE, read_lines, read_regular


def test_a_file_of_the_limit_is_read_and_one_byte_more_is_not(tmp_path):
    """The limit is in bytes."""
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(DataError, match="larger than 4 bytes") as caught:
        read_regular(path, 4)
    assert (caught.value.code, caught.value.file) == (TOO_LARGE, str(path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes of this kind")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    """Nobody writes into it: opening it would hang."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError) as caught:
        read_regular(tmp_path / "pipe", 10)
    assert caught.value.code == NOT_A_FILE


@pytest.mark.parametrize("name", ["missing", "a\0b"])
def test_what_cannot_be_opened_is_named_with_the_error_asked_for(tmp_path, name):
    """A reader of logs raises its own error."""
    with pytest.raises(DataError) as caught:
        read_regular(tmp_path / name, 10, error=DataError)
    assert caught.value.code == UNREADABLE


def test_lines_are_numbered_and_blank_ones_left_out(tmp_path):
    """As an editor numbers them; a byte order mark is passed over."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbfone\n\n \ntwo")
    assert list(read_lines(path, 100)) == [(1, "one"), (4, "two")]


def test_lines_that_are_not_utf8_name_the_file(tmp_path):
    """With the place of the first wrong byte."""
    (tmp_path / "a").write_bytes(b"ab\xff")
    with pytest.raises(DataError, match="byte 2"):
        read_lines(tmp_path / "a", 100)
