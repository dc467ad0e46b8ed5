"""The façade's own door: one call stores a run, records are looked after by id or filter, every name is public."""

from __future__ import annotations

import inspect
import io
import json
from pathlib import Path

import pytest

import ufo_experience
from tests.builders import a_record
from ufo_experience import DataError, ExperienceMemory, RecordFilter, Settings, Step, Trust, UsageError, errors
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.errors import NotFoundError
from ufo_experience.store.files import is_device

TASK = "Rename the sheet to Totals"
PLAIN = [
    {"action": "double_click", "control": "Sheet1", "control_type": "TabItem", "observation": "The tab is there."},
    {"action": "set_edit_text", "control": "Sheet name", "parameters": {"text": "Totals"}},
]
ARTICLE = [
    {
        "step": 1,
        "thought": "The tab is there.",
        "action_type": "double_click",
        "control_text": "Sheet1",
        "timestamp": 5,
    },
    {"step": 2, "thought": "", "action_type": "set_edit_text", "control_text": "Sheet name", "timestamp": 9},
]
SCHEMA = [
    {"step_number": 1, "action_type": "double_click", "target_control": {"name": "Sheet1", "type": "TabItem"}},
    {"step_number": 2, "action_type": "set_edit_text", "target_control": {"name": "Sheet name"}},
]


def open_memory(folder: Path) -> ExperienceMemory:
    """A memory that needs no service."""
    return ExperienceMemory.open(settings=Settings(db=str(folder), embedder="hashing", summarizer="extractive"))


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    """An empty memory."""
    return open_memory(tmp_path / "db")


@pytest.fixture
def filled(learned: Path) -> ExperienceMemory:
    """A memory that has read the bundled sample sessions, failures included."""
    return open_memory(learned)


@pytest.mark.parametrize("steps", [PLAIN, ARTICLE, SCHEMA, [Step.model_validate(SCHEMA[0])]])
def test_a_run_is_remembered_in_any_of_the_vocabularies(memory, steps):
    """Plain file, memory article, schema as dicts or objects: the next query finds it."""
    stored = memory.remember(TASK, steps, success=True, application="Excel")
    assert stored.action.steps[0].action_type == "double_click"
    assert stored.trust is Trust.VERIFIED
    assert memory.retrieve(TASK, application="Excel")[0].experience.id == stored.id


def test_fields_that_are_not_kept_are_named(memory):
    """A foreign field is no error, and does not disappear in silence."""
    stored = memory.remember(TASK, [{**PLAIN[0], "dom_snapshot": "<html>"}], success=True)
    assert any("dom_snapshot" in note for note in stored.provenance.notes)


def test_what_was_typed_into_a_password_box_is_not_stored(memory, tmp_path):
    """One call redacts like the reader of a log does."""
    step = {"action": "set_edit_text", "control": "Password", "parameters": {"text": "Tr0ub4dor-and-3"}}
    memory.remember("Log in to the portal", [step, PLAIN[0]], success=True)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file())
    assert b"Tr0ub4dor" not in stored


@pytest.mark.parametrize(
    ("success", "judge", "trust", "who"),
    [
        (True, None, Trust.VERIFIED, "program"),
        (True, "person", Trust.VERIFIED, "user"),
        (False, "llm", Trust.VERIFIED, "model"),
        (None, None, Trust.OBSERVED, None),
        (True, "agent", Trust.OBSERVED, None),
    ],
)
def test_trust_follows_from_who_judged_the_run(memory, success, judge, trust, who):
    """What only the agent says of itself is no judgement."""
    stored = memory.remember(TASK, PLAIN, success, judge=judge)
    assert (stored.trust, stored.outcome.judge) == (trust, who)
    assert stored.outcome.success is (None if trust is Trust.OBSERVED else success)


def test_two_runs_that_did_the_same_are_two_and_one_session_is_one(memory):
    """Without a name each call is a run of its own."""
    assert memory.remember(TASK, PLAIN, True).id != memory.remember(TASK, PLAIN, True).id
    one, other = (memory.remember(TASK, PLAIN, True, session="s-1").id for _ in range(2))
    assert one == other
    assert len(memory) == 3


@pytest.mark.parametrize(
    ("steps", "field"),
    [([], "steps"), ("click", "steps"), ([{"control": "Send"}], r"steps\.0"), ([PLAIN[0], "click"], r"steps\.1")],
)
def test_steps_that_are_none_are_named_with_the_form_they_have(memory, steps, field):
    """The error shows what a step looks like."""
    with pytest.raises(DataError, match=field):
        memory.remember(TASK, steps, True)


