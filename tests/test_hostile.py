"""What a hostile service, file or page sends: bounded, refused, and never written into somebody else's file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from time import process_time
from types import FunctionType, ModuleType

import pytest

from tests.builders import a_record, a_record_of, memory_of
from tests.openai_stub import OpenAIStub
from ufo_experience.fileio.disk import Disk
from ufo_experience.redact import redact_text
from ufo_experience.redact.keystrokes import is_chord
from ufo_experience.redact.vault import slot_type
from ufo_experience.retrieve import known_texts
from ufo_experience.schema import Experience
from ufo_experience.trust.risk import risks
from ufo_experience.trust.values import presentable

MORE = {"Content-Type": "application/json"}


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as server:
        yield server


@pytest.mark.skipif(os.name == "nt", reason="no pipes among files")
def test_nothing_is_appended_to_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "audit.jsonl")
    with pytest.raises(OSError, match=r"regular file of its own|No such device"):
        Disk().append(tmp_path / "audit.jsonl")


@pytest.mark.skipif(os.name == "nt", reason="other links")
def test_nothing_is_appended_to_a_file_with_another_name(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    os.link(victim, tmp_path / "changed")
    with pytest.raises(OSError, match=r"regular file of its own|No such device"):
        Disk().append(tmp_path / "changed")
    assert victim.read_text(encoding="utf-8") == "mine"


def _record(text: str) -> Experience:
    step = {
        "step_number": 1,
        "action_type": "click",
        "target_control": {"name": text[:8000]},
        "parameters": {"t": text},
    }
    return a_record(1, action={"steps": [step]})


def _show(text: str) -> None:
    presentable(_record(text), "do it")


def _risks(text: str) -> None:
    risks(_record(text))


HOSTILE = ("a", "0", ".", "^", "a.", "http://", "\n", "(", "password ", "-p ", "1 a", "а", "code 1 ", "^(", "x_pw=")


@pytest.mark.parametrize("seed", HOSTILE, ids=repr)
@pytest.mark.parametrize("look", [redact_text, slot_type, is_chord, _show, _risks], ids=lambda one: one.__name__)
def test_no_text_costs_more_than_in_proportion_to_its_length(look, seed):
    """Four times the text in at most ten times the processor time; a quadratic pattern takes sixteen."""
    number = count()  # of the call: what was looked at once may be remembered

    def cost(length: int, times: int) -> float:
        text, best = (seed * length)[:length], float("inf")
        for _ in range(times):
            begun = process_time()
            look(f"{text}{next(number)}")
            best = min(best, process_time() - begun)
        return best

    short = cost(4_000, times=2)
    assert cost(16_000, times=1) < 10 * short + 0.02 or cost(16_000, times=3) < 10 * short + 0.02


def _held_by_caches(word: str) -> bool:
    """True when a text with this word is an argument or answer some cache of the process keeps."""
    import gc

    gc.unfreeze()  # what was imported before is looked at, too
    kept = [one for one in gc.get_objects() if type(one).__name__ in ("_lru_cache_wrapper", "_Answers")]
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
    """Caches are bounded in characters, too: what is longer than a thousand is not kept at all."""
    one = a_record_of("Wire the zanzibar invoice to Zoe", session="s1")
    with memory_of(tmp_path / "db", one, a_record_of("Turn on Bluetooth", session="s2")) as memory:
        memory.build_prompt("Wire the zanzibar invoice to Zoe")
        memory.retrieve("Wire the kilimanjaro invoice. " * 200)
        assert _held_by_caches("zanzibar")
        assert not _held_by_caches("kilimanjaro invoice. ")  # a clause of it may be
        memory.purge("s1")
        assert not _held_by_caches("zanzibar")


def _is_reached(word: str, root: object) -> bool:
    """True when a text with this word can be reached from an object."""
    import gc

    seen: set[int] = set()
    level = [root]
    while level:
        if any(isinstance(item, str) and word in item for item in level):
            return True
        seen |= {id(item) for item in level}
        level = [
            item
            for item in gc.get_referents(*level)
            if id(item) not in seen and not isinstance(item, (type, ModuleType, FunctionType))
        ]
    return False


def test_after_a_purge_what_is_kept_between_questions_does_not_hold_the_text(tmp_path):
    """Texts of rows, decoded records and what runs agree on are kept with a generation, and go with it."""
    one = a_record_of("Wire the zanzibar invoice to Zoe", session="s1")
    with memory_of(tmp_path / "db", one, a_record_of("Turn on Bluetooth", session="s2")) as memory:
        task = "Wire the invoice to Zoe"
        memory.build_prompt(task, memory.retrieve(task))
        finder = memory.wiring.finder()
        assert _is_reached("zanzibar", finder.texts)
        memory.purge("s1")
        assert memory.wiring.finder() is not finder
        memory.retrieve(task)
        assert not _is_reached("zanzibar", memory.wiring)


def test_what_is_kept_of_the_texts_of_a_store_is_bounded(tmp_path, monkeypatch):
    """All is forgotten before more is kept than is allowed."""
    tasks = [f"Open the report of week {number} for branch {number * 7}" for number in range(20)]
    monkeypatch.setattr(known_texts, "MAX_CHARS", 200)
    with memory_of(tmp_path / "db", *(a_record_of(task, session=task) for task in tasks)) as memory:
        for task in tasks:
            assert memory.retrieve(task)
        kept = memory.wiring.finder().texts._kept
        assert sum(map(len, (text for row in kept.of_row.values() for text in row.parts))) < 400


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no such count here")
def test_a_process_that_answers_for_long_does_not_grow():
    """A small piece of the campaign; 10,000 questions: `python -m tools.endurance`."""
    from tools.endurance import main

    assert main(["--questions", "1000"]) == 0
