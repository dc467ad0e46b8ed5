"""The recorder: the second run is shown the way of the first, and the host never notices a fault."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from benchmarks.reading import parse_block
from ufo_experience import Act, DataError, ExperienceMemory, UsageError
from ufo_experience.executor import Target
from ufo_experience.integrations.recorder import Recorder, Watched

TASK = "Insert a table into the document"


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    return ExperienceMemory.open(tmp_path / "db", embedder="hashing")


def go_through(recorder: Recorder, **outcome: object):
    """A run of two clicks."""
    start = recorder.start(TASK, "Word")
    recorder.step("click", "Insert", control_type="TabItem")
    recorder.step("click", "Table", control_type="Button")
    return start, recorder.finish(**outcome)


def test_the_second_run_is_shown_the_way_of_the_first(memory):
    """Once somebody other than the agent has judged it."""
    recorder = Recorder(memory)
    first, record = go_through(recorder, success=True, judge="program")
    second, _ = go_through(recorder, success=True, judge="program")
    assert first.block == ""
    assert record.trust.value == "verified"
    assert "Table" in second.block


def test_the_wordings_its_agent_gives_are_kept_with_the_run(memory):
    """The model that has just done the task can say how else people ask for it; that alone makes no strong match."""
    _, record = go_through(Recorder(memory), success=True, judge="program", wordings=["Give me a grid of cells here"])
    assert record.state.wordings == ("Give me a grid of cells here",)


def test_what_was_shown_is_credited_with_the_outcome(memory):
    """By the judge's word, once."""
    recorder = Recorder(memory)
    _, record = go_through(recorder, success=True, judge="program")
    go_through(recorder, success=True, judge="program")
    assert memory.get(record.id).usage.helped == 1


@pytest.mark.parametrize("judge", [None, "agent"])
def test_the_agents_own_claim_is_kept_and_believed_by_nobody(memory, judge):
    """Observed: neither shown nor credited."""
    _, record = go_through(Recorder(memory), success=True, judge=judge)
    assert (record.trust.value, record.outcome.success) == ("observed", None)


def test_a_crash_leaves_a_log_that_can_be_learned_from(memory, tmp_path):
    """Each step is on the disk before the host goes on."""
    recorder = Recorder(memory, logs=tmp_path / "logs")
    recorder.start(TASK, "Word")
    recorder.step("click", "Insert", control_type="TabItem")
    recorder.step("click", "Table", control_type="Button")
    report = memory.ingest(recorder.log)
    assert len(report.added) == 1
    assert [step.target_control.name for step in memory.get(report.added[0]).action.steps] == ["Insert", "Table"]


def test_what_was_finished_is_not_learned_again_from_its_log(memory, tmp_path):
    """The folder is for what a crash left: a finished run is in the store, with its verdict."""
    recorder = Recorder(memory, logs=tmp_path / "logs")
    go_through(recorder, success=True, judge="program")
    recorder.start("Insert a chart", "Word")
    recorder.step("click", "Chart", control_type="Button")
    report = memory.ingest(tmp_path / "logs")
    assert [memory.get(one).state.request for one in report.added] == ["Insert a chart"]
    assert (report.problems, report.failed) == ([], [])


def test_no_secret_stands_in_the_log_or_in_the_store(memory, tmp_path):
    """Neither where it was typed, nor where it comes back."""
    recorder = Recorder(memory, logs=tmp_path / "logs")
    recorder.start("Sign in to the portal", "Browser")
    recorder.step("type", "Password", {"text": "Tr0ub4dor-and-3"}, control_type="Edit")
    recorder.step("click", "Sign in", seen="signed in with Tr0ub4dor-and-3", control_type="Button")
    recorder.finish(success=True, judge="program")
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Tr0ub4dor" not in kept


