"""`MemoryItem`, `Memory`, and the JSON form of what they hold."""

from __future__ import annotations

import copy
import json
import threading
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from ufo_experience.errors import DataError, SchemaError, UsageError
from ufo_experience.schema import MAX_DEPTH
from ufo_experience.session import Memory, MemoryItem
from ufo_experience.session.files import dump, plain

RESERVED = [name for name in vars(MemoryItem) if not name.startswith("_")]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.text(max_size=8) | st.sampled_from(RESERVED)
fields = st.dictionaries(keys, json_values, max_size=5)


class ResultStatus(Enum):
    SUCCESS = "success"
    FAILURE = "failure"


class Shade(str, Enum):
    DARK = "dark"


class Rank(IntEnum):
    FIRST = 1


@dataclass
class Result:
    status: ResultStatus
    result: Any = None


class Account(BaseModel):
    name: str
    password: str = Field(default="", exclude=True)


@dataclass(eq=False)
class ShellItem(MemoryItem):
    shell_output: str = ""
    exit_code: int = 0


def steps(*numbers: int) -> Memory:
    memory = Memory()
    for number in numbers:
        memory.add_memory_item(MemoryItem(step=number, action=f"act{number}"))
    return memory


# ---- MemoryItem


def test_an_item_takes_any_fields_from_its_constructor() -> None:
    """Keyword arguments become fields, readable as attributes and with get_value."""
    item = MemoryItem(step=3, action="click", arguments={"id": "ok"})
    assert (item.step, item.get_value("action"), item.arguments) == (3, "click", {"id": "ok"})


def test_set_value_adds_and_replaces_a_field() -> None:
    """The second value wins and the field is listed once."""
    item = MemoryItem()
    item.set_value("cost", 1)
    item.set_value("cost", 2)
    assert item.to_dict() == {"cost": 2}
    assert item.attributes == ["cost"]


def test_an_assigned_attribute_is_a_field() -> None:
    """`item.screenshot = path` reaches to_dict, and `del` takes it away again."""
    item = MemoryItem()
    item.screenshot = "step_3.png"
    assert item.to_dict() == {"screenshot": "step_3.png"}
    del item.screenshot
    assert item.attributes == []
    with pytest.raises(AttributeError):
        del item.screenshot


def test_items_do_not_share_their_fields() -> None:
    """A field of one item does not appear in the attributes of the next."""
    MemoryItem(secret=1)
    assert MemoryItem(other=2).attributes == ["other"]


def test_get_value_of_a_missing_field_is_none() -> None:
    """Also for a name that is a method of the class."""
    assert MemoryItem().get_value("nothing") is None
    assert MemoryItem().get_value("to_dict") is None


def test_reading_a_missing_attribute_is_an_attribute_error() -> None:
    """Attribute access does not invent a None."""
    with pytest.raises(AttributeError, match="nothing"):
        _ = MemoryItem(step=1).nothing


def test_get_values_gives_none_for_missing_fields() -> None:
    """Every key asked for is in the answer."""
    assert MemoryItem(a=1).get_values(["b", "a"]) == {"b": None, "a": 1}


def test_filter_gives_only_fields_that_exist() -> None:
    """Missing keys are left out, and no keys give nothing."""
    item = MemoryItem(a=1, b=2)
    assert item.filter(["b", "c"]) == {"b": 2}
    assert item.filter() == {}


def test_add_values_from_dict_keeps_the_other_fields() -> None:
    """Fields named are replaced, others stay."""
    item = MemoryItem(a=1, b=2)
    item.add_values_from_dict({"b": 3, "c": 4})
    assert item.to_dict() == {"a": 1, "b": 3, "c": 4}


@pytest.mark.parametrize("name", RESERVED)
def test_a_field_may_be_named_like_a_method_without_breaking_it(name: str) -> None:
    """The field is kept, the method still works, and assigning over the method is refused."""
    item = MemoryItem(**{name: "mine"})
    assert item.get_value(name) == "mine"
    assert item.to_dict() == {name: "mine"}
    assert item.filter([name]) == {name: "mine"}
    with pytest.raises(AttributeError, match="set_value"):
        setattr(item, name, "mine")


