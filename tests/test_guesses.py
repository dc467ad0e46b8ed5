"""What somebody who knows the field tries first, and how each door answers."""

import asyncio
import json
import logging
import re

import pytest

import ufo_experience
from tests.cli_runner import Cli
from ufo_experience import (
    DataError,
    ExperienceError,
    ExperienceMemory,
    Recorder,
    UsageError,
    inject,
    read_traces,
    redact,
    strip_block,
)

TASK = "Turn on Bluetooth in the settings"
STEPS = [{"action": "click", "control": "Bluetooth", "control_type": "Button"}]


@pytest.fixture
def memory(tmp_path):
    with ExperienceMemory(tmp_path / "db", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


def test_what_is_asked_of_a_closed_memory_says_that_it_is_closed(memory):
    """It does not open again by itself."""
    memory.remember(TASK, STEPS, True)
    memory.close()
    memory.close()
    for call in (lambda: memory.retrieve(TASK), memory.list, memory.stats, lambda: memory.remember(TASK, STEPS)):
        with pytest.raises(UsageError, match="closed"):
            call()
    assert "closed" in repr(memory)


def test_a_report_of_changes_is_printed_as_what_would_go(memory):
    made = memory.remember(TASK, STEPS, True)
    told = repr(memory.purge(where={"all": True}, dry_run=True))
    assert "dry run: 1 record" in told
    assert f"{made.id[:8]} {TASK}" in told
    assert len(told) < 200


def test_advice_is_drawn_from_the_nearest_task_where_this_very_one_was_never_done(memory):
    memory.remember(TASK, STEPS, True)
    assert [one.signature for one in memory.recommend({"task": "Turn on Bluetooth"})] == ["click(Bluetooth) |  | "]
    assert memory.recommend({"task": "Water the plants"}) == []


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Memory", "ufo_experience.session"),
        ("RefusedError", "ufo_experience.errors"),
        ("open", "ExperienceMemory.open"),
    ],
)
def test_a_name_that_stands_elsewhere_is_answered_with_its_place(name, place):
    with pytest.raises(AttributeError, match=re.escape(place)):
        getattr(ufo_experience, name)
    with pytest.raises(ImportError, match=re.escape(place)):
        exec(f"from ufo_experience import {name}")


@pytest.mark.parametrize(("name", "place"), [("task", "state.task"), ("success", "outcome.success")])
def test_a_field_of_a_part_is_answered_with_its_place(memory, name, place):
    made = memory.remember(TASK, STEPS, True)
    with pytest.raises(AttributeError, match=f"did you mean {place}"):
        getattr(made, name)
    with pytest.raises(AttributeError, match=r"it has .*hits"):
        memory.retrieve(TASK).experiences  # noqa: B018


def test_membership_is_asked_by_record_id_or_its_beginning(memory):
    made = memory.remember(TASK, STEPS, True)
    assert made in memory
    assert made.id[:8] in memory
    assert "0" * 32 not in memory


def test_ids_that_name_no_record_are_not_passed_over(memory):
    made = memory.remember(TASK, STEPS, True)
    assert memory.retrieve(TASK, only=[made.id[:8]])
    with pytest.raises(DataError, match="no record"):
        memory.retrieve(TASK, only=["ffffffff"])


@pytest.mark.parametrize("call", [strip_block, redact, lambda one: list(read_traces(one))])
def test_a_stage_by_itself_names_the_argument_that_is_wrong(call):
    with pytest.raises(UsageError, match=r"text|trajectory|path"):
        call(None)


def test_a_number_is_no_label_of_a_control(memory, tmp_path):
    """From a program it is refused with its field; a log is read on, and says so."""
    with pytest.raises(DataError, match=re.escape("steps.1.control")):
        memory.remember(TASK, [*STEPS, {"action": "click", "control": 5}])
    log = tmp_path / "run.json"
    log.write_text('{"task": "A", "steps": [{"action": "click", "control": 5}, {"action": "click", "control": "B"}]}')
    report = memory.ingest(log)
    assert ["step 1: control is the label" in one.message for one in report.problems] == [True]


def test_a_run_without_steps_is_said_to_have_none(memory):
    assert memory.ingest({"task": "A", "steps": []}).failed[0][1] == "there are no steps"


