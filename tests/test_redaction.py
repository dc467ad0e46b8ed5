"""What a store keeps of what was typed, said and seen: looked for in every byte on disk, by every door."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.redaction_cases import HARMLESS, SECRETS
from ufo_experience import ExperienceMemory, Settings, redact_text
from ufo_experience.integrations.recorder import Recorder
from ufo_experience.schema import Experience

DISEASE = "symptoms of lung cancer"
PASSWORD = "Gnarl-Vesper61"
STEPS: list[dict[str, Any]] = [
    {"action": "click", "control": "Library", "control_type": "Tab"},
    {"action": "type", "control": "Search", "control_type": "Edit", "text": DISEASE},
    {"action": "type", "control": "Password", "control_type": "Edit", "text": PASSWORD},
    {"action": "click", "control": "Go", "control_type": "Button"},
]
FORMS = {
    "as it was": PASSWORD,
    "capitals": PASSWORD.upper(),
    "without its signs": "gnarl vesper 61",
    "base64": "R25hcmwtVmVzcGVyNjE=",
    "hex": PASSWORD.encode().hex(),
    "percent": "Gnarl%2DVesper61",
}


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    return ExperienceMemory.open(tmp_path / "db", embedder="hashing")


def on_disk(folder: Path) -> str:
    """Every byte below a folder, as text."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).decode(
        "utf-8", "replace"
    )


def remembered(memory: ExperienceMemory, *steps: dict[str, Any], task: str = "Look it up", **more: Any) -> Experience:
    """A run as the store has it; its last step is a click, so that there is something to learn."""
    done = [*steps, {"action": "click", "control": "OK", "control_type": "Button"}]
    return memory.remember(task, done, success=True, judge="user", **more)


def by_remember(memory: ExperienceMemory, folder: Path) -> None:
    memory.remember("Look it up", STEPS, success=True, judge="user")


def by_ingest(memory: ExperienceMemory, folder: Path) -> None:
    run = {"task": "Look it up", "success": True, "evaluated_by": "user", "steps": STEPS}
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    assert memory.ingest(folder / "run.json").added
    (folder / "run.json").unlink()


def by_recorder(memory: ExperienceMemory, folder: Path) -> None:
    recorder = Recorder(memory)
    recorder.start("Look it up")
    for step in STEPS:
        parameters = {"text": step["text"]} if "text" in step else {}
        recorder.step(step["action"], step["control"], parameters, control_type=step["control_type"])
    recorder.finish(success=True, judge="user")


def by_triple(memory: ExperienceMemory, folder: Path) -> None:
    memory.add_experience({"task": "Look it up"}, {"steps": STEPS}, {"success": True})


def by_import(memory: ExperienceMemory, folder: Path) -> None:
    steps = [
        {
            "step_number": number,
            "action_type": step["action"],
            "target_control": {"name": step["control"], "type": step["control_type"]},
            "parameters": {"text": step["text"]} if "text" in step else {},
        }
        for number, step in enumerate(STEPS, 1)
    ]
    triple = {"state": {"task": "Look it up"}, "action": {"steps": steps}, "outcome": {"success": True}}
    assert memory.import_json(json.dumps([triple])).added


DOORS: list[Callable[[ExperienceMemory, Path], None]] = [by_remember, by_ingest, by_recorder, by_triple, by_import]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_door_keeps_what_was_typed_whatever_the_control_is_called(memory, tmp_path, door):
    door(memory, tmp_path)
    memory.index()
    [record] = memory.list()
    kept = on_disk(tmp_path)
    assert [text for text in (DISEASE, PASSWORD) if text in kept] == []
    typed = [step.parameters["text"] for step in record.action.steps if "text" in step.parameters]
    assert typed == ["{{input:1}}", "{{secret:1}}"]
    assert {slot: record.slots[slot] for slot in ("input:1", "secret:1")} == {"input:1": "text", "secret:1": "password"}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_copy_of_a_typed_password_goes_in_every_common_writing(memory, tmp_path, form):
    remembered(memory, *STEPS[:3], {"action": "read", "control": "Log", "observation": f"got {form} today"})
    assert form not in on_disk(tmp_path)


def test_a_sentence_that_a_tool_was_given_is_typed_text_and_a_short_word_is_an_option(memory, tmp_path):
    arguments = {"to": "support", "body": "Dear Jane, my salary is 5000 and I am ill", "priority": "High"}
    run = memory.remember(
        "Tell Jane about it", [{"action": "send_mail", "parameters": arguments}], True, "Mail", "user"
    )
    assert run.action.steps[0].parameters == arguments | {"body": "{{input:1}}"}
    assert "salary" not in on_disk(tmp_path)


