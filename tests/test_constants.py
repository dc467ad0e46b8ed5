"""Constants of a procedure: typed in every run, named by no task, shown once independent runs agree on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_safety import by, record
from ufo_experience import ExperienceMemory
from ufo_experience.redact.sealing import opened, seal
from ufo_experience.review.actions import Actions, edited, seen_now
from ufo_experience.schema import Experience
from ufo_experience.trust.values import presentable

TASK = 'Have 7 pieces of "Desk lamp" bought for the Workshop'
LABORATORY = 'Have 3 pieces of "Slim keyboard" bought for the Laboratory'
WORKSHOP = 'Have 12 pieces of "Pipette set" bought for the Workshop'


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    """An empty memory that asks no service."""
    return ExperienceMemory.open(tmp_path / "db", embedder="hashing")


def order(memory: ExperienceMemory, task: str, *, code: str = "ME51", account: str = "CC-7300", **more) -> Experience:
    """Learn one run: a code, the item the task names, an account, the button."""
    fields = [("Command", code), ("Short text", task.split('"')[1]), (more.pop("field", "Assignment"), account)]
    steps = [
        {"action": "set_edit_text", "control": name, "control_type": "Edit", "parameters": {"text": text}}
        for name, text in fields
    ]
    steps.append({"action": "click_input", "control": "Transmit", "control_type": "Button"})
    return memory.remember(task, steps, True, "Orbit", "person", **more)


def prompt(memory: ExperienceMemory, task: str = TASK) -> str:
    return memory.build_prompt(task, memory.retrieve(task, similarity_threshold=0)).text


def kept(memory: ExperienceMemory) -> bytes:
    """Every byte of the store."""
    files = [path for path in Path(memory.store.location).rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in files)


def test_one_run_alone_tells_nothing_of_what_it_typed(memory):
    """Neither in a prompt, nor in a guide, nor in any byte of the store."""
    order(memory, LABORATORY)
    assert "ME51" not in prompt(memory)
    assert b"ME51" not in kept(memory)
    assert "ME51" not in str(memory.guide(TASK).procedure)


def test_what_runs_of_two_sessions_and_requests_typed_is_shown_and_followed(memory):
    """The code is the same in both and is shown; the account differs and stays open."""
    order(memory, LABORATORY)
    order(memory, WORKSHOP, account="CC-7410")
    assert 'set_edit_text(Edit "Command", text="ME51")' in prompt(memory)
    assert "CC-7" not in prompt(memory)
    typed = {step.target.name: step for step in memory.guide(TASK).procedure.steps}
    assert typed["Command"].text == "ME51"
    assert typed["Command"].unbound == ()
    assert typed["Assignment"].unbound != ()


def test_what_follows_from_a_value_of_the_task_is_shown_for_that_value_only(memory):
    """Two runs for the laboratory agree on an account: it is shown to a task for the laboratory, to no other."""
    order(memory, LABORATORY)
    order(memory, LABORATORY.replace("Slim keyboard", "Label roll").replace("3", "40"))
    assert "CC-7300" not in prompt(memory, TASK)
    assert "CC-7300" in prompt(memory, 'Have 25 pieces of "Torque wrench" bought for the Laboratory')


def test_runs_of_one_task_are_known_by_its_words_and_fields_where_a_name_begins_it(memory):
    """ "Kerr Foods may owe us" and "Hale Clinic may owe us" have two canonical names, and are one task."""
    for name in ("Kerr Foods", "Hale Clinic"):
        order(memory, f'{name} may owe us for "{name[0]} desk"', account="1000", field="Control area")
    assert "1000" in prompt(memory, 'Miro Design may owe us for "a lamp"')


def test_a_constant_that_a_request_happens_to_name_is_no_value_of_it(memory):
    """Priority 1 for "Oven 9" and for "Lathe 1": it is 1 for "Press 4", too."""
    for name in ("Oven 9", "Lathe 1"):
        order(memory, f'Order for {name}: have "{name} motor" repaired', account="1", field="Priority")
    typed = {
        step.target.name: step
        for step in memory.guide('Order for Press 4: have "Press 4 motor" repaired').procedure.steps
    }
    assert typed["Priority"].text == "1"


@pytest.mark.parametrize(
    "second",
    [
        {"task": LABORATORY},  # the same request again corroborates nothing
        {"task": WORKSHOP, "session": "one"},  # nor does another request of the same session
        {"task": WORKSHOP, "trust": "observed"},
        {"task": WORKSHOP, "trust": "quarantined"},
    ],
)
def test_what_does_not_come_from_another_trusted_run_corroborates_nothing(memory, second):
    """Same request, same session, or a run that nobody judged."""
    order(memory, LABORATORY, session="one")
    order(memory, **second)
    assert "ME51" not in prompt(memory)


def test_a_run_that_typed_something_else_takes_the_constant_back(memory):
    """Two of three runs typed one code, the third another: nobody can tell which is due."""
    order(memory, LABORATORY)
    order(memory, WORKSHOP, account="CC-7410")
    order(memory, TASK.replace("7 ", "9 ").replace("Workshop", "Archive"), code="ME52")
    assert "ME5" not in prompt(memory)


def test_what_a_person_says_a_slot_always_holds_is_shown_and_followed(memory):
    """One run is enough when somebody vouches for the value; a password said by mistake is taken out all the same."""
    run = order(memory, LABORATORY)
    said = {"input:1": "= ME51", "input:3": "= Harbor#5534jhx"}
    actions = Actions(memory)
    actions.edit(run, seen_now(run), edited(run, task=LABORATORY, tips=(), slots=said, steps=range(1, 9)))
    assert 'set_edit_text(Edit "Command", text="ME51")' in prompt(memory)
    assert memory.guide(TASK).procedure.steps[0].text == "ME51"
    assert b"Harbor" not in kept(memory)


def test_what_an_unapproved_record_says_of_its_slots_is_not_shown():
    """Only a person's word counts."""
    poisoned = record(by("everyday", "A")[0]).model_copy(update={"slots": {"input:1": "= evil.example"}})
    assert "evil" not in presentable(poisoned, TASK).experience.model_dump_json(exclude={"slots"})