def test_ingest_takes_a_run_as_a_dict_and_as_an_open_file(memory):
    """What a program holds need not become a file first."""
    run = {"task": TASK, "application": "Excel", "success": True, "evaluated_by": "user", "steps": PLAIN}
    first = memory.ingest(run)
    lines = io.StringIO(json.dumps({**run, "session": "a"}) + "\n" + json.dumps({**run, "session": "b"}))
    assert (len(first.added), len(memory.ingest(lines).added), memory.ingest(run).known) == (1, 2, first.added)
    assert "steps" in memory.ingest({"what": 1}).failed[0][1]


def test_an_ingest_that_reads_nothing_is_not_silent(memory, caplog):
    """A script that does not look at the report hears of it once."""
    memory.ingest({"what": 1})
    assert "nothing was read; the given value" in caplog.text


def test_trust_given_at_a_second_ingest_reaches_what_is_stored(memory):
    """`trust` is the owner's word, whenever it comes."""
    first = memory.ingest(SAMPLES / "settings_bluetooth", trust="observed")
    again = memory.ingest(SAMPLES / "settings_bluetooth", trust="approved")
    assert (again.added, again.trusted) == ([], first.added)
    assert {one.trust for one in memory.list()} == {Trust.APPROVED}


def test_an_unknown_outcome_can_be_said_later(memory):
    """The record is served after the verdict, and the verdict survives later changes of its status."""
    stored = memory.remember(TASK, PLAIN)
    assert not memory.retrieve(TASK).hits
    judged = memory.judge(stored.id[:8], success=True)
    assert (judged.outcome.success, judged.outcome.judge, judged.trust) == (True, "user", Trust.VERIFIED)
    memory.report([stored.id], success=True)
    assert memory.retrieve(TASK)[0].experience.outcome.success is True


def test_a_verdict_of_failure_makes_a_negative_and_keeps_its_reason_clean(memory):
    """What failed is shown as that; the reason is redacted like everything."""
    stored = memory.remember(TASK, PLAIN, True)
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    memory.judge(stored.id, success=False, reason=f"wrong key {key}")
    found = memory.retrieve(TASK)
    assert not found.hits
    assert found.negatives[0].experience.outcome.failure_reason.startswith("wrong key")
    assert key not in found.negatives[0].experience.outcome.failure_reason


def test_an_unknown_outcome_stays_unknown_in_quarantine_until_it_is_approved(memory):
    """A verdict is no approval."""
    stored = memory.remember(TASK, PLAIN, trust="quarantined")
    assert memory.judge(stored.id, success=True).trust is Trust.QUARANTINED


def test_records_are_listed_newest_first_and_found_by_filter(filled):
    """One filter object: application, outcome, words."""
    times = [one.created_at for one in filled.list()]
    assert times == sorted(times, reverse=True)
    assert len(filled.list(limit=2)) == 2
    failed = filled.list(where=RecordFilter(success=False))
    assert failed
    assert all(one.is_negative for one in failed)
    assert filled.list(where=RecordFilter(application="settings", search="bluetooth"))
    assert len(filled) == len(filled.list())


def test_a_filter_changes_many_and_a_dry_run_none(filled):
    """The count first, then the change."""
    excel = RecordFilter(application="Excel")
    planned = filled.quarantine(where=excel, dry_run=True)
    assert planned.dry_run
    assert Trust.QUARANTINED not in {one.trust for one in filled.list()}
    assert filled.quarantine(where=excel).ids == planned.ids
    assert {one.id for one in filled.list(where=RecordFilter(trust="quarantined"))} == set(planned.ids)


@pytest.mark.parametrize("wordings", ["Tidy up", [" "], ["Tidy up"] * 9, ["x" * 513], [3]])
def test_wordings_that_are_none_are_refused_and_nothing_is_stored(memory, wordings):
    """One text instead of a list, an empty one, too many, one too long, a number."""
    with pytest.raises((UsageError, DataError), match="wordings"):
        memory.remember(TASK, PLAIN, True, wordings=wordings)
    assert memory.list() == []


def test_approving_by_filter_leaves_risky_records_out(memory):
    """A bulk approval releases nothing that could do harm unless it is named."""
    risky = memory.remember("Clean up", [{"action": "run_shell", "parameters": {"command": "rm -rf /home"}}], True)
    harmless = memory.remember(TASK, PLAIN, True)
    done = memory.approve(where=RecordFilter(all=True))
    assert done.ids == (harmless.id,)
    assert [id for id, _ in done.left_out] == [risky.id]
    assert memory.approve(risky.id[:8]).ids == (risky.id,)