def test_a_private_attribute_is_not_a_field() -> None:
    """An underscore name stays out of to_dict."""
    item = MemoryItem()
    item._note = "x"
    assert (item._note, item.to_dict()) == ("x", {})


def test_a_field_name_must_be_text() -> None:
    """JSON has no other keys."""
    with pytest.raises(UsageError, match="int"):
        MemoryItem().from_dict({1: "a"})  # type: ignore[dict-item]


def test_a_dataclass_subclass_has_fields_with_defaults() -> None:
    """Defaults and later values both are fields."""
    item = ShellItem(shell_output="ok")
    item.exit_code = 2
    assert item.to_dict() == {"shell_output": "ok", "exit_code": 2}
    assert item.exit_code == 2


def test_a_copy_has_fields_of_its_own() -> None:
    """copy and deepcopy give independent items of the same class."""
    item = ShellItem(shell_output="ok")
    for twin in (copy.copy(item), copy.deepcopy(item)):
        twin.set_value("shell_output", "changed")
        assert isinstance(twin, ShellItem)
    assert item.shell_output == "ok"


def test_items_with_equal_fields_are_equal() -> None:
    """Equality compares the fields, not only the type."""
    assert MemoryItem(a=1) == MemoryItem(a=1)
    assert MemoryItem(a=1) != MemoryItem(a=2)
    assert MemoryItem(a=1) != {"a": 1}
    assert repr(MemoryItem(a=1)) == "MemoryItem(a=1)"


@given(fields)
def test_an_item_comes_back_from_its_json(data: dict[str, Any]) -> None:
    """from_dict of the parsed to_json gives an equal item, whatever JSON can hold."""
    item, twin = MemoryItem(**data), MemoryItem()
    twin.from_dict(json.loads(item.to_json()))
    assert twin == item
    assert list(twin.to_dict()) == list(data)


# ---- Memory


def test_add_memory_item_appends() -> None:
    """content, length, get_all, list_content and to_list_of_dicts all see it, oldest first."""
    memory = steps(1, 2)
    as_dicts = [{"step": 1, "action": "act1"}, {"step": 2, "action": "act2"}]
    assert memory.length == 2
    assert [item.step for item in memory.content] == [1, 2]
    assert memory.get_all() == memory.content
    assert memory.list_content == as_dicts
    assert memory.to_list_of_dicts() == as_dicts


def test_only_items_are_taken() -> None:
    """Anything else is refused, by load too, which then changes nothing."""
    memory = steps(1)
    with pytest.raises(UsageError, match="dict"):
        memory.add_memory_item({"step": 1})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="str"):
        memory.load([MemoryItem(step=2), "x"])  # type: ignore[list-item]
    assert [item.step for item in memory.content] == [1]


def test_memories_do_not_share_their_content() -> None:
    """A new memory is empty whatever another one holds."""
    assert not steps(1).is_empty()
    assert Memory().is_empty()


def test_lists_given_out_and_taken_in_are_copies() -> None:
    """Changing them does not change the memory."""
    memory, source = Memory(), [MemoryItem(step=1)]
    memory.load(source)
    source.clear()
    memory.content.clear()
    memory.list_content[0]["step"] = 9
    assert memory.to_list_of_dicts() == [{"step": 1}]


def test_get_latest_gives_the_newest_oldest_first() -> None:
    """0 gives none, more than there are gives all, less than 0 is refused."""
    memory = steps(1, 2, 3)
    assert [item.step for item in memory.get_latest(2)] == [2, 3]
    assert [item.step for item in memory.get_latest()] == [3]
    assert memory.get_latest(0) == []
    assert len(memory.get_latest(9)) == 3
    with pytest.raises(UsageError):
        memory.get_latest(-1)