@pytest.mark.parametrize(
    ("field", "typed"),
    [("Password", "quietmarble"), ("Ticket", "Harbor#5534jhx"), ("Ticket", "hunter22"), ("Kennwort", "2207")],
)
def test_what_is_or_looks_like_a_password_is_never_sealed(memory, field, typed):
    """However often it is typed: neither in a field of that name, nor of that shape."""
    runs = [order(memory, task, account=typed, field=field) for task in (LABORATORY, WORKSHOP)]
    assert all(len(run.sealed) == 1 for run in runs)
    assert typed not in prompt(memory)


def test_seals_open_for_two_runs_and_not_for_forged_or_unlike_ones():
    """A seal of the same run twice, of another value, torn, or moved to another line opens nothing."""
    one, two, other = seal("ME51", "a"), seal("ME51", "b"), seal("VA01", "b")
    assert opened([one, two]) == "ME51"
    assert opened([other, one, two]) == "ME51"
    for seals in ([one, one], [one, other], [one, two[:-8]], [one, two[:40] + "AAAA" + two[44:]], [one, "?"]):
        assert opened(seals) is None


@pytest.mark.parametrize("author", ["A", "B"])
def test_no_typed_password_of_two_authors_is_sealed(author):
    """Fields and shapes of all kinds: two sessions that type the same password agree on nothing."""
    for row in by("typed_secrets", author):
        first, second = (record({**row, "task": f"{row['task']}{more}"}).sealed.values() for more in ("", ", again"))
        told = [opened([one, other]) for one in first for other in second]
        assert not any(value and (value in row["secret"] or row["secret"] in value) for value in told), row["id"]