def test_a_password_that_was_pressed_key_by_key_is_one_secret(memory, tmp_path):
    keys = [{"action": "press", "control": "Password", "key": key} for key in "hunter7"]
    steps = remembered(memory, *keys).action.steps
    assert [list(step.parameters.values()) for step in steps] == [["{{secret:1}}"], []]


def test_chords_and_chosen_options_are_not_typed(memory):
    steps = remembered(
        memory,
        {"action": "press", "control": "Document", "keys": "ctrl+s"},
        {"action": "type", "control": "Document", "text": "{ENTER}"},
        {"action": "select", "control": "Priority", "control_type": "ComboBox", "parameters": {"option": "High"}},
    ).action.steps
    assert [step.parameters for step in steps[:3]] == [{"keys": "ctrl+s"}, {"text": "{ENTER}"}, {"option": "High"}]


def test_a_slot_says_which_value_of_the_request_was_typed(memory):
    one = remembered(memory, {"action": "type", "control": "To", "text": "Ann Lee"}, task='Write "hi" to "Ann Lee"')
    assert one.slots == {"input:1": "text from task slot 2"}


def test_a_name_of_a_control_stays_although_the_same_word_was_typed(memory):
    steps = remembered(
        memory,
        {"action": "type", "control": "Find", "text": "Bookmarks"},
        {"action": "click", "control": "Bookmarks", "control_type": "Tab"},
    ).action.steps
    assert [step.target_control.name for step in steps[:2]] == ["Find", "Bookmarks"]


# ---- constants


def booked(memory: ExperienceMemory, session: str, centre: str = "Zentrale Nord") -> Experience:
    fields = {"Cost centre": centre, "PIN": "48151623", "Floor": "3", "User name": "kay.lind"}
    typed = [{"action": "type", "control": name, "text": text} for name, text in fields.items()]
    return remembered(memory, *typed, task="Book a room", application="Rooms", session=session)


def test_a_constant_is_known_by_a_keyed_digest_and_kept_from_the_second_run_on(memory, tmp_path):
    first = booked(memory, "one")
    assert "Zentrale Nord" not in on_disk(tmp_path)
    second = booked(memory, "two")
    assert first.digests == second.digests
    assert [kind for kind in second.slots.values() if kind.startswith("= ")] == ["= Zentrale Nord"]
    assert 'type "Zentrale Nord"' in memory.build_prompt("Book a room").prompt


def test_one_session_alone_vouches_for_no_constant(memory):
    booked(memory, "one")
    again = remembered(memory, {"action": "type", "control": "Cost centre", "text": "Zentrale Nord"}, session="one",
                       task="Book a room", application="Rooms")  # fmt: skip
    assert [kind for kind in again.slots.values() if kind.startswith("= ")] == []


def test_no_digest_is_kept_of_secrets_logins_and_short_texts(memory):
    one = booked(memory, "one")
    assert len(one.digests) == 1
    [digest] = one.digests.values()
    other = ExperienceMemory.open(Path(memory.store.location).parent / "other", embedder="hashing")
    assert [*booked(other, "one").digests.values()] != [digest], "the key is the store's own"


@pytest.mark.parametrize(
    "value",
    [
        "eve@attacker.example", "C:\\Temp\\x.exe", "rm -rf /tmp/x", "$ 9,500.00", "DE07 1203 0000 1099 4417 21",
        "+49 171 2345678",
    ],
)  # fmt: skip
def test_agreement_never_shows_an_address_a_path_a_command_or_an_amount(memory, value):
    booked(memory, "one", value)
    booked(memory, "two", value)
    assert value not in memory.build_prompt("Book a room").prompt


def test_the_key_of_digests_is_in_no_export(memory):
    booked(memory, "one")
    key = memory.store.key()
    assert key.decode("latin-1") not in memory.export_json()


# ---- free text


SAW = "The list is open. Then it said a great many other things. " * 5


@pytest.mark.parametrize(("keep", "kept"), [("none", ""), ("short", "The list is open."), ("full", SAW.strip())])
def test_so_much_is_kept_of_what_was_seen(tmp_path, keep, kept):
    memory = ExperienceMemory.open(tmp_path, embedder="hashing", settings=Settings(keep_observations=keep))
    step = {"action": "click", "control": "Menu", "observation": SAW, "result": "clicked and then it rang"}
    first = remembered(memory, step).action.steps[0]
    assert (first.observation.strip(), first.result) == (kept, "success")


