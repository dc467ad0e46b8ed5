"""No record reaches a store unredacted, by whichever door it comes; a redacted one stays as it is."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ufo_experience.store.folder.store import FileStore

from tests.builders import a_record
from tests.disks import UnsyncedDisk, tree
from ufo_experience import ExperienceMemory
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.ids import content_id
from ufo_experience.integrations.memory_article import record_experience
from ufo_experience.redact import redact, redact_record
from ufo_experience.schema import Experience
from ufo_experience.settings import Settings
from ufo_experience.store.records import decode_record, encode_record, experience_of
from ufo_experience.summarize import ExtractiveSummarizer
from ufo_experience.traces import read_traces

# A mark that no other text of a record holds, then anything a person may choose.
PASSWORDS = st.text(alphabet="abcXYZ019-_!+", min_size=5, max_size=12).map(lambda text: f"T#{text}z9")
NAMES = st.text(alphabet="abcdefgXYZ", min_size=4, max_size=9).map(lambda text: f"Qj{text}")


def steps(password: str, name: str) -> list[dict[str, Any]]:
    """Signing in."""
    return [
        {"action_type": "set_edit_text", "target_control": {"name": "User name"}, "parameters": {"text": name}},
        {
            "action_type": "set_edit_text",
            "target_control": {"name": "Password", "type": "Edit"},
            "parameters": {"text": password},
            "observation": f"The field shows {password}.",
        },
        {"action_type": "click_input", "target_control": {"name": "Sign in"}, "result": f"signed in with {password}"},
    ]


def numbered(password: str, name: str) -> list[dict[str, Any]]:
    return [{"step_number": number, **step} for number, step in enumerate(steps(password, name), 1)]


def parts(password: str, name: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """State, action and outcome with the password in every kind of text."""
    state = {"task": "sign in", "signals": {"password": password, "said": f"use {password}"}, "tags": [password]}
    action = {
        "strategy": f"type {password}",
        "parameters": {"note": [password], password: 1},
        "steps": numbered(password, name),
        "plan": [f"enter {password}"],
        "tips": [f"{password} works"],
    }
    return state, action, {"success": False, "failure_reason": f"{password} was refused"}


def whole(password: str, name: str) -> dict[str, Any]:
    """A record as an export holds it."""
    state, action, outcome = parts(password, name)
    return {
        "id": content_id([password, name]),
        "state": state,
        "action": action,
        "outcome": outcome,
        "created_at": "2026-01-01T00:00:00Z",
        "preconditions": [f"{password} is known"],
        "avoid_when": [f"{password} has expired"],
        "episode_id": f"run {password}",
        "provenance": {"source": f"logs/{password}.json", "session": f"s {password}", "notes": [password]},
    }


def by_store(memory: ExperienceMemory, password: str, name: str) -> None:
    memory.store.add([Experience.model_validate(whole(password, name))])


def by_triple(memory: ExperienceMemory, password: str, name: str) -> None:
    memory.add_experience(*parts(password, name))


def by_import(memory: ExperienceMemory, password: str, name: str) -> None:
    memory.import_json(json.dumps([whole(password, name)]))


def by_imported_triple(memory: ExperienceMemory, password: str, name: str) -> None:
    state, action, outcome = parts(password, name)
    memory.import_json(json.dumps([{"state": state, "action": action, "outcome": outcome}]))


def by_trace(memory: ExperienceMemory, password: str, name: str) -> None:
    trace = [
        {
            "step": number,
            "thought": step.get("observation", ""),
            "action_type": step["action_type"],
            "control_text": step["target_control"]["name"],
            "parameters": step.get("parameters", {}),
            "result": step.get("result", "success"),
            "timestamp": datetime(2026, 1, 1, tzinfo=timezone.utc),
        }
        for number, step in enumerate(steps(password, name), 1)
    ]
    record_experience("sign in", trace, db=memory.store.location)


def by_log(memory: ExperienceMemory, password: str, name: str) -> None:
    run = [{"action": s["action_type"], "control": s["target_control"]["name"], **s} for s in steps(password, name)]
    with tempfile.TemporaryDirectory() as logs:
        path = Path(logs) / "run.json"
        path.write_text(json.dumps({"task": "sign in", "success": True, "steps": run}), encoding="utf-8")
        assert memory.ingest(path).added


DOORS: list[Callable[[ExperienceMemory, str, str], None]] = [
    by_store, by_triple, by_import, by_imported_triple, by_trace, by_log,
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@given(password=PASSWORDS, name=NAMES)
@settings(max_examples=8, derandomize=True, deadline=None)
def test_no_door_lets_a_typed_value_through(door, password, name):
    """Typed into a password control or another: in no file of the store, and not in what is exported."""
    with tempfile.TemporaryDirectory() as folder:
        store = FileStore.open(Path(folder) / "db", disk=UnsyncedDisk())
        memory = ExperienceMemory(
            store, settings=Settings(db=store.location, embedder="hashing", summarizer="extractive")
        )
        door(memory, password, name)
        memory.index()
        [record] = store.scan()
        files = b"\n".join(tree(Path(folder)).values()) + memory.export_json().encode()
        assert [value for value in (password, name) if value.encode() in files] == []
        typed = [step.parameters["text"] for step in record.action.steps if step.action_type == "set_edit_text"]
        assert [text.partition(":")[0] for text in typed] == ["{{input", "{{secret"]
        assert {text.strip("{}") for text in typed} <= record.slots.keys()


@given(password=PASSWORDS, name=NAMES)
def test_a_redacted_record_passes_unchanged(password, name):
    """The second time nothing is found: same record, same bytes."""
    data = encode_record(Experience.model_validate(whole(password, name)))
    stored = experience_of(decode_record(data, content_id([password, name]), "f"), None, "f")
    assert redact_record(stored) is stored
    assert encode_record(stored) == data


def test_the_record_of_a_redacted_log_passes_unchanged():
    """What `ingest` stores is what the summarizer made of the log."""
    made = [ExtractiveSummarizer().summarize(redact(run)) for run in read_traces(SAMPLES)]
    assert len(made) > 10
    assert [one.id for one in made if redact_record(one) is not one] == []


def test_a_record_without_such_values_passes_unchanged():
    """Also one that never was a log."""
    one = a_record(1, state={"task": "t", "signals": {"domain": "technical", "n": [1, None, True, 2.5]}})
    assert redact_record(one) is one


def test_a_record_stored_before_its_like_was_redacted_is_known_again(tmp_path):
    """An older store holds the password; the same record imported again is no conflict."""
    store = FileStore.open(tmp_path / "db", disk=UnsyncedDisk())
    memory = ExperienceMemory(store, settings=Settings(db=store.location, embedder="hashing"))
    text = json.dumps([whole("T#abcde9", "Qjane")])
    assert len(memory.import_json(text).added) == 1
    again = memory.import_json(text)
    assert (again.added, again.conflicts, len(again.skipped)) == ([], [], 1)


def test_a_text_of_any_length_in_data_is_not_cut():
    """Redaction removes values; what is over a limit is refused elsewhere, never shortened in silence."""
    one = a_record(1, state={"task": "t", "signals": {"a": "y " * 10_000}})
    assert redact_record(one).state.signals == {"a": "y " * 10_000}
