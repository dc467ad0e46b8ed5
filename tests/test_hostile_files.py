"""Files that are not what they should be: in the store, given by name, and where results are written to.

Whatever stands there: a command ends, with an exit code of its own and no traceback, and what belongs to somebody else
is as it was.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders import a_record, a_record_of, memory_of
from tests.cli_runner import Cli
from tests.disks import UnsyncedDisk, tree
from ufo_experience.errors import DataError, FormatVersionError, LockedError, StorageError
from ufo_experience.store.files import HOLDER, WriterLock
from ufo_experience.store.files import check_output, read_regular
from ufo_experience.index.generations import Generations
from ufo_experience.memory import ExperienceMemory
from ufo_experience.prompt.audit import AuditLog
from ufo_experience.schema import Trust, validate
from ufo_experience.store.codec import encode
from ufo_experience.store.folder.store import FileStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no pipes among files, other links")

SECRET = "Wire the zanzibar invoice to Zoë"
FIRST = a_record_of(SECRET, session="s1")
GONE = a_record_of("Export the deck as PDF", session="s3")
STEPS = [{"action": "click", "control": "File"}, {"action": "click", "control": "Open"}]
RUN = json.dumps({"task": "Open the zoo file", "success": True, "judge": "program", "steps": STEPS})
KNOWN_CODES = {0, 65, 69, 73, 75, 77}

PLACES = {
    "audit.jsonl": "audit.jsonl",
    "marker": "changed",
    "view": "experience.yaml",
    "lock": ".lock",
    "copies": ".lock.copies",
    "records": "records",
    "status": "status",
    "tombstones": "tombstones",
    "removed": "removed",
    "corrupt": "corrupt",
    "shard": f"records/{FIRST.id[:2]}",
    "record": f"records/{FIRST.id[:2]}/{FIRST.id}.json",
    "status shard": f"status/{FIRST.id[:2]}",
    "index": "index",
    "current": "index/CURRENT",
    "generation": "index/2",
    "older generation": "index/1",
    "next generation": "index/3",
    "being built": "index/.building-3",
    "tail": "index/tail-2",
}
QUICK = [
    *(("audit.jsonl", kind) for kind in ("hard link", "pipe")),
    *(("marker", kind) for kind in ("hard link", "pipe")),
    ("tail", "hard link"), ("tombstones", "pipe"), ("shard", "pipe"), ("record", "pipe"),
    ("view", "pipe"), ("older generation", "link"), ("index", "link"), ("being built", "link"),
]  # fmt: skip
KINDS = ("hard link", "pipe", "link", "dangling link", "folder")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with records, a status, a tombstone, two generations, a tail, a view and an audit log."""
    folder = tmp_path_factory.mktemp("template") / "db"
    with memory_of(folder, FIRST, a_record_of("Turn on Bluetooth", session="s2"), GONE) as memory:
        memory.store.set_status(FIRST.id, trust=Trust.APPROVED)
        memory.store.remove([GONE.id])
        memory.index(rebuild=True)
        memory.store.add([a_record_of("Schedule a meeting", session="s4")])
        memory.index()
        memory.build_prompt(SECRET)
    assert (folder / "index" / "tail-2").is_file()
    return folder


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail instead of hanging."""

    def ring(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def plant(place: Path, kind: str, theirs: Path) -> None:
    """Put something of this kind where a file or folder of the store is; what was there is theirs now."""
    was_folder = place.is_dir()
    if was_folder or place.exists():
        shutil.move(place, theirs / "it")
    else:
        (theirs / "it").write_text("theirs", encoding="utf-8")
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "hard link" and not was_folder:
        os.link(theirs / "it", place)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(theirs / ("it" if kind == "link" else "nothing"))


QUICK_DAY: list[list[object]] = [["prompt", SECRET], ["index", "--rebuild"], ["purge", "--session", "s1"]]
DAY: list[list[object]] = [
    ["ingest", "run.jsonl"], ["list"], ["approve", FIRST.id], ["verify"], ["verify", "--repair"],
    ["remove", GONE.id], ["export", "-o", "out.json"], *QUICK_DAY,
]  # fmt: skip


def _nothing_breaks(day: list[list[object]], place: str, kind: str, template: Path, tmp_path: Path) -> None:
    theirs, folder = tmp_path / "theirs", tmp_path / "db"
    theirs.mkdir()
    shutil.copytree(template, folder)
    (tmp_path / "run.jsonl").write_text(RUN, encoding="utf-8")
    plant(folder / PLACES[place], kind, theirs)
    before = tree(theirs)
    cli = Cli(tmp_path)
    for command in day:
        with within(20):
            done = cli.try_(*command, "--db", folder, UFO_EXPERIENCE_LOCK_TIMEOUT="1")
        assert done.exit_code in KNOWN_CODES, (command, done.stderr)
    assert tree(theirs) == before


@pytest.mark.parametrize(("place", "kind"), QUICK)
def test_what_stands_in_a_store_neither_hangs_nor_is_written_through(place, kind, template, tmp_path):
    """Every command ends with an exit code of its own; all places and kinds: `pytest -m slow`."""
    _nothing_breaks(QUICK_DAY, place, kind, template, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_stands_in_a_store_hangs_or_is_written_through(place, kind, template, tmp_path):
    """Every place, every kind."""
    _nothing_breaks(DAY, place, kind, template, tmp_path)


# ---- logs by name ----


@pytest.mark.parametrize("name", [b"caf\xfc.jsonl", "\u202ea\x1b[2Jb.jsonl".encode()])
def test_a_log_of_any_name_is_learned_listed_and_purged(name, tmp_path):
    """Bytes that are no UTF-8 stand as escapes in a record; the name as it is on the disk finds it."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
    try:
        Path(path).write_text(RUN, encoding="utf-8")
    except OSError:
        pytest.skip("the disk takes no such name")
    cli = Cli(tmp_path)
    for command in (["ingest", path], ["list"], ["sources"], ["purge", "--source", path]):
        done = cli(*command, "--db", tmp_path / "db")
        assert not set(done.stdout + done.stderr) & set("\x1b\u202e")
    assert cli("list", "--db", tmp_path / "db").stdout.strip() == "no records"