def test_get_latest_item_is_the_newest_or_none() -> None:
    """An empty memory has no latest item."""
    assert Memory().get_latest_item() is None
    assert steps(1, 2).get_latest_item() == MemoryItem(step=2, action="act2")


def test_filter_memory_from_keys_ignores_missing_keys() -> None:
    """Every item is in the answer, with the keys it has."""
    memory = Memory()
    memory.load([MemoryItem(a=1, b=2), MemoryItem(b=3), MemoryItem(a=4)])
    assert memory.filter_memory_from_keys(key for key in ("a", "c")) == [{"a": 1}, {}, {"a": 4}]


def test_filter_memory_from_steps_gives_those_steps() -> None:
    """An item without a step is not one of them, and breaks nothing."""
    memory = steps(1, 2, 3)
    memory.add_memory_item(MemoryItem(note="no step"))
    found = memory.filter_memory_from_steps(step for step in (3, 1))
    assert [item["step"] for item in found] == [1, 3]


def test_delete_memory_item_removes_that_step() -> None:
    """Every item of the step goes; items without a step stay."""
    memory = steps(1, 2, 2)
    memory.add_memory_item(MemoryItem(note="no step"))
    memory.delete_memory_item(2)
    assert memory.to_list_of_dicts() == [{"step": 1, "action": "act1"}, {"note": "no step"}]


def test_filter_by_status_looks_at_the_item_and_its_results() -> None:
    """Enums, texts of any case, result objects and result dicts all count."""
    memory = Memory()
    items = [
        MemoryItem(step=1, status="FAILURE"),
        MemoryItem(step=2, results=[Result(ResultStatus.SUCCESS), Result(ResultStatus.FAILURE)]),
        MemoryItem(step=3, results=[{"status": "failure"}]),
        MemoryItem(step=4, results=Result(ResultStatus.SUCCESS)),
        MemoryItem(step=5, results="failure"),
        MemoryItem(step=6),
    ]
    memory.load(items)
    assert [item.step for item in memory.filter_by_status(ResultStatus.FAILURE)] == [1, 2, 3]
    assert [item.step for item in memory.filter_by_status("Success")] == [2, 4]


def test_get_total_cost_sums_what_is_a_number() -> None:
    """None, text, NaN and True cost nothing."""
    memory = Memory()
    for cost in (0.5, 1, None, "2", float("nan"), True):
        memory.add_memory_item(MemoryItem(cost=cost))
    memory.add_memory_item(MemoryItem())
    assert memory.get_total_cost() == 1.5


def test_beyond_the_limit_the_oldest_is_dropped_and_counted() -> None:
    """The newest items stay, and the money spent on the dropped ones is still spent."""
    memory = Memory(max_items=2)
    for step in (1, 2, 3, 4):
        memory.add_memory_item(MemoryItem(step=step, cost=0.25))
    assert [item.step for item in memory.content] == [3, 4]
    assert (memory.dropped, memory.get_total_cost()) == (2, 1.0)


def test_the_limit_can_be_set_by_the_class() -> None:
    """A subclass's MAX_ITEMS holds, for load too."""

    class Short(Memory):
        MAX_ITEMS = 2

    memory = Short()
    memory.load([MemoryItem(step=step) for step in range(5)])
    assert [item.step for item in memory.content] == [3, 4]


def test_a_limit_below_one_is_refused() -> None:
    """A memory that can hold nothing is a mistake."""
    with pytest.raises(UsageError, match="at least one"):
        Memory(max_items=0)


def test_clear_forgets_everything() -> None:
    """Items, count of dropped ones, and cost."""
    memory = Memory(max_items=1)
    for _ in range(3):
        memory.add_memory_item(MemoryItem(cost=1))
    memory.clear()
    assert (memory.is_empty(), memory.length, memory.dropped, memory.get_total_cost()) == (True, 0, 0, 0)


