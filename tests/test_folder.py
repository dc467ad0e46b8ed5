"""A store folder: what a person reads in it, what others change in it, and what is found when something fails."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest
import yaml

from tests.builders import a_record, a_record_of, memory_of, open_memory
from tests.conftest import link_or_skip
from tools import crash
from ufo_experience import ExperienceMemory, RecordFilter, Trust
from ufo_experience.errors import DataError, LockedError, NotFoundError, RefusedError
from ufo_experience.store import FolderStore
from ufo_experience.store.files import writer_lock
from ufo_experience.store.watch import Watch

TASK = 'Send an email to Zoë Miller about "the budget"'
OLD = Path(__file__).parent / "data" / "old_store"
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX forks and limits")


@pytest.fixture
def memory(tmp_path):
    """One verified record."""
    with memory_of(tmp_path / "db", a_record_of(TASK, application="OUTLOOK.EXE")) as memory:
        yield memory


def the_file(memory: ExperienceMemory) -> Path:
    """The file of the only record."""
    (path,) = (Path(memory.store.location) / "records").glob("*/*.json")
    return path


def rewrite(path: Path, old: str, new: str) -> None:
    """Change a file as an editor does that keeps it in its place, and its time as it moves on."""
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000))


def test_a_record_is_a_file_that_a_person_recognises(memory):
    """Application and words of the task, no value in the name; inside, a line for what fits in one."""
    path = the_file(memory)
    assert (path.parent.name, path.name[:38]) == ("outlook", "send-an-email-to-name-about-text-" + path.name[33:38])
    assert "zo" not in path.name
    assert '"target_control": {"name": "OK", "type": "Button"}' in path.read_text("utf-8")


def test_what_happens_later_is_a_line_and_the_record_stays_as_it_was(memory):
    """Trust, verdicts and use are events; one line each."""
    before = the_file(memory).read_bytes()
    (one,) = memory.list()
    memory.approve(one.id)
    memory.report(one.id, success=True, session="s1")
    lines = (Path(memory.store.location) / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["trust", "help"]
    assert the_file(memory).read_bytes() == before


def test_the_index_may_be_deleted_at_any_time(memory):
    """By a person, while nobody looks: it is made again."""
    memory.close()
    shutil.rmtree(Path(memory.store.location) / ".index")
    with open_memory(Path(memory.store.location)) as again:
        assert again.retrieve(TASK).hits
        assert again.verify().index == "ok"


def test_a_damaged_index_file_is_made_again(memory):
    """Bytes that are no database cost no answer."""
    memory.close()
    (Path(memory.store.location) / ".index" / "index.sqlite").write_bytes(b"nonsense" * 4096)
    with open_memory(Path(memory.store.location)) as again:
        assert again.retrieve(TASK).hits


def test_an_index_file_that_lacks_a_table_is_made_again(memory):
    """Somebody deleted it, or another build of the package made the file."""
    memory.close()
    with closing(sqlite3.connect(Path(memory.store.location) / ".index" / "index.sqlite")) as database:
        database.execute("DROP TABLE word")
    with open_memory(Path(memory.store.location)) as again:
        assert again.retrieve(TASK).hits


def test_a_damaged_index_file_that_another_process_has_open_costs_no_answer(memory, monkeypatch, caplog):
    """Windows lets nobody delete it until that one ends: a copy in memory goes on."""

    def refuse(path):
        raise PermissionError(13, "in use", path)

    memory.close()
    (Path(memory.store.location) / ".index" / "index.sqlite").write_bytes(b"nonsense" * 4096)
    monkeypatch.setattr(os, "unlink", refuse)
    with open_memory(Path(memory.store.location)) as again:
        assert again.retrieve(TASK).hits
    assert "made anew" in caplog.text


def test_faiss_opens_the_file_of_vectors(memory):
    """And its rot is noticed, which FAISS does not."""
    faiss = pytest.importorskip("faiss")
    path = Path(memory.store.location) / ".index" / "vectors.faiss"
    assert faiss.read_index(str(path)).ntotal == 1
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    assert memory.verify().index == "damaged"
    memory.index(rebuild=True)
    assert memory.verify().index == "ok"


def test_a_record_that_git_brings_is_found_by_the_next_question(memory, tmp_path):
    """A file that another program puts there; one that goes is not found any more."""
    with memory_of(
        tmp_path / "other", a_record_of("Turn on Bluetooth in the settings", application="Settings")
    ) as other:
        path = the_file(other)
    target = Path(memory.store.location) / "records" / path.parent.name / path.name
    target.parent.mkdir()
    shutil.copy(path, target)
    assert [hit.task for hit in memory.retrieve("Turn on Bluetooth in the settings")] == [
        "Turn on Bluetooth in the settings"
    ]
    target.unlink()
    assert not memory.retrieve("Turn on Bluetooth in the settings").hits


def test_of_a_folder_that_changed_only_what_is_new_is_read(memory, monkeypatch, tmp_path):
    """Where another process, or git, has put a record beside those that are known: they keep their row in the index."""
    (known,) = memory.list()
    with memory_of(tmp_path / "other", a_record_of("Print the page", application="OUTLOOK.EXE")) as other:
        shutil.copy(the_file(other), the_file(memory).parent)
    read, one = Watch.read, []
    monkeypatch.setattr(Watch, "read", lambda watch, path: one.append(Path(path).name) or read(watch, path))
    assert [id for id in memory.store.ids() if id != known.id]
    assert [name[:14] for name in one] == ["print-the-page"]


def test_a_record_that_somebody_reads_can_be_removed_and_purged(memory):
    """Windows refuses to move or delete a file while it is open, for a moment."""
    (one,) = memory.list()
    for act in (memory.store.remove, memory.store.restore, memory.store.purge):
        (path,) = Path(memory.store.location).glob("re*/**/*.json")
        with path.open("rb") as stream:
            reader = Timer(0.3, stream.close)
            reader.start()
            act([one.id])
            reader.join()
    assert not list(Path(memory.store.location).glob("re*/**/*.json"))


def test_a_record_edited_by_hand_waits_for_approval(memory):
    """It is read again, counts as observed whatever it says of itself, and as approved once somebody has looked."""
    path = the_file(memory)
    rewrite(path, '"trust": "verified"', '"trust": "approved"')
    (one,) = memory.list()
    assert one.trust is Trust.OBSERVED
    memory.index()
    assert not memory.retrieve(TASK).hits
    (told,) = memory.verify().corrupt
    assert told.code == "E_EDITED"
    assert f"ufo-experience show {one.id[:8]}, then: ufo-experience approve {one.id[:8]}" in told.message
    assert [(held.id, held.why) for held in memory.retrieve(TASK).withheld] == [(one.id, "unproven")]
    memory.approve(one.id)
    assert memory.retrieve(TASK).hits
    assert memory.verify().corrupt == []
    rewrite(path, '"OK"', '"Delete all"')
    assert memory.get(one.id).trust is Trust.OBSERVED


def test_events_that_git_merges_in_are_replayed(memory):
    """Lines before those that were read: the whole file counts again."""
    (one,) = memory.list()
    memory.approve(one.id)
    events = Path(memory.store.location) / "events.jsonl"
    lines = events.read_text()
    memory.quarantine(one.id)
    events.write_text(lines)
    assert memory.get(one.id).trust is Trust.APPROVED


def test_a_torn_line_of_events_costs_no_other(memory):
    """What a writer that died left of a line is closed by the next, and named by `verify`."""
    (one,) = memory.list()
    events = Path(memory.store.location) / "events.jsonl"
    events.write_bytes(b'{"kind": "trust", "id": "' + one.id.encode())
    memory.approve(one.id)
    assert memory.get(one.id).trust is Trust.APPROVED
    assert [problem.line for problem in memory.verify().corrupt] == [1]


def test_a_damaged_file_of_events_is_told_of_each_time_until_it_is_mended(memory, caplog):
    """What it said of trust is gone, and that is not kept from the caller."""
    place = memory.store.location
    events = Path(place) / "events.jsonl"
    events.write_text("gar{bage\n")
    for _ in range(2):
        caplog.clear()
        with ExperienceMemory.open(place) as again:
            again.retrieve(TASK)
        assert "is left out, `ufo-experience verify` tells of all" in caplog.text
        assert "events.jsonl:1" in caplog.text
    events.write_text("")
    caplog.clear()
    with ExperienceMemory.open(place) as again:
        again.retrieve(TASK)
    assert not caplog.text


def test_a_damaged_store_file_says_what_to_do(memory):
    """And what it says helps."""
    place = Path(memory.store.location)
    (place / "store.json").write_text("gar{bage")
    with pytest.raises(DataError, match="delete this file, and the records are read"):
        ExperienceMemory.open(place)
    (place / "store.json").unlink()
    assert len(ExperienceMemory.open(place)) == 1


@pytest.mark.parametrize("what", ["folder", "link", "pipe", "nothing", "torn", "other id"])
def test_what_stands_in_a_records_place_is_named(memory, what, tmp_path):
    """It hangs nothing, is not followed, and hides no other record."""
    path = the_file(memory)
    strange = path.with_name("strange.json")
    if what == "folder":
        strange.mkdir()
    elif what == "link":
        link_or_skip(strange, path)
    elif what == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no named pipes here")
        os.mkfifo(strange)
    else:
        data = {"nothing": b"", "torn": path.read_bytes()[:100], "other id": path.read_bytes()}[what]
        strange.write_bytes(data)
    assert [Path(problem.file).name for problem in memory.verify().corrupt] == ["strange.json"]
    assert memory.retrieve(TASK).hits
    assert len(memory) == 1


def test_one_flipped_byte_of_a_record_or_an_event_is_found(memory):
    """Wherever it stands in the record's values, and in a line of events: a bit of a letter, a digit, a quote."""
    (one,) = memory.list()
    memory.report(one.id, success=True, session="s1")
    events = Path(memory.store.location) / "events.jsonl"
    for path in (the_file(memory), events):
        data = path.read_bytes()
        places = [place for place, byte in enumerate(data) if not chr(byte).isspace()]
        for place in places[:: len(places) // 40]:
            path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            assert path.name in [Path(problem.file).name for problem in memory.verify().corrupt], place
        path.write_bytes(data)
    assert memory.verify().corrupt == []


def test_a_rebuild_finds_what_was_edited_in_its_place(memory):
    """It reads no file that is as it was, and every one that is not, whatever the time of its folder says."""
    path = the_file(memory)
    rewrite(path, '"verified"', '"approved"')
    assert (memory.index(rebuild=True).records, memory.verify().index) == (1, "ok")
    assert [row.trust for row in memory.parts.index.rows()] == [Trust.OBSERVED]


def test_a_record_of_a_newer_version_is_named(memory):
    """As what it is."""
    path = the_file(memory)
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 9'))
    assert [problem.code for problem in memory.verify().corrupt] == ["E_VERSION"]


def test_no_byte_of_a_purged_record_stays(tmp_path):
    """Not in records, events, index, vectors, verdicts, the view or the audit log."""
    with memory_of(tmp_path / "db", a_record_of(TASK, application="Xylophone"), a_record(1)) as memory:
        (one,) = memory.list(where=RecordFilter(application="Xylophone"))
        memory.judge(one.id, success=False, reason="the xylophone was out of tune")
        memory.build_prompt("Where is the xylophone?")
        memory.parts.index.keep("verdict", {"k": b"xylophone"}, owner=one.id)
        memory.purge(where=RecordFilter(ids=(one.id,)))
    left = [path for path in (tmp_path / "db").rglob("*") if path.is_file()]
    assert left
    for path in left:
        data = path.read_bytes().lower()
        assert b"zo\xc3\xab miller" not in data, path
        assert b"out of tune" not in data, path
        assert path.name.startswith("audit") or b"xylophone" not in data, path


def test_a_removed_record_comes_back_and_is_purged(memory):
    """Its file stays until then."""
    (one,) = memory.list()
    memory.remove(one.id)
    assert memory.list() == []
    memory.undo_remove(one.id[:8])
    assert the_file(memory).name.startswith("send-an-email")
    memory.remove(one.id)
    assert the_file(memory).exists()
    memory.purge(where=RecordFilter(ids=(one.id,)))
    assert not list((Path(memory.store.location) / "records").glob("*/*.json"))
    with pytest.raises(NotFoundError):
        memory.undo_remove(one.id[:8])


def test_ufos_view_follows_and_is_not_rewritten_whole(memory):
    """A new example is appended, one that goes is blanked; whoever changed the file finds it made anew."""
    path = Path(memory.store.location) / "experience.yaml"
    before = path.read_bytes()
    new = memory.remember(
        "Turn on Bluetooth", [{"action": "click", "control": "On"}], success=True, application="Settings"
    )
    assert path.read_bytes().startswith(before)
    assert len(yaml.safe_load(path.read_text())) == 2
    memory.quarantine(new.id)
    assert path.read_bytes().startswith(before)
    assert len(yaml.safe_load(path.read_text())) == 1
    path.write_text("mine: 1\n")
    memory.index()
    assert path.read_bytes() == before


def test_a_writer_waits_its_time_for_another_and_then_says_so(memory):
    """Questions wait for nobody."""
    other = FolderStore.open(memory.store.location, lock_timeout=0.05)
    (id,) = other.ids()
    with writer_lock(Path(memory.store.location), 1.0):
        assert memory.retrieve(TASK).hits
        with pytest.raises(LockedError, match="being written"):
            other.set_status(id, trust=Trust.APPROVED)


def test_many_writers_take_turns(tmp_path):
    """One at a time, and none is refused; on Windows the file of the lock comes and goes meanwhile."""
    inside, seen = [], []

    def write(number):
        with writer_lock(tmp_path, 30):
            inside.append(number)
            seen.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(120)))
    assert seen == [1] * 120


