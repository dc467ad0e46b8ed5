"""What a hostile service, file or page sends: bounded, refused, and never written into somebody else's file."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import process_time
from types import FunctionType, ModuleType

import pytest

from tests.builders import a_record, a_record_of, memory_of
from tests.openai_stub import FakeTime, Fault, OpenAIStub, Reply, edited
from ufo_experience.fileio.disk import Disk
from ufo_experience.redact import redact_text
from ufo_experience.redact.keystrokes import is_chord
from ufo_experience.redact.vault import slot_type
from ufo_experience.retrieve import known_texts
from ufo_experience.schema import Experience
from ufo_experience.service import connection
from ufo_experience.service.client import QUERY, OpenAIService
from ufo_experience.service.errors import OpenAICallError
from ufo_experience.service.limits import CircuitBreaker
from ufo_experience.service.settings import OpenAISettings
from ufo_experience.trust.risk import risks
from ufo_experience.trust.values import presentable

MORE = {"Content-Type": "application/json"}


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as server:
        yield server


def raw(body: bytes, **headers: str) -> Fault:
    """A success whose body is these bytes."""
    return lambda reply: Reply(
        raw=body, headers=MORE | {name.replace("_", "-"): value for name, value in headers.items()}
    )


def fault_of(stub: OpenAIStub, chat: bool = False) -> OpenAICallError:
    fake = FakeTime()
    settings = OpenAISettings(api_key="sk-test", base_url=stub.url)
    service = OpenAIService(settings, breaker=CircuitBreaker(clock=fake.clock), clock=fake.clock, sleep=fake.sleep)
    messages = [{"role": "user", "content": "x"}]
    ask = {
        True: lambda client: client.chat.completions.parse(model="m", messages=messages),
        False: lambda client: client.embeddings.create(model="m", input=["a"]),
    }[chat]
    with pytest.raises(OpenAICallError) as caught:
        service.call(ask, QUERY, what="the test")
    return caught.value


def test_a_reply_is_read_up_to_a_limit_only(stub, monkeypatch):
    monkeypatch.setattr(connection, "MAX_REPLY", 10_000)
    stub.play(raw(b'{"data": "' + b"x" * 50_000 + b'"}'))
    assert fault_of(stub).code == "E_BAD_REPLY"


def test_a_compressed_reply_is_not_unpacked(stub):
    """None is asked for, so a small reply that would become a huge one is refused as it is."""
    stub.play(raw(gzip.compress(b"{" + b" " * 1_000_000 + b"}"), Content_Encoding="gzip"))
    assert fault_of(stub).code == "E_BAD_REPLY"
    assert stub.requests[0].headers["accept-encoding"] == "identity"


def test_a_reply_that_is_nested_without_end_is_refused(stub):
    stub.play(raw(b'{"a":' * 5_000 + b"1" + b"}" * 5_000))
    assert fault_of(stub).code == "E_BAD_REPLY"


@pytest.mark.parametrize("shape", [{"choices": None}, {"choices": [{"index": 0, "message": None}]}])
def test_a_reply_without_its_parts_is_an_error_of_the_service(stub, shape):
    stub.play(edited(lambda data: data.update(shape)))
    assert fault_of(stub, chat=True).code in ("E_BAD_CONTENT", "E_BAD_REPLY")


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


ASKING = """
import sys
from ufo_experience.errors import ExperienceError
from ufo_experience.service.client import QUERY, OpenAIService
from ufo_experience.service.settings import OpenAISettings

service = OpenAIService(OpenAISettings(api_key="sk-test", base_url=sys.argv[1]))
try:
    service.call(lambda client: client.embeddings.create(model="m", input=["a"]), QUERY, what="the test")
except ExperienceError as error:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(error.code, int(peak.split()[1]) // 1024)
"""
HUGE = {
    "600 MB": lambda: raw(b'{"data": "' + b"x" * 600_000_000 + b'"}'),
    "1 GB in gzip": lambda: raw(gzip.compress(b"{" + b" " * 1_000_000_000 + b"}", 9), Content_Encoding="gzip"),
    "a string of 41 MB": lambda: raw(b'{"data": "' + b"x" * 41_000_000 + b'"}'),
    "41 MB of numbers": lambda: raw(b'{"data": [' + b"0.5," * 10_250_000 + b"0]}"),
    "41 MB of strings": lambda: raw(b'{"data": [' + b'"a",' * 10_250_000 + b"0]}"),
    "41 MB of objects": lambda: raw(b'{"data": [' + b"{}," * 13_600_000 + b"0]}"),
    "a million levels": lambda: raw(b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000),
}


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no such count here")
@pytest.mark.parametrize("name", HUGE)
def test_no_reply_takes_more_than_two_hundred_megabytes(name, stub):
    """Peak of resident memory of a process that asks once and is answered like this."""
    stub.play(HUGE[name]())
    line = [sys.executable, "-c", ASKING, stub.url]
    done = subprocess.run(line, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=120)
    code, megabytes = done.stdout.split()
    assert (code[:6], done.stderr) == ("E_BAD_", "")
    assert int(megabytes) < 200, f"{megabytes} MB"
    print(name, megabytes)