def test_a_file_that_gives_its_bytes_as_they_come_is_refused(tmp_path):
    """`/proc/kmsg` says it is regular and waits for the next message of the system: nobody waits with it."""
    kernel = Path("/proc/kmsg")
    if not kernel.exists():
        pytest.skip("no such file")
    with within(10), pytest.raises(DataError):
        read_regular(kernel, 0)  # more than nothing, or nothing yet


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/self", "/proc/kcore"])
def test_a_device_given_as_a_log_is_named(name, tmp_path):
    with within(20):
        done = Cli(tmp_path).try_("ingest", name, "--format", "generic", "--db", tmp_path / "db")
    assert done.exit_code in KNOWN_CODES


# ---- results ----


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_an_export_does_not_go_through_what_is_no_file(kind, template, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "out.json").write_text("theirs", encoding="utf-8")
    plant(tmp_path / "out.json", kind, tmp_path / "theirs")
    with within(20):
        done = Cli(tmp_path).try_("export", "-o", "out.json", "--db", template)
    assert (done.exit_code, tree(tmp_path / "theirs")) == (StorageError.exit_code, {"it": b"theirs"})


@pytest.mark.parametrize("name", ["/dev/full", "/dev/null", "nowhere/x", "a\0b"])
def test_an_output_that_cannot_be_is_a_typed_error(name, tmp_path):
    """A device would be replaced by a file, were it written whole."""
    with pytest.raises(StorageError):
        check_output(Path(name))


def test_an_export_to_a_file_with_another_name_leaves_that_alone(template, tmp_path):
    """A hard link: the new file takes the name, the old bytes keep theirs."""
    (tmp_path / "theirs").write_text("theirs", encoding="utf-8")
    os.link(tmp_path / "theirs", tmp_path / "out.json")
    Cli(tmp_path)("export", "-o", "out.json", "--db", template)
    assert (tmp_path / "theirs").read_text(encoding="utf-8") == "theirs"
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["format"] == "ufo_experience"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to write to")
@pytest.mark.parametrize(
    "end",
    [
        "> /dev/full",
        ">&-",
        *(pytest.param(end, marks=pytest.mark.slow) for end in ("| true", ">&- 2>&-", "--json > /dev/full")),
    ],
)
def test_a_result_nobody_can_take_is_an_error_of_one_line(end, template, tmp_path):
    """A full disk, a closed standard output, a reader that has gone."""
    line = f'"{sys.executable}" -m ufo_experience export --db "{template}" {end}'
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, StorageError.exit_code), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


# ---- what is gone is gone ----


def _bytes_below(folder: Path) -> bytes:
    return b"\n".join(tree(folder).values())


@pytest.mark.parametrize("how", ["remove", "purge"])
def test_no_byte_of_what_was_taken_out_is_left_in_the_clear(how, tmp_path):
    """Record, view, older generations, tail, cache, temp files, audit log; what an undo needs is compressed."""
    folder = tmp_path / "db"
    with memory_of(folder, FIRST, a_record_of("Turn on Bluetooth", session="s2")) as memory:
        asked = memory.retrieve("Unseal the zanzibar crate")
        AuditLog(folder / "audit.jsonl").unanswered(SECRET, asked)
        AuditLog(folder / "audit.jsonl").unanswered("Water the plants", asked)
        memory.index(rebuild=True)
        memory.store.add([late := a_record_of(f"{SECRET} now", session="s5")])
        memory.index()
        (folder / ".experience.yaml.0123.tmp").write_text(SECRET, encoding="utf-8")
        assert b"zanzibar" in (folder / "index" / "tail-2").read_bytes()
        getattr(memory, how)(FIRST.id, late.id) if how == "remove" else memory.purge("s1") and memory.purge("s5")
        assert b"zanzibar" not in _bytes_below(folder)
        assert "Zoë".encode() not in _bytes_below(folder)
        assert b"plants" in (folder / "audit.jsonl").read_bytes()
        assert len(memory) == 1
        if how == "remove":
            assert {one.id for one in memory.undo_remove(FIRST.id, late.id)} == {FIRST.id, late.id}
            assert memory.retrieve(SECRET).hits[0].id == FIRST.id