@pytest.mark.parametrize("change", ["approve", "quarantine", "remove", "purge"])
def test_a_change_of_nothing_in_particular_is_refused(filled, change):
    """Everything must be asked for by name."""
    with pytest.raises(UsageError, match="which records"):
        getattr(filled, change)()


def test_purge_by_filter_erases_and_an_unknown_source_is_an_error(filled, tmp_path):
    """Erasure that erases nothing says so."""
    gone = filled.purge(where=RecordFilter(application="SystemSettings.exe"))
    assert gone
    kept = b"".join(path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file())
    assert b"Bluetooth & devices" not in kept
    with pytest.raises(NotFoundError, match="ufo-experience sources"):
        filled.purge("no/such/folder")


def test_the_beginning_of_an_id_is_enough_everywhere(filled):
    """What one can read in a list can be typed."""
    one = filled.list(limit=1)[0]
    assert filled.get(one.id[:8]).id == one.id
    assert filled.report(one.id[:8], success=True) == [one.id]
    with pytest.raises(NotFoundError):
        filled.get("zzzz")


NAMES = {
    "one long word": "A" * 100,
    "Chinese": "一个名字很长的应用程序" * 9,
    "an emoji": "🙂",
    "dots": "...",
    "a device of Windows": "CON",
    "a device with a raised digit": "COM¹",
    "a path": "a/b\\c",
    "none": "",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_record_is_kept_whatever_its_application_and_task_are_called(tmp_path, name):
    """Also where no word of the name fits a file name."""
    memory = open_memory(tmp_path / "db")
    steps = [{"action": "click", "control": "Save", "control_type": "Button"}]
    for number, task in enumerate(("Save the file", "🙂🙂", "设置" * 60, "B" * 300)):
        memory.remember(task, steps, success=True, judge="user", application=name, session=f"s{number}")
    assert (len(open_memory(tmp_path / "db")), memory.verify().corrupt) == (4, [])
    assert not any(is_device(place.name) for place in (tmp_path / "db" / "records").iterdir())


def test_verify_names_what_is_damaged(filled, tmp_path):
    """A damaged record is left out; without its file nothing is wrong."""
    victim = filled.list(limit=1)[0]
    next((tmp_path / "db" / "records").rglob(f"*-{victim.id[:8]}.json")).write_bytes(b"rot")
    (wrong,) = filled.verify().corrupt
    assert victim.id not in [one.id for one in filled.list()]
    Path(wrong.file).unlink()
    assert (filled.verify().corrupt, filled.verify().index) == ([], "ok")


def test_verify_finds_nothing_wrong_while_others_store(filled, tmp_path, monkeypatch):
    """A record that came after it had looked for changes, whose row is still to come, is no damage."""
    other, look, coming = ExperienceMemory(tmp_path / "db"), filled.store.revision, [a_record(1)]

    def looked() -> str:
        """What changed; and then another writer is at work."""
        seen = look()
        if coming:
            other.store.add([coming.pop()])
        return seen

    monkeypatch.setattr(filled.store, "revision", looked)
    assert (filled.verify().index, coming) == ("ok", [])


def test_export_counts_what_it_wrote(filled, tmp_path):
    """UFO's format takes successes only, and says what it left out."""
    done = filled.export("ufo", tmp_path / "ufo.yaml")
    assert (done.records + sum(done.left_out.values()), "failures" in done.left_out) == (len(filled), True)
    assert (tmp_path / "ufo.yaml").read_text(encoding="utf-8").count("Sub-task:") == done.records


def test_a_second_import_with_approval_approves(filled, tmp_path):
    """What was imported before is approved, too."""
    filled.export("json", tmp_path / "all.json")
    other = open_memory(tmp_path / "other")
    first = other.import_(tmp_path / "all.json")
    assert other.import_(tmp_path / "all.json", approve=True).approved == sorted(first.added)
    assert {one.trust for one in other.list()} == {Trust.APPROVED}


def test_a_backup_is_restored_as_it_was(filled, tmp_path):
    """Trust and use come back with the records."""
    filled.export("json", tmp_path / "all.json")
    other = open_memory(tmp_path / "other")
    other.import_(tmp_path / "all.json", restore=True)
    assert [one.trust for one in other.list()] == [one.trust for one in filled.list()]


def test_stats_and_sources_tell_what_is_there(filled):
    """Counts by trust, outcome, application; where it came from."""
    told = filled.stats()
    assert told.records == sum(told.trust.values()) == sum(told.outcome.values()) == len(filled)
    assert (told.embedder, told.indexed) == ("hashing", len(filled))
    assert sum(one.records for one in filled.sources()) == len(filled)


def test_a_memory_is_a_context_with_a_length_and_a_face(tmp_path):
    """`with`, `len`, `repr`; an empty memory is not false."""
    with open_memory(tmp_path / "db") as memory:
        memory.remember(TASK, PLAIN, True)
        assert (len(memory), bool(memory), repr(memory)) == (
            1,
            True,
            f"<ExperienceMemory {str(tmp_path / 'db')!r}: 1 records>",
        )
    with open_memory(tmp_path / "empty") as empty:
        assert empty


def test_a_memory_is_made_of_a_path_or_of_an_open_store(tmp_path):
    """`ExperienceMemory(path)` is `ExperienceMemory.open(path)`; a misspelt argument is refused."""
    first = ExperienceMemory(tmp_path / "db", embedder="hashing")
    stored = first.remember(TASK, PLAIN, True)
    again = ExperienceMemory(str(tmp_path / "db")), ExperienceMemory(first.store)
    assert [one.get(stored.id) for one in again] == [stored, stored]
    with pytest.raises(UsageError, match="location is a path"):
        ExperienceMemory(7)
    with pytest.raises(TypeError, match="treshold"):
        ExperienceMemory(tmp_path / "db", treshold=0.5)


def test_open_takes_top_k_and_threshold(tmp_path):
    """What is given to `open` stands over the settings."""
    settings = Settings(db=str(tmp_path / "db"), embedder="hashing", top_k=5)
    memory = ExperienceMemory.open(top_k=2, threshold=0.5, settings=settings)
    assert (memory.settings.top_k, memory.settings.threshold) == (2, 0.5)
    with pytest.raises(UsageError, match="top_k"):
        ExperienceMemory.open(top_k=0, settings=settings)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.retrieve(None), "task is a text"),
        (lambda m: m.query("task"), "state is a dict"),
        (lambda m: m.recommend("t"), "state is a dict"),
        (lambda m: m.report(["6935"], success="yes"), "success is True or False"),
        (lambda m: m.ingest(SAMPLES, trust="high"), "trust is one of quarantined"),
        (lambda m: m.ingest(7), "a source is a path"),
        (lambda m: m.import_json({}), "json_str is a text"),
        (lambda m: m.add_experience("t", "click", True), "state is a dict"),
        (lambda m: m.remember(TASK, PLAIN, "yes"), "success is True or False"),
        (lambda m: m.remember(TASK, PLAIN, True, judge="me"), "judge is one of user"),
        (lambda m: m.remember(TASK, PLAIN, True, costs=1), "unknown: costs"),
        (lambda m: m.list(where=RecordFilter(success="yes")), "success is True, False or 'unknown'"),
        (lambda m: m.list(where=RecordFilter(trust="high")), "trust is one of"),
    ],
)
def test_wrong_arguments_are_usage_errors_that_name_them(memory, call, said):
    """Inside the error tree, with the name of the argument."""
    with pytest.raises(UsageError, match=said):
        call(memory)


