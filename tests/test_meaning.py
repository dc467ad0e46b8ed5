"""Vectors of words: what they tell, and how they are learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tools.make_meanings import FOLDER, Learning, digest_of, learned, read_lines, share_found, write
from ufo_experience.retrieve.meant import compare_meanings
from ufo_experience.text.frames import request_frame
from ufo_experience.retrieve.meaning import FILE, Said, meanings


def said(text: str) -> Said:
    """The words of a request."""
    return meanings().said(request_frame(text))


def cosine(one: str, other: str) -> float:
    """Of the vectors of two requests."""
    first, second = meanings().vectors([said(one), said(other)])
    return float(first @ second)


@pytest.mark.parametrize(
    ("task", "reworded", "stranger"),
    [
        ("reserve a conference room", "book us somewhere to meet", "rename the worksheet"),
        ("silence the group chat", "no more pings out of that conversation", "share the group chat"),
        ("turn the sheet to landscape", "wide pages please", "print the sheet twice"),
        ("delete the browsing history", "wipe my traces on this web", "open the bookmarks"),
    ],
)
def test_a_task_in_other_words_is_nearer_than_another_task(task, reworded, stranger):
    """Though it shares no word with it."""
    assert set(said(task).places).isdisjoint(said(reworded).places)
    assert cosine(task, reworded) > cosine(task, stranger)


def test_values_have_no_say_in_a_vector():
    """Neither quoted text nor numbers."""
    one, other = 'rename the sheet to "Budget"', 'rename the sheet to "Trash 2024"'
    assert cosine(one, other) == pytest.approx(1.0, abs=1e-5)


def test_a_word_that_is_not_in_the_phrase_book_is_like_itself_alone():
    """So requests in another language are near where they share words."""
    assert cosine("abwesenheitsnotiz stummschalten", "bitte abwesenheitsnotiz stummschalten") > 0.7
    assert abs(cosine("abwesenheitsnotiz stummschalten", "besprechungsraum reservieren")) < 0.3


def test_a_name_among_known_words_is_not_heard():
    """Up to a third of what is said."""
    assert cosine("share the photo album with Okafor", "share the photo album") > 0.98


def test_a_request_of_unknown_words_has_no_nearest_words():
    """There is nothing to start from."""
    assert meanings().nearest(said("xyzzy plugh"), 8) == []


def test_the_nearest_words_are_those_of_the_greatest_cosines():
    """As comparing all of them says."""
    request = said("get rid of the picture")
    every = meanings().units[:-1] @ meanings().vectors([request])[0]
    found = meanings().nearest(request, 8)
    assert [one for _, one in found] == pytest.approx(sorted(every.tolist(), reverse=True)[:8], abs=1e-4)


def test_the_clause_and_the_wording_that_are_nearest_are_compared():
    """Of a long request, and of a record with other wordings."""
    clauses = [said("the meeting was dull"), said("silence this conversation")]
    records = {"mute": [said("turn down the radio"), said("mute the chat")], "print": [said("print the page")]}
    found = compare_meanings(clauses, records)
    alone = compare_meanings(clauses[1:], {"mute": records["mute"][1:]})
    assert found["mute"] == alone["mute"]
    assert found["mute"].meaning > found["print"].meaning


def test_a_word_without_a_counterpart_is_told():
    """The rest of the request may be all there."""
    records = {"row": [said("hide a row")], "column": [said("hide a column")]}
    found = compare_meanings([said("hide a column")], records)
    assert found["column"].meaning_least == pytest.approx(1.0, abs=1e-3)
    assert found["row"].meaning_least < 0.6


def test_the_vectors_were_learned_from_the_phrase_book():
    """`tools/make_meanings.py` was run."""
    with np.load(FILE, allow_pickle=False) as file:
        assert file["learned_from"].tobytes() == digest_of(FOLDER)


@pytest.fixture
def small(tmp_path):
    """A phrase book of a few lines, the first of them in two parts."""
    lines = ["mute a chat | silence a talk | quiet a group", "print a page | put it on paper | run off a sheet"]
    more = ["mute a chat | hush a group", "zoom in | enlarge it | make it larger | closer look"]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(more), encoding="utf-8")
    return tmp_path


def test_lines_with_the_same_first_phrase_are_one(small):
    """They ask for one procedure."""
    assert [len(line) for line in read_lines(small)] == [4, 3, 4]


def test_phrases_of_a_line_come_near_each_other(small, tmp_path):
    """Also words that never stand together; and the file holds what was learned."""
    names, vectors = learned(read_lines(small), replace(Learning(), epochs=60, dim=8))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    one, other, stranger = (units[names.index(word)] for word in ("mut", "hush", "paper"))
    assert one @ other > one @ stranger
    write(names, vectors, tmp_path / "small.npz", b"digest")
    with np.load(tmp_path / "small.npz") as file:
        assert file["words"].tobytes().decode().split("\n") == names
        np.testing.assert_allclose(file["vectors"] * file["scale"][:, None], vectors, atol=np.abs(vectors).max() / 100)


def test_a_phrase_that_was_kept_back_finds_its_line(small):
    """Both shares are told."""
    first, five = share_found(read_lines(small), replace(Learning(), epochs=30, dim=8))
    assert 0 <= first <= five == 1