def test_a_removed_record_that_was_blown_up_is_not_unpacked(tmp_path):
    """What an undo reads is bounded, whatever somebody put there."""
    with memory_of(tmp_path / "db", FIRST) as memory:
        memory.remove(FIRST.id)
        (sealed,) = (tmp_path / "db" / "removed").iterdir()
        sealed.write_bytes(gzip.zlib.compress(b"{" + b" " * 50_000_000 + b"}", 9))  # type: ignore[attr-defined]
        with pytest.raises(DataError):
            memory.undo_remove(FIRST.id)
        sealed.write_bytes(b"not compressed")
        with pytest.raises(DataError, match="damaged"):
            memory.undo_remove(FIRST.id)


# ---- versions, notes, races ----


@pytest.mark.parametrize("change", [{"mood": "sunny"}, {"schema_version": 2}, {"schema_version": 2, "mood": "sunny"}])
def test_a_record_of_a_newer_version_is_left_alone(change, tmp_path):
    """Its bytes are whole: it is named, and neither set aside nor shown."""
    folder = tmp_path / "db"
    store = FileStore.open(folder, disk=UnsyncedDisk())
    store.add([a_record(1), a_record(2)])
    path = folder / "records" / a_record(1).id[:2] / f"{a_record(1).id}.json"
    newer = encode(json.loads(path.read_bytes())["payload"] | change)
    path.write_bytes(newer)
    with pytest.raises(FormatVersionError):
        store.get(a_record(1).id)
    assert [problem.code for problem in store.verify().corrupt] == ["E_VERSION"]
    assert store.set_aside_corrupt() == []
    assert path.read_bytes() == newer
    assert [one.id for one in store.scan()] == [a_record(2).id]


@pytest.mark.parametrize("note", [b"[" * 30, b'{"pid": 1e999, "host": 3}', b'{"pid": NaN}', b"\xff", b'{"pid": true'])
def test_a_torn_note_of_a_lock_says_nothing(note, tmp_path):
    with WriterLock(tmp_path, 1, UnsyncedDisk()).hold():
        (tmp_path / HOLDER).write_bytes(note)
        with pytest.raises(LockedError, match="another process"), WriterLock(tmp_path, 0, UnsyncedDisk()).hold():
            raise AssertionError("two hold it")


def test_a_lock_that_is_somebody_elses_file_is_not_taken(tmp_path):
    (tmp_path / "theirs").write_text("theirs", encoding="utf-8")
    os.link(tmp_path / "theirs", tmp_path / ".lock")
    with pytest.raises(StorageError, match="of its own"), WriterLock(tmp_path, 0, UnsyncedDisk()).hold():
        raise AssertionError("it was taken")


def test_the_next_writer_sweeps_what_a_dead_one_left_of_the_view(template, tmp_path):
    """Its note is there and nobody holds the lock."""
    folder = tmp_path / "db"
    shutil.copytree(template, folder)
    (folder / ".experience.yaml.0123.tmp").write_text("half", encoding="utf-8")
    (folder / ".lock.copies.holder").write_text("{}", encoding="utf-8")
    FileStore.open(folder, disk=UnsyncedDisk()).add([a_record(7)])
    assert not [*folder.glob(".*.tmp"), *folder.glob(".lock.copies.holder")]


BESIDE = """
import sys
from tests.builders import a_record_of, open_memory
place, kind = sys.argv[1:]
with open_memory(place, lock_timeout=60.0) as memory:
    for number in range(12):
        if kind == "add":
            memory.store.add([a_record_of(f"Sort the table by column {number}", session=f"{place}{number % 3}")])
            memory.index_if_possible()
        elif kind == "view":
            memory.index(rebuild=True)
        elif number:
            try:
                memory.purge(f"{place}{number % 3}")
            except Exception as error:
                if "no record comes from" not in str(error):
                    raise
"""


@pytest.mark.slow
def test_ingest_and_purge_of_one_store_at_once_end_without_an_error(tmp_path):
    """Four processes: two that learn, one that purges, one that publishes."""
    memory_of(tmp_path / "db", FIRST).close()
    line = [sys.executable, "-c", BESIDE, str(tmp_path / "db")]
    running = [
        subprocess.Popen([*line, kind], cwd=Path(__file__).parents[1], stderr=subprocess.PIPE, text=True)
        for kind in ("add", "add", "purge", "view")
    ]
    errors = [one.communicate(timeout=240)[1] for one in running]
    assert [one.returncode for one in running] == [0] * 4, errors
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        assert not memory.verify().corrupt
    assert not [*tmp_path.rglob("*.tmp")]
    assert Generations(tmp_path / "db" / "index").number()
    assert validate(type(FIRST), FIRST.model_dump())