def test_a_long_run_is_shortened_named_and_not_lost(memory, tmp_path):
    steps = [{"action": "click", "control": f"Row {n}", "control_type": "Button"} for n in range(2_000)]
    run = {"task": "Open all rows", "success": True, "evaluated_by": "user", "steps": steps}
    (tmp_path / "long.json").write_text(json.dumps(run), encoding="utf-8")
    report = memory.ingest(tmp_path / "long.json")
    assert [why for _, why in report.shortened] == ["the run has 2000 steps: the first 500 are kept"]
    assert len(memory.get(report.added[0]).action.steps) == 500


def test_a_run_of_large_steps_fits_a_record(memory):
    steps = [{"action": "click", "control": f"Row {n}", "parameters": {"note": "a " * 2_000}} for n in range(400)]
    one = remembered(memory, *steps)
    assert any(note.startswith("run:shortened") for note in one.provenance.notes)


# ---- the gate for text


@pytest.mark.parametrize(("text", "clean"), [
    ("a\ud800b", "a\ufffdb"),
    ("cafe\u0301", "caf\u00e9"),
    ("pay \u202eeno\u202c now", "pay eno now"),
    ("bell\x07 and \x1b[2Jescape", "bell and [2Jescape"),
    ("zero\u200bwidth", "zerowidth"),
])  # fmt: skip
def test_text_is_valid_composed_and_without_control_and_bidi_characters(memory, tmp_path, text, clean):
    assert redact_text(text) == clean
    one = memory.add_experience({"task": text}, {"strategy": "x"}, {"success": True})
    assert clean in memory.get(one).state.task


def test_a_lone_surrogate_in_a_task_and_a_label_is_no_fault(memory, tmp_path):
    one = remembered(memory, {"action": "click", "control": "A\ud800", "control_type": "Button"}, task="Do \ud800 it")
    assert one.state.request.startswith("Do ")
    assert memory.retrieve("Do \ud800 it") is not None


def test_eight_thousand_hostile_characters_take_no_long_time(memory):
    from time import process_time

    for seed in ("password ", "code is ", "a-", "密码", "key=", "://", "login "):
        text = (seed * 8_000)[:8_000]
        began = process_time()
        redact_text(text)
        assert process_time() - began < 0.8, seed


@pytest.mark.parametrize(("text", "clean"), [
    ("https://shop.example/search?q=my+disease&session=8a7f", "https://shop.example/search"),
    ("https://git.example/app/changes?commit_id=9f3b27c01d", "https://git.example/app/changes?commit_id=9f3b27c01d"),
    ("https://shop.example/list?page=2&lang=en", "https://shop.example/list?page=2&lang=en"),
    ("see data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==", "see <image>"),
    ("C:\\Users\\ann\\logs\\action_step1.png", "action_step1.png"),
])  # fmt: skip
def test_urls_lose_what_was_searched_and_images_go(text, clean):
    assert redact_text(text) == clean


def test_a_secret_in_a_text_is_removed():
    assert [text for text, secret in SECRETS if secret in redact_text(text)] == []


@pytest.mark.parametrize(("text", "clean"), [
    ("Install GitLens in VS Code", "Install GitLens in VS Code"),
    ("Use hunter2-Tea as the password", "Use <secret> as the password"),
    ("Take 4471 as the PIN", "Take <secret> as the PIN"),
])  # fmt: skip
def test_before_its_word_a_password_is_a_secret_and_of_a_code_a_number_alone(text, clean):
    assert redact_text(text) == clean


@pytest.mark.parametrize(("text", "clean"), [
    ("您的验证码为851306,5分钟内有效", "您的验证码为<secret>,5分钟内有效"),
    ("Her NHS number 294 707 5072 was found", "Her NHS number <secret> was found"),
    ("Token limit exceeded: 131072 tokens requested", "Token limit exceeded: 131072 tokens requested"),
    ("Start from ami-0c55b159cbfafe1f0", "Start from ami-0c55b159cbfafe1f0"),
])  # fmt: skip
def test_numbers_of_persons_and_codes_are_secrets_and_those_of_things_are_none(text, clean):
    assert redact_text(text) == clean


def test_harmless_texts_stay_but_for_a_few():
    changed = [text for text in HARMLESS if redact_text(text) != text]
    assert len(changed) <= 5, changed


def test_redacting_a_stored_record_again_changes_nothing(memory, tmp_path):
    """Import redacts what another memory had redacted."""
    one = remembered(memory, *STEPS)
    with ExperienceMemory.open(tmp_path / "other", embedder="hashing") as other:
        other.import_json(memory.export_json())
        again = other.get(one.id)
    assert (again.state, again.action, again.slots) == (one.state, one.action, one.slots)