def test_after_the_end_of_a_run_its_log_keeps_nothing_that_a_purge_must_reach(memory, tmp_path, caplog):
    recorder = Recorder(memory, logs=tmp_path / "logs")
    recorder.start("Write to Jane Miller")
    recorder.step("click", "Jane Miller", control_type="ListItem")
    assert b"Jane" in recorder.log.read_bytes()
    with caplog.at_level(logging.ERROR):
        recorder.finish(success=True, judge="program")
    memory.purge(where={"search": "Jane"})
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"Jane" in path.read_bytes()] == []


def test_approval_of_a_run_nobody_judged_names_the_command_that_judges_it(cli, tmp_path):
    cli("remember", TASK, "--steps", str(STEPS).replace("'", '"'), "--db", "one")
    done = cli("approve", "--all", "--db", "one")
    assert "1 nobody has judged" in done.stderr
    assert re.search(r"ufo-experience judge [0-9a-f]{8} --success --db one", done.stderr)


def test_verify_names_a_damaged_file_once(cli, tmp_path):
    cli("remember", TASK, "--steps", str(STEPS).replace("'", '"'), "--db", "one")
    (path,) = tmp_path.glob("one/records/*/*.json")
    path.write_text('{"torn')
    done = cli("verify", "--db", "one", code=65)
    assert done.stderr.count(path.name) == 1


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("serve",), "Did you mean review or mcp"),
        (("ls",), "Did you mean list"),
        (("ingest", ".", "--failures"), "did you mean --include-failures"),
        (("judge", "1234", "--outcome", "success"), "did you mean --success"),
        (("run", "Save it", "--url", "https://example.com"), "did you mean --browser"),
        (("remove", "--undo"), "which records"),
        (("list", "Bluetooth"), "--search finds words"),
        (("list", "--status", "success"), "did you mean --trust or --success"),
        (("undo", "1234"), "Did you mean remove --undo"),
        (("export", "out.json"), "It stands after --format, --output, --db"),
        (("review", "one"), "It stands after --port, --host, --db"),
    ],
)
def test_a_command_or_option_by_another_name_is_answered_with_ours(cli, line, meant):
    cli("remember", TASK, "--steps", str(STEPS).replace("'", '"'), "--db", "one")
    done = cli(*line, "--db", "one", code=65 if "Bluetooth" in line else 2)
    assert meant in " ".join(done.stderr.replace("│", " ").split())


def test_an_option_is_not_taken_for_a_much_longer_one(cli):
    assert "did you mean" not in cli("judge", "1234", "--all", code=2).stderr


@pytest.mark.server
def test_null_in_a_call_of_a_tool_is_an_argument_that_was_not_given(memory):
    """Models send it for what they leave out."""
    from ufo_experience.integrations.mcp_server import build_server

    memory.remember(TASK, STEPS, True)
    call = build_server(memory).call_tool("find_experience", {"task": TASK, "application": None})
    assert asyncio.run(call).structured_content["hits"]


def test_a_command_in_a_message_of_python_names_the_store(tmp_path, caplog):
    """So it can be copied; the command line said so before."""
    with ExperienceMemory(tmp_path / "my db", embedder="hashing") as memory:
        recorder = Recorder(memory)
        recorder.start(TASK)
        recorder.step("click", "Bluetooth")
        recorder.finish(success=True)
        with pytest.raises(DataError, match=re.escape(f"ufo-experience list --db '{tmp_path / 'my db'}' (")):
            memory.judge("ffffffff", success=True)
        with pytest.raises(DataError, match=re.escape(f"ufo-experience sources --db '{tmp_path / 'my db'}'")):
            memory.purge("kitchen")
    assert f"--success --db '{tmp_path / 'my db'}'" in caplog.text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda memory: memory.build_prompt(memory.retrieve(TASK)), "build_prompt takes task, hits"),
        (lambda memory: memory.build_prompt(TASK, ["8d3201e7"]), "each of hits, what retrieve gave"),
        (lambda memory: memory.recommend(TASK), '{"task": \'Turn on Bluetooth'),
        (lambda memory: memory.purge("kitchen"), "where={'search': 'kitchen'}"),
        (lambda memory: memory.get("623140fb"), "the code of a past-experience block is no id"),
        (
            lambda memory: memory.guide(TASK).next("Rooms"),
            "controls: mappings or objects with id, name and type, not 'Rooms'",
        ),
    ],
)
def test_an_argument_in_the_wrong_place_is_answered_with_the_right_one(memory, call, said):
    memory.remember(TASK, STEPS, True)
    with pytest.raises((UsageError, DataError), match=re.escape(said)):
        call(memory)


