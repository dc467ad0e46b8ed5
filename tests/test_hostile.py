"""What a hostile text costs, and what a purge leaves in memory: bounded, and nothing."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from time import process_time
from types import ModuleType

import pytest

from tests.builders import a_record_of, memory_of, open_memory
from ufo_experience import RecordFilter, redact_text

CLOCK_S = 0.002 if os.name == "posix" else 0.016  # no smaller time is told apart: on Windows one tick
HOSTILE = (
    "a",
    "0",
    ".",
    "^",
    "a.",
    "http://",
    "\n",
    "(",
    "password ",
    "-p ",
    "1 a",
    "а",
    "code 1 ",
    "^(",
    "x_pw=",
    "密码",
)


@pytest.mark.parametrize("seed", HOSTILE, ids=repr)
def test_no_text_costs_more_than_in_proportion_to_its_length(seed):
    """Four times the text in at most ten times the processor time; a quadratic pattern takes sixteen."""

    def cost(length: int) -> float:
        began = process_time()
        redact_text((seed * length)[:length])
        return process_time() - began

    redact_text(seed)  # the data is read, the patterns are compiled
    least = min(cost(2_000 + n) for n in range(3))
    assert any(cost(8_000 + n) < 10 * max(least, CLOCK_S) for n in range(3))


def _held_by_caches(word: str) -> bool:
    """True when a text with this word is an argument or answer some cache of the process keeps."""
    ours = [
        one for name, module in [*sys.modules.items()] if name.startswith("ufo_exp") for one in vars(module).values()
    ]
    ours += [part for one in ours if isinstance(one, type) for part in vars(one).values()]
    kept = {id(one): one for one in ours if isinstance(one, type(cache(len)))}.values()
    seen, level = set(), [item for one in kept for item in gc.get_referents(one)]
    for _ in range(4):
        level = [item for item in level if id(item) not in seen and not isinstance(item, (type, ModuleType))]
        seen |= {id(item) for item in level}
        if any(isinstance(item, str) and word in item for item in level):
            return True
        level = [
            x for item in level if not isinstance(item, str) and not callable(item) for x in gc.get_referents(item)
        ]
    return False


def test_after_a_purge_no_cache_of_the_process_holds_the_text(tmp_path):
    """Whatever was asked, learned and shown."""
    one = a_record_of("Wire the zanzibar invoice to Zoe", session="s1")
    with memory_of(tmp_path / "db", one, a_record_of("Turn on Bluetooth", session="s2")) as memory:
        memory.build_prompt("Wire the zanzibar invoice to Zoe")
        assert _held_by_caches("zanzibar")
        memory.purge("s1")
        assert not _held_by_caches("zanzibar")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no such count here")
def test_a_process_that_answers_for_long_does_not_grow():
    """A small piece of the campaign; 10,000 questions: `python -m tools.endurance`."""
    from tools.endurance import main

    assert main(["--questions", "1000"]) == 0


@pytest.mark.parametrize(
    "where",
    [
        {"failure_reason": "Jane Doe was on leave", "success": False},
        {"wordings": ["Greet Jane Doe"]},
        {"session": "Jane Doe, Tuesday"},
        {"steps": [{"action": "click", "control": "Hello", "within": "Row of Jane Doe"}]},
    ],
)
def test_a_person_is_found_and_erased_wherever_a_record_names_her(tmp_path, where):
    """`purge --search` looks at every text of a record, or a person stays though the answer says that nothing fits."""
    memory = open_memory(tmp_path / "db")
    given = {"steps": [{"action": "click", "control": "Hello", "control_type": "Button"}], "success": True} | where
    memory.remember("Say hello", **given)
    assert any(b"Jane" in path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file())
    assert len(memory.purge(where=RecordFilter(search="jane doe"))) == 1
    assert not any(b"Jane" in path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file())
