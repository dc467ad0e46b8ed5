"""Opposites are never served for each other: the labelled pairs of `data/pairs.jsonl`, through the façade."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.builders import a_record_of, memory_of
from ufo_experience.request import Request
from ufo_experience.retrieve.opposites import conflict

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "data" / "pairs.jsonl").read_text("utf-8").splitlines()]
BOUNDS = {"development": (80, 74), "heldout": (49, 49), "fresh": (28, 24), "fourth": (58, 60), "fifth": (33, 39)}


def test_the_rule_finds_opposites_and_leaves_rewordings_alone():
    """In either direction, on every set of pairs."""
    found: Counter[tuple[str, bool]] = Counter()
    for pair in PAIRS:
        one, other = Request.parse(pair["a"]), Request.parse(pair["b"])
        says = conflict(one, other) is None
        assert says is (conflict(other, one) is None), pair
        found[pair["set"], pair["same"]] += says is pair["same"]
    for name, (opposites, same) in BOUNDS.items():
        assert (found[name, False] >= opposites, found[name, True] >= same) == (True, True), name
    assert found["published", False] >= 63


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("Turn on Bluetooth", "Turn Bluetooth off"),
        ("Save before closing", "Close without saving"),
        ("Pin the tab", "Unpin the tab"),
        ("Underline the title", "Remove the underline from the title"),
        ("打开蓝牙", "关闭蓝牙"),
        ("Rotate the picture clockwise", "Rotate the picture counterclockwise"),
        ("Copy the photos from the USB stick to the desktop", "Copy the photos from the desktop to the USB stick"),
        ("Move the report to the cloud from the computer", "Move the report from the cloud to the computer"),
    ],
)
def test_an_opposite_is_withheld_and_named(tmp_path, stored, asked):
    found = memory_of(tmp_path / "db", a_record_of(stored)).retrieve(asked, threshold=0.0)
    assert (list(found), found.withheld_why) == ([], ("contradicts",))


def test_values_are_no_opposites(tmp_path):
    """What stands in quotes or is a name may be anything."""
    found = memory_of(tmp_path / "db", a_record_of('Write "left" into the title')).retrieve(
        'Write "right" into the title'
    )
    assert len(found) == 1


def test_where_from_and_where_to_may_be_values(tmp_path):
    """Names are exchanged freely: the way is the same."""
    memory = memory_of(tmp_path / "db", a_record_of("Find a flight from Berlin to Paris"))
    assert len(memory.retrieve("Find a flight from Paris to Berlin")) == 1