def test_a_run_begun_before_the_last_one_ended_names_what_ends_it(memory, caplog):
    recorder = Recorder(memory)
    recorder.start(TASK)
    recorder.step("click", "Bluetooth")
    recorder.start("Another task")
    assert "finish(success, judge)" in caplog.text


def test_a_file_in_place_of_a_store_is_answered_alike_whoever_would_make_one(tmp_path):
    (tmp_path / "help.json").write_text("{}")
    for create in (True, False):
        with pytest.raises(ExperienceError, match="it is a file, a store is a folder"):
            ExperienceMemory.open(tmp_path / "help.json", create=create)


def test_a_log_of_which_a_line_is_lost_has_failed_in_part(cli, tmp_path):
    """What can be read is stored; the exit code says that something is missing, whichever command reads."""
    run = f'{{"task": "{TASK}", "steps": [{{"action": "click", "control": "Bluetooth"}}]}}'
    (tmp_path / "runs.jsonl").write_text(f"{run}\n{run[:40]}\n{run.replace('Turn on', 'Turn off')}\n")
    for command in ("ingest", "import"):
        done = cli(command, "runs.jsonl", "--db", command, code=65)
        assert "2 added, 0 skipped, 1 failed" in done.stdout
        assert "runs.jsonl:2: E_JSON: not JSON: it ends in the middle" in done.stderr
        assert "runs.jsonl: left out: 1 of its lines or items" in done.stderr


def test_the_plain_format_is_named_so_and_a_format_nobody_knows_leaves_no_store(cli, tmp_path):
    (tmp_path / "run.json").write_text(f'{{"task": "{TASK}", "steps": [{{"action": "click", "control": "Wi-Fi"}}]}}')
    assert "1 added" in cli("ingest", "run.json", "--format", "plain", "--db", "one").stdout
    cli("ingest", "run.json", "--format", "plainn", "--db", "two", code=2)
    assert not (tmp_path / "two").exists()


def test_a_setting_that_is_wrong_names_its_variable(cli):
    done = cli("list", code=2, UFO_EXPERIENCE_TOP_K="many")
    assert "UFO_EXPERIENCE_TOP_K: setting top_k: must be a whole number" in done.stderr


def test_a_field_of_a_log_that_is_spelled_almost_as_one_that_is_read_is_named(cli, tmp_path):
    """What is no field of ours, and near none, is another program's."""
    run = {"task": TASK, "succes": True, "shelf": 3, "steps": [{"action": "click", "contol": "Save"}]}
    (tmp_path / "run.jsonl").write_text(json.dumps(run) + "\n", encoding="utf-8")
    told = cli("ingest", str(tmp_path / "run.jsonl")).stderr
    assert "run.jsonl:1: E_UNKNOWN_FIELD: succes is no field that is read; did you mean success?" in told
    assert "did you mean control?" in told
    assert "shelf" not in told


def test_a_success_is_not_offered_for_a_run_that_failed(cli, tmp_path):
    """`prompt` says how to report on what it showed; who did otherwise than the failed run has not followed it."""
    steps = json.dumps(STEPS)
    cli("remember", TASK, "--steps", steps, "--failure", "--judge", "user", "--reason", "no such switch")
    answer = cli("prompt", TASK)
    assert "Failed" in answer.stdout
    assert "ufo-experience report" not in answer.stderr


def test_a_port_that_is_none_is_refused_before_anything_is_served(cli):
    assert "65535" in cli("mcp", "--http", "--port", "99999", code=2).stderr


@pytest.mark.parametrize("messages", [None, "Turn it on", ["Turn it on"]])
def test_messages_that_are_none_are_said_to_be_none(memory, messages):
    with pytest.raises(UsageError, match="messages is"):
        inject(messages, memory.build_prompt(TASK))
