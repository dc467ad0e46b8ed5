"""What an agent remembers of its own run: items with any fields, the list of them, and its JSON."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience import DataError, UsageError
from ufo_experience.session import Memory, MemoryItem

NAMES = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


class Status(Enum):
    SUCCESS = "success"
    FAILURE = "failure"


@dataclass
class Result:
    status: Status


@dataclass
class ShellItem(MemoryItem):
    shell: str = "bash"


def items(*steps: Any) -> Memory:
    memory = Memory()
    for step in steps:
        memory.add_memory_item(MemoryItem(step=step))
    return memory


def test_an_item_takes_any_fields_and_no_two_items_share_them():
    """From the constructor, by `set_value`, by assigning; `del` takes one away."""
    item, other = MemoryItem(step=1, action="click"), MemoryItem(step=2)
    item.set_value("cost", 0.5)
    item.text = "Hello"
    item.add_values_from_dict({"action": "type"})
    del item.cost
    assert item.to_dict() == {"step": 1, "action": "type", "text": "Hello"}
    assert (item.attributes, other.attributes) == (["step", "action", "text"], ["step"])


def test_fields_are_read_one_by_one_or_by_a_list_of_names():
    """A missing one is None, or left out by `filter`; reading it as an attribute is an error."""
    item = MemoryItem(step=1, action="click")
    assert (item.get_value("step"), item.get_value("none")) == (1, None)
    assert item.get_values(["step", "none"]) == {"step": 1, "none": None}
    assert (item.filter(["none", "step"]), item.filter()) == ({"step": 1}, {})
    with pytest.raises(AttributeError):
        _ = item.none
    with pytest.raises(UsageError, match="named by a string"):
        item.set_value(1, "x")


def test_a_field_may_be_named_like_a_method():
    """The memory it is in works as before."""
    memory = Memory()
    memory.from_list_of_dicts([{"filter": 1, "set_value": 2, "get_value": 3, "to_dict": 4, "step": 5}])
    assert memory.filter_memory_from_keys(["filter"]) == [{"filter": 1}]
    assert memory.filter_memory_from_steps([5]) == memory.list_content


def test_a_dataclass_may_be_an_item():
    """Its defaults are fields."""
    item = ShellItem()
    item.output = "ok"
    assert item.to_dict() == {"shell": "bash", "output": "ok"}


@given(st.lists(st.dictionaries(NAMES, JSON, max_size=3), max_size=3))
def test_a_memory_comes_back_from_its_json(data):
    """Whatever JSON can hold."""
    memory, again = Memory(), Memory()
    memory.from_list_of_dicts(data)
    again.from_list_of_dicts(json.loads(memory.to_json()))
    assert again.content == memory.content == [MemoryItem(**fields) for fields in data]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Status.SUCCESS, "success"),
        (Result(Status.FAILURE), {"status": "failure"}),
        (datetime(2025, 11, 5, tzinfo=timezone.utc), "2025-11-05T00:00:00Z"),
        (math.nan, "NaN"),
        ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
        ((1, {2}), [1, [2]]),
        (ValueError("text"), "text"),
    ],
)
def test_what_json_has_no_form_for_gets_one(value, form):
    """In memory the value stays itself."""
    item = MemoryItem(value=value)
    assert item.value is value
    assert json.loads(item.to_json()) == {"value": form}


def test_a_value_that_contains_itself_is_a_typed_error_and_half_a_character_is_none():
    """What is written can always be encoded."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(DataError, match="no JSON form"):
        MemoryItem(value=loop).to_json()
    assert MemoryItem(value="ü").to_json() == '{"value": "ü"}'
    assert json.loads(MemoryItem(value="\ud83d").to_json().encode("utf-8")) == {"value": "\ud83d"}


def test_items_are_added_in_order_and_lists_given_out_are_copies():
    """content, get_all, list_content and to_list_of_dicts all see them."""
    memory = items(1, 2)
    memory.content.clear()
    memory.list_content[0]["step"] = 9
    assert [item.step for item in memory.get_all()] == [1, 2]
    assert memory.to_list_of_dicts() == memory.list_content == [{"step": 1}, {"step": 2}]
    assert (memory.length, memory.is_empty(), Memory().is_empty()) == (2, False, True)


def test_the_latest_items_are_given_oldest_first():
    """0 gives none, more than there are gives all, less than 0 is refused."""
    memory = items(1, 2, 3)
    assert [[item.step for item in memory.get_latest(n)] for n in (0, 2, 9)] == [[], [2, 3], [1, 2, 3]]
    assert (memory.get_latest_item().step, Memory().get_latest_item()) == (3, None)
    with pytest.raises(UsageError, match="negative"):
        memory.get_latest(-1)


def test_items_are_deleted_and_filtered_by_step():
    """Those without a step are none of them."""
    memory = items(1, 2, 2)
    memory.add_memory_item(MemoryItem(text="no step"))
    assert memory.filter_memory_from_steps([2, 7]) == [{"step": 2}, {"step": 2}]
    memory.delete_memory_item(2)
    assert memory.list_content == [{"step": 1}, {"text": "no step"}]


def test_items_are_filtered_by_their_status_or_that_of_their_results():
    """Enums, texts of any case, result objects and dicts all count."""
    memory = Memory()
    for fields in (
        {"status": "SUCCESS"},
        {"results": [Result(Status.SUCCESS)]},
        {"results": {"status": "failure"}},
        {},
    ):
        memory.add_memory_item(MemoryItem(**fields))
    assert len(memory.filter_by_status(Status.SUCCESS)) == len(memory.filter_by_status("success")) == 2
    assert len(memory.filter_by_status("Failure")) == 1


def test_costs_are_summed_also_of_what_was_dropped():
    """The money is spent; what is no number costs nothing."""
    memory = Memory(2)
    for cost in (0.5, None, "1", math.nan, True, 0.25):
        memory.add_memory_item(MemoryItem(cost=cost))
    assert (memory.get_total_cost(), memory.length) == (0.75, 2)
    memory.clear()
    assert (memory.get_total_cost(), memory.is_empty()) == (0.0, True)


def test_the_limit_may_be_set_by_the_class_and_is_at_least_one():
    """The newest stay, with `load` too."""

    class Short(Memory):
        MAX_ITEMS = 2

    memory = Short()
    memory.load([MemoryItem(step=step) for step in range(5)])
    assert [item.step for item in memory.content] == [3, 4]
    with pytest.raises(UsageError, match="at least one"):
        Memory(0)


@pytest.mark.parametrize("data", [{"a": 1}, "text", [1], [{1: 2}], [{"a": 1}, None]])
def test_what_is_no_list_of_items_is_refused_and_changes_nothing(data):
    """Also by `load` and `add_memory_item`."""
    memory = items(1)
    with pytest.raises(DataError):
        memory.from_list_of_dicts(data)
    with pytest.raises(UsageError, match="MemoryItem"):
        memory.load([MemoryItem(), "text"])
    with pytest.raises(UsageError, match="MemoryItem"):
        memory.add_memory_item({"step": 2})
    assert memory.list_content == [{"step": 1}]


def test_eight_threads_lose_nothing():
    """Kept and dropped are what was added, costs are exact."""
    memory = Memory(500)

    def add() -> None:
        for _ in range(200):
            memory.add_memory_item(MemoryItem(cost=0.5))
            memory.to_list_of_dicts()

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (memory.length, memory.get_total_cost()) == (500, 800.0)