class Unspeakable:
    """An answer of a tool that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def hurt(recorder: Recorder, where: str) -> None:
    """Let memory fail inside the recorder."""
    if where == "log":
        recorder.step("click", "Insert")
    elif where == "call":
        recorder.call("click", {"control": "Insert"}, Unspeakable())
    elif where == "attempt":
        recorder.attempt(lambda: {}["missing"])
    else:
        recorder.memory.retrieve = None
        recorder.start(TASK)


@pytest.mark.parametrize("where", ["log", "call", "attempt", "start"])
def test_a_fault_of_memory_never_reaches_the_host_and_is_logged_once(memory, tmp_path, caplog, where):
    """Memory is silent for the rest of the run: nothing is noted, learned or credited; the next run begins anew."""
    retrieve, logs = memory.retrieve, tmp_path / "logs"
    if where == "log":
        logs.write_text("a file in the way")
    recorder = Recorder(memory, logs=logs)
    recorder.start(TASK)
    with caplog.at_level(logging.WARNING):
        hurt(recorder, where)
        fault = recorder.fault
        recorder.step("click", "Insert")
        recorder.call("click", {"control": "Table"})
        recorder.attempt(lambda: pytest.fail("asked again"))
        assert recorder.finish(success=True, judge="program") is None
    assert len(caplog.records) == 1
    assert fault is recorder.fault is not None
    recorder.memory.retrieve = retrieve
    recorder.start(TASK)
    assert recorder.fault is None


@pytest.mark.parametrize(
    ("method", "arguments", "named"),
    [
        ("start", {"task": TASK, "app": "Word"}, "app"),
        ("start", {"task": None}, "task"),
        ("step", {"action": {"function": "click"}}, "action"),
        ("step", {"action": "click", "target": "Save", "parameters": "text"}, "parameters"),
        ("step", {"action": "click", "target": "Save", "controls": "Save"}, "controls"),
        ("call", {"name": 7, "arguments": {}}, "name"),
        ("finish", {"success": "yes"}, "success"),
        ("finish", {"success": True, "judge": "me"}, "user, program, model, agent"),
    ],
)
def test_a_wrong_argument_raises_and_says_which(memory, method, arguments, named):
    """A run must not be lost because a name was guessed wrongly."""
    recorder = Recorder(memory)
    recorder.start(TASK)
    with pytest.raises((UsageError, TypeError), match=named):
        getattr(recorder, method)(**arguments)
    recorder.step("click", "Insert")
    assert recorder.finish(success=True, judge="program") is not None


def test_a_success_that_nobody_judged_says_that_it_is_shown_to_nobody(memory, caplog):
    """And how a judge is named."""
    go_through(Recorder(memory), success=True)
    assert 'finish(success=True, judge="program")' in caplog.text
    caplog.clear()
    go_through(Recorder(memory), success=True, judge="program")
    assert caplog.text == ""


def test_the_place_of_a_control_and_what_was_in_view_are_learned(memory):
    """Of two equal buttons the one beside the field just filled is told apart."""
    recorder = Recorder(memory)
    recorder.start("Find the customer in the dialog", "CRM")
    view = [
        {"name": "Search", "type": "Button"},
        {"name": "Name", "type": "Edit"},
        {"name": "Search", "type": "Button"},
    ]
    recorder.step("click", "Search", control_type="Button", within="Find a customer", controls=view)
    record = recorder.finish(success=True, judge="program")
    assert record.action.steps[0].target_control.within == "Find a customer"


def test_what_is_no_fault_of_memory_passes(memory):
    """A loop that is stopped is stopped."""
    recorder = Recorder(memory)
    recorder.start(TASK)
    with pytest.raises(KeyboardInterrupt):
        recorder.attempt(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    assert recorder.fault is None


@pytest.mark.parametrize(("mode", "kept"), [("always", True), ("always_not", False), ("auto", False)])
def test_a_failed_run_is_learned_as_the_save_policy_says(memory, mode, kept):
    """`auto` wants a score above its threshold."""
    _, record = go_through(Recorder(memory, save=mode), success=False, judge="program")
    assert (record is not None) is kept


def test_it_serves_loops_that_must_not_wait(memory):
    """The same three calls as coroutines."""

    async def run():
        recorder = Recorder(memory)
        await recorder.astart(TASK, "Word")
        await recorder.astep("click", "Insert", control_type="TabItem")
        return await recorder.afinish(True, "program")

    assert asyncio.run(run()).trust.value == "verified"


def test_a_guide_comes_with_the_block_when_it_is_asked_for(memory):
    """Along the best known way."""
    recorder = Recorder(memory)
    go_through(recorder, success=True, judge="program")
    assert recorder.start(TASK, "Word", guide=True).guide is not None


def test_calls_made_at_once_are_noted_in_the_order_they_were_begun(memory):
    """Whatever ends first; what never ends holds nothing up for good."""
    watched = Watched(Recorder(memory), "Word", check=lambda result: result == "done")
    watched.begin(TASK)
    for name in ("Insert", "Lost", "Table"):
        watched.called(name)
    watched.answered("Table", "click", {"control": "Table"})
    watched.answered("Insert", "click", {"control": "Insert"})
    record = watched.end("done")
    assert [step.target_control.name for step in record.action.steps] == ["Insert", "Table"]
    assert record.trust.value == "verified"


PAGES = {  # what is in view on each page of a toy word processor, and the page a click leads to
    "home": {"Insert": "ribbon", "View": "home"},
    "ribbon": {"Rows": "ribbon", "Columns": "ribbon", "Table": "done"},
    "done": {},
}
FORM = [("click", "Insert", ""), ("type", "Rows", "3"), ("type", "Columns", "4"), ("click", "Table", "")]


def controls_of(page: str) -> list[dict[str, object]]:
    """What an accessibility tree would tell."""
    kinds = {"Insert": "TabItem", "View": "TabItem", "Rows": "Edit", "Columns": "Edit"}
    return [{"id": name, "name": name, "type": kinds.get(name, "Button")} for name in PAGES[page]]


def plain_loop(recorder: Recorder, task: str) -> tuple[int, str]:
    """A loop of one's own: the model answers with the next action, or with those it was shown ahead; returns its turns
    and the block it was given.
    """
    start = recorder.start(task, "Word", guide=True)
    page, turns, left = "home", 0, list(FORM)
    while left:
        turns += 1
        ahead = start.guide.ahead(controls_of(page), application="Word") if start.guide else ()
        for action, name, text in left[: max(len(ahead), 1)]:
            if name not in PAGES[page]:
                break
            kind = next(one["type"] for one in controls_of(page) if one["name"] == name)
            recorder.step(action, name, {"text": text} if text else {}, control_type=kind)
            if start.guide:
                parameters = {"text": text} if text else {}
                start.guide.note(Act(action, Target(name, kind), parameters))
            page = PAGES[page][name]
            left = left[1:]
    recorder.finish(success=page == "done", judge="program")
    return turns, start.block


def test_a_plain_loop_learns_is_shown_the_way_and_goes_it_in_fewer_turns(memory):
    """First without memory, one action a turn; then with what lies ahead on the screen."""
    recorder = Recorder(memory)
    task = "Insert a table of 3 rows and 4 columns"
    first, second = plain_loop(recorder, task), plain_loop(recorder, task)
    assert recorder.fault is None
    assert (first[0], first[1]) == (4, "")
    assert second[0] < first[0]
    assert "Columns" in second[1]


def test_what_the_recorder_drops_it_says(memory, caplog):
    """A run that was not finished, an empty task, a run without a step; nothing of them is stored."""
    recorder = Recorder(memory)
    recorder.start(TASK)
    recorder.step("click", "Insert")
    recorder.start("")
    recorder.step("click", "Insert")
    assert recorder.finish(success=True, judge="program") is None
    recorder.start(TASK)
    assert recorder.finish() is None
    said = [record.getMessage() for record in caplog.records]
    assert ["not finished" in said[0], "task is empty" in said[1], "no step was noted" in said[2]] == [True] * 3
    assert (len(said), len(memory)) == (3, 0)


def test_a_run_ends_once(memory):
    """Else it would be stored as a success and as a failure."""
    recorder = Recorder(memory)
    go_through(recorder, success=True, judge="program")
    for more in (lambda: recorder.finish(success=False, judge="program"), lambda: recorder.step("click", "Table")):
        with pytest.raises(UsageError, match="the run is finished"):
            more()
    assert len(memory) == 1


@pytest.mark.parametrize("logs", [True, False])
def test_a_step_that_cannot_be_kept_raises_and_leaves_the_run_as_it_was(memory, tmp_path, logs):
    recorder = Recorder(memory, logs=tmp_path / "logs" if logs else None)
    recorder.start(TASK, "Word")
    with pytest.raises(DataError, match="action"):
        recorder.step("", "Insert")
    recorder.step("click", "Insert")
    assert recorder.finish(success=True, judge="program").action.steps[0].target_control.name == "Insert"


def test_a_step_that_says_it_had_no_effect_is_left_out(tmp_path):
    """What was in view does not tell that; the step does."""
    with ExperienceMemory(tmp_path / "db", embedder="hashing") as memory:
        recorder = Recorder(memory)
        recorder.start("Send the report", application="Outlook")
        recorder.step("click", "Inbox", control_type="Button", result="no effect")
        recorder.step("click", "Reports", control_type="Button")
        recorder.step("click", "Send", control_type="Button")
        recorder.finish(success=True, judge="program")
        (one,) = memory.list()
    assert [step.target_control.name for step in one.action.steps] == ["Reports", "Send"]
    assert 'result="no effect"' in (Recorder.step.__doc__ or "")


CANCEL = "Cancel the appointment of {} on {}"


@pytest.mark.parametrize(
    ("arguments", "told", "open_"),
    [
        (lambda pet, day: {"pet": pet, "day": day}, {"pet": "Rex", "day": "Monday"}, []),
        (lambda pet, day: {"event": {"pet": pet}, "days": [day]}, {"event.pet": "Rex", "days": ["Monday"]}, []),
        (lambda pet, day: {"pet": pet, "note": f"Dear {pet}, she is ill"}, {"pet": "Rex"}, ["note"]),
    ],
)
def test_a_call_of_a_tool_is_told_with_the_values_of_the_task(memory, arguments, told, open_):
    """What the task says in quotes; what it does not say is open, by the name of the argument."""
    recorder = Recorder(memory)
    recorder.start(CANCEL.format("Bella", "Friday"), "PawDesk")
    recorder.call("cancel", arguments("Bella", "Friday"), "ok")
    recorder.finish(success=True, judge="program")
    start = recorder.start(CANCEL.format("Rex", "Monday"), "PawDesk")
    (step,) = parse_block(start.block)[0]["steps"]
    assert step["parameters"] == told
    assert step.get("open", []) == open_
    assert not {"Bella", "Friday", "ill"} & set(start.block.replace('"', " ").split())