@pytest.mark.parametrize("data", ["text", {"step": 1}, [{"step": 1}, "text"], [{1: 2}], None])
def test_from_list_of_dicts_refuses_other_shapes_and_keeps_the_content(data: Any) -> None:
    """A typed error, and what was there is still there."""
    memory = steps(7)
    with pytest.raises(SchemaError, match="must be"):
        memory.from_list_of_dicts(data)
    assert memory.list_content == [{"step": 7, "action": "act7"}]


@given(st.lists(fields, max_size=4))
def test_a_memory_comes_back_from_its_json(data: list[dict[str, Any]]) -> None:
    """from_list_of_dicts of the parsed to_json gives the same items."""
    memory, twin = Memory(), Memory()
    memory.from_list_of_dicts(data)
    twin.from_list_of_dicts(json.loads(memory.to_json()))
    assert twin.to_list_of_dicts() == data


def test_eight_threads_lose_nothing() -> None:
    """8 × 200 adds while readers read: all there, each thread's in its order, costs exact."""
    memory, start = Memory(), threading.Barrier(9)

    def write(worker: int) -> None:
        start.wait()
        for number in range(200):
            memory.add_memory_item(MemoryItem(worker=worker, number=number, cost=1))

    def read() -> None:
        start.wait()
        while memory.length < 1600:
            assert len(memory.to_list_of_dicts()) <= 1600

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
    threads.append(threading.Thread(target=read, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert memory.get_total_cost() == 1600
    for worker in range(8):
        assert [item.number for item in memory.content if item.worker == worker] == list(range(200))


def test_threads_at_the_limit_keep_count() -> None:
    """Kept plus dropped is what was added."""
    memory = Memory(max_items=50)

    def write() -> None:
        for _ in range(200):
            memory.add_memory_item(MemoryItem(cost=1))

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (memory.length, memory.dropped, memory.get_total_cost()) == (50, 1550, 1600)


# ---- the JSON form


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (ResultStatus.SUCCESS, "success"),
        (Shade.DARK, "dark"),
        (Rank.FIRST, 1),
        (True, True),
        (Result(ResultStatus.FAILURE, (1, 2)), {"status": "failure", "result": [1, 2]}),
        (Account(name="ann", password="hidden"), {"name": "ann"}),
        (datetime(2025, 11, 5, 10, tzinfo=timezone.utc), "2025-11-05T10:00:00+00:00"),
        (b"\x00\x01", "<2 bytes>"),
        ({"b", "a"}, ["a", "b"]),
        ({1: "a", Rank.FIRST.name: "b"}, {"1": "a", "FIRST": "b"}),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (PurePosixPath("logs/a.png"), "logs/a.png"),
        (deque([1]), "deque([1])"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_what_json_has_no_form_for_gets_a_defined_one(value: Any, form: Any) -> None:
    """In memory the value stays itself, in JSON it has this form."""
    item = MemoryItem(value=value)
    assert item.get_value("value") is value
    assert json.loads(item.to_json(), parse_constant=pytest.fail) == {"value": form}
    assert type(plain(value)) is type(form)


def test_a_value_that_contains_itself_is_a_typed_error() -> None:
    """Not a RecursionError."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(DataError, match="contains itself"):
        MemoryItem(loop=loop).to_json()


def test_nesting_is_allowed_up_to_the_limit() -> None:
    """MAX_DEPTH levels pass, one more does not."""
    nested: Any = []
    for _ in range(MAX_DEPTH - 1):
        nested = [nested]
    assert plain(nested) == nested
    with pytest.raises(DataError, match="deeper"):
        plain([nested])


def test_two_keys_with_one_text_are_a_typed_error() -> None:
    """Neither value is lost silently."""
    with pytest.raises(DataError, match="same text"):
        plain({1: "a", "1": "b"})


def test_text_stays_readable_and_lone_surrogates_are_escaped() -> None:
    """What is written can always be encoded as UTF-8."""
    assert dump("发送邮件") == '"发送邮件"'
    assert json.loads(dump("\ud800 é").encode("utf-8")) == "\ud800 é"