def test_the_public_names_are_few_and_all_there():
    """At most 45; `import *` gives them and nothing else."""
    names = ufo_experience.__all__
    assert len(set(names)) == len(names) <= 45
    assert [name for name in names if not hasattr(ufo_experience, name)] == []
    with pytest.raises(AttributeError):
        ufo_experience.nonsense  # noqa: B018


def test_there_are_at_most_ten_kinds_of_errors():
    """Codes tell the rest; one root catches them all."""
    kinds = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, Exception)]
    assert len(kinds) <= 10
    assert all(issubclass(one, ufo_experience.ExperienceError) for one in kinds)


def test_steps_of_a_triple_may_be_written_as_in_a_plain_file(memory):
    """`add_experience` takes the vocabularies `remember` takes."""
    stored = memory.add_experience({"task": TASK}, {"steps": PLAIN}, {"success": True})
    assert [step.target_control.name for step in memory.get(stored).action.steps] == ["Sheet1", "Sheet name"]


def test_the_evaluators_score_and_the_tokens_of_a_session_are_kept(memory, tmp_path):
    """What a log says of quality and cost is in the record."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, more in (("response.log", {"tokens": 150}), ("evaluation.log", {"score": 0.9})):
        lines = (SAMPLES / "settings_bluetooth" / name).read_text(encoding="utf-8").splitlines()
        rows = [{**json.loads(line), **more} for line in lines if line.strip()]
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    memory.ingest(folder)
    outcomes = [one.outcome for one in memory.list()]
    assert outcomes
    assert {one.score for one in outcomes} == {0.9}
    assert all(one.tokens and one.tokens % 150 == 0 for one in outcomes)