def test_a_store_of_the_first_edition_is_imported_whole(tmp_path):
    """Its own error names the command; with `restore` trust and use are those it had."""
    with pytest.raises(DataError, match="import FOLDER --restore"):
        open_memory(OLD)
    with open_memory(tmp_path / "db") as memory:
        report = memory.import_(OLD, restore=True)
        expected = json.loads((OLD / "expected.json").read_text())
        assert report.failed == []
        assert sorted(report.added) == expected["ids"]
        assert {one.id: one.usage.helped for one in memory.list()} == expected["helped"]
        assert {one.id: one.trust.value for one in memory.list()} == expected["trust"]
    with open_memory(tmp_path / "foreign") as memory:
        memory.import_(OLD)
        assert {one.trust for one in memory.list()} == {Trust.QUARANTINED}


def test_a_folder_of_a_newer_version_is_refused_untouched(tmp_path):
    """Nothing is written into it."""
    (tmp_path / "records").mkdir()
    (tmp_path / "store.json").write_text('{"format": "ufo_experience", "version": 3}')
    with pytest.raises(DataError, match="version 3"):
        open_memory(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records", "store.json"]


def test_links_in_place_of_its_folders_are_refused(memory, tmp_path):
    """A clone must not make us write elsewhere."""
    memory.close()
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(Path(memory.store.location) / ".index")
    link_or_skip(Path(memory.store.location) / ".index", tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="a link"):
        open_memory(Path(memory.store.location))


def test_where_the_index_cannot_be_written_questions_are_answered_from_memory(memory, caplog):
    """A folder in the place of its file stands for a disk that takes nothing."""
    memory.close()
    shutil.rmtree(Path(memory.store.location) / ".index")
    (Path(memory.store.location) / ".index").write_text("no folder")
    with open_memory(Path(memory.store.location)) as read_only:
        assert read_only.retrieve(TASK).hits
    assert "goes on in memory" in caplog.text


@forks
def test_killed_writers_lose_nothing(tmp_path):
    """A dozen kills; `python -m tools.crash kills` does as many as you like."""
    operations, wrong = crash.kills(tmp_path / "db", 8, 3)
    assert (wrong, operations > 0) == ([], True)


@forks
def test_threads_and_forks_lose_nothing_and_a_full_disk_is_a_typed_error(tmp_path):
    """Four threads and three forks of a process that has the store open."""
    records, wrong = crash.together(tmp_path / "db", 4)
    assert (wrong, records >= 29) == ([], True)
