"""The PostgreSQL store on a real server: writers, readers, migrations, damage, a server that goes, whole memories."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import Meaningful, a_record, a_record_of
from tests.disks import UnsyncedDisk
from tests.postgres_server import Server, running
from ufo_experience.cli import app
from ufo_experience.errors import (
    CorruptError,
    DataError,
    FormatVersionError,
    IndexMismatchError,
    LockedError,
    QuotaError,
    ServiceError,
    StorageError,
    UsageError,
)
from ufo_experience.index import without_password
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Trust
from ufo_experience.store import open_store
from ufo_experience.store.exchange import export_json
from ufo_experience.store.folder.signing import Signer
from ufo_experience.store.folder.store import FileStore

pytestmark = pytest.mark.server
psycopg = pytest.importorskip("psycopg", reason='needs: pip install "ufo-experience[postgres]"')

from ufo_experience.index.generations import DUE_LEAST  # noqa: E402
from ufo_experience.store.postgres.schema import MIGRATIONS, open_tables  # noqa: E402
from ufo_experience.store.postgres.store import PostgresStore  # noqa: E402

TASK = "Email Zoë № 7"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server for this module."""
    yield from running()


@pytest.fixture
def url(server: Server) -> str:
    """An empty database."""
    return server.database()


@pytest.fixture
def on_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ExperienceMemory]:
    """Opens a memory as another machine would: each name has a cache of its own."""

    def open_memory(name: str, url: str, **options: object) -> ExperienceMemory:
        monkeypatch.setenv("UFO_EXPERIENCE_CACHE", str(tmp_path / name))
        return ExperienceMemory.open(url, embedder="hashing", **options)

    return open_memory


# ---------------------------------------------------------------- writers and readers


def test_four_processes_lose_nothing_and_readers_see_every_commit(url):
    """4 × 50 adds at once: every acknowledged record is there, and a reader who follows the mtimes misses none."""
    reader = open_store(url)
    command = [sys.executable, "-m", "tests.pg_writer", url]
    writers = [
        subprocess.Popen([*command, str(first), "50"], stdout=subprocess.PIPE, text=True) for first in range(0, 200, 50)
    ]
    seen: set[str] = set()
    mtimes: dict[str, int] = {}

    def follow() -> None:
        now = reader.shard_mtimes()
        for shard in (name for name, stamp in now.items() if mtimes.get(name) != stamp):
            seen.update(reader.ids_in(shard))
        mtimes.clear()
        mtimes.update(now)

    last = ""
    while any(writer.poll() is None for writer in writers):
        if (revision := reader.revision()) != last:
            last = revision
            follow()
    acknowledged = {line for writer in writers for line in writer.communicate()[0].split()}
    if reader.revision() != last:
        follow()
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    assert len(acknowledged) == 200
    assert acknowledged == set(reader.ids()) == seen
    assert int(reader.revision()) == 201


def test_a_reader_never_sees_a_revision_before_what_belongs_to_it(url):
    """While a commit is under way its revision is not visible, and later writers wait instead of overtaking it."""
    store, other = open_store(url), open_store(url)
    before = store.revision()
    with store.database.transaction() as connection:
        connection.execute("SELECT revision FROM ufo_experience.store FOR UPDATE")
        thread = threading.Thread(target=other.add, args=([a_record(1)],))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert store.revision() == before
    thread.join()
    assert store.revision() != before
    assert store.ids() == [a_record(1).id]


def test_a_writer_who_waits_too_long_is_locked_out(url):
    """`LockedError` after `lock_timeout`; nothing of it is stored."""
    store, patient = open_store(url), open_store(url, lock_timeout=0.1)
    with store.database.transaction() as connection:
        connection.execute("SELECT revision FROM ufo_experience.store FOR UPDATE")
        with pytest.raises(LockedError):
            patient.add([a_record(1)])
    assert store.ids() == []


def test_a_role_keeps_no_more_records_than_allowed(url):
    """Its transaction is undone whole; what other roles added counts as theirs, a removal makes room."""
    open_store(url).add([a_record(1), a_record(2)])
    store = open_store(url, max_per_author=2)
    with pytest.raises(QuotaError, match=r"has 2 of 2 records \(setting max_records_per_author\)"):
        store.add([a_record(3)])
    with store.database.transaction() as connection:
        connection.execute("UPDATE ufo_experience.records SET author = 'another' WHERE id = %s", (a_record(1).id,))
    store.add([a_record(3)])
    store.remove([a_record(2).id])
    store.add([a_record(4)])
    assert sorted(store.ids()) == sorted(a_record(number).id for number in (1, 3, 4))


# ---------------------------------------------------------------- versions, damage, errors


def test_older_tables_are_brought_up_to_date_and_keep_their_records(url, server):
    """A database with the first version's tables opens; its id stays."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(MIGRATIONS[0])
        connection.execute("INSERT INTO ufo_experience.store (version, store_id) VALUES (1, repeat('ab', 16))")
    store = open_store(url, create=False)
    assert store.store_id == "ab" * 16
    with store.database.connection() as connection:
        found = connection.execute("SELECT version FROM ufo_experience.store").fetchone()
    assert found == (len(MIGRATIONS),)
    assert store.add([a_record(1)]).added


@pytest.mark.parametrize(
    "change",
    [
        "trust = 'approved'",
        "trust = 'approved', signed_status = NULL",
        "usage = '{\"helped\": 9}'",
        "signed_status = replace(signed_status, 'verified', 'approved'), trust = 'approved'",
        "signed_status = left(signed_status, 40)",
    ],
)
def test_a_row_that_was_changed_without_the_key_counts_as_quarantined(url, change):
    """Of a record as it was made and of one whose trust was raised; `verify` names each; approving signs again."""
    signer = Signer(b"0123456789abcdef")
    store = PostgresStore.open(url, signer=signer)
    plain, raised = a_record(1, trust=Trust.OBSERVED), a_record(2, trust=Trust.OBSERVED)
    store.add([plain, raised])
    store.set_status(raised.id, trust=Trust.VERIFIED)
    assert [store.get(one.id).trust for one in (plain, raised)] == [Trust.OBSERVED, Trust.VERIFIED]
    assert store.verify().corrupt == []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"UPDATE ufo_experience.records SET {change} WHERE id = '{raised.id}'")
    assert store.get(raised.id).trust is Trust.QUARANTINED
    assert store.get(plain.id).trust is Trust.OBSERVED
    assert [problem.code for problem in store.verify().corrupt] == ["E_UNSIGNED"]
    store.set_status(raised.id, trust=Trust.APPROVED)
    assert store.get(raised.id).trust is Trust.APPROVED


def test_rows_of_another_key_or_of_none_count_as_quarantined(url):
    """Without a key nothing is checked, as before."""
    PostgresStore.open(url).add([a_record(1, trust=Trust.APPROVED)])
    PostgresStore.open(url, signer=Signer(b"another key, 16+")).add([a_record(2, trust=Trust.APPROVED)])
    assert {one.trust for one in PostgresStore.open(url).scan()} == {Trust.APPROVED}
    signed = PostgresStore.open(url, signer=Signer(b"0123456789abcdef"))
    assert {one.trust for one in signed.scan()} == {Trust.QUARANTINED}


def test_newer_tables_are_refused_untouched(url):
    """Nothing is changed, for reading or writing."""
    store = open_store(url)
    with store.database.connection() as connection:
        connection.execute("UPDATE ufo_experience.store SET version = 99")
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(FormatVersionError, match="newer"):
            open_store(url, **options)
    with store.database.connection() as connection:
        assert connection.execute("SELECT version FROM ufo_experience.store").fetchone() == (99,)


def test_two_machines_that_make_the_store_at_once_make_one(url):
    """Both get the same id."""
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(open_store(url).store_id)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 4
    assert len(set(ids)) == 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("record = replace(record, 'Outlook', 'Inlook!')", CorruptError),
        ("record = left(record, 50)", CorruptError),
        ("trust = 'godlike'", DataError),
        ("usage = '{\"injected\": -1}'", DataError),
    ],
)
def test_a_damaged_row_is_named_and_the_others_go_on(url, change, error):
    """`get` raises, `scan` leaves it out, `verify` names it, `remove` takes it away."""
    store = open_store(url)
    one, two = a_record(1), a_record(2)
    store.add([one, two])
    with store.database.connection() as connection:
        connection.execute(f"UPDATE ufo_experience.records SET {change} WHERE id = %s", (one.id,))
    with pytest.raises(error, match=one.id):
        store.get(one.id)
    assert list(store.scan()) == [two]
    found = store.verify()
    assert found.records == 1
    assert [one.id in problem.file for problem in found.corrupt] == [True]
    assert store.remove([one.id]) == [one.id]
    assert store.verify().corrupt == []


def test_no_error_names_a_password():
    """Neither the message nor what it was raised from, whichever way the password was given."""
    secret = "s3cr3t pass"
    quoted = "s3cr3t%20pass"
    for bad in (
        f"postgresql://nobody:{quoted}@127.0.0.1:1/db",
        f"postgresql://nobody@127.0.0.1:1/db?password={quoted}",
        f"postgresql://nobody:{quoted}@127.0.0.1:1/db?nonsense={quoted}",
        f"postgresql://nobody:{quoted}@[::1/db",
    ):
        with pytest.raises((ServiceError, UsageError)) as caught:
            open_store(f"{bad}&connect_timeout=2" if "?" in bad else bad)
        told = f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
        assert secret not in told
        assert quoted not in told


def test_an_engine_is_written_down_without_its_password():
    """As part of the address or as a parameter; what is left still opens."""
    assert without_password("postgresql://me:a%20b@h:5/db") == "postgresql://me@h:5/db"
    assert without_password("postgresql://me@h/db?password=x&host=y") == "postgresql://me@h/db?host=y"
    assert without_password("postgresql:///db?host=y&password=x") == "postgresql:///db?host=y"
    assert without_password("milvus:///a/b.db") == "milvus:///a/b.db"


def test_a_server_that_goes_is_a_service_error_and_one_that_comes_back_is_used_again():
    """No hanging, no restart of the program."""
    running_one = running()
    server = next(running_one)
    url = server.database()
    store = open_store(url, lock_timeout=1)
    store.add([a_record(1)])
    with store.database.connection() as connection, pytest.raises(ServiceError), store.database.errors():
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert store.ids() == [a_record(1).id]
    server.stop()
    for _ in range(2):
        with pytest.raises(ServiceError, match="test_"):
            store.add([a_record(2)])
    running_one.close()


def test_a_database_of_another_encoding_is_refused(server, url):
    """Text that is not UTF-8 cannot hold every record."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(StorageError, match="UTF-8"):
        open_store(url.replace(url.split("/")[3].split("?")[0], "latin"))


# ---------------------------------------------------------------- whole memories


def test_a_memory_in_a_database_works_from_end_to_end(url, on_machine):
    """Add, find, approve, prompt, report; another machine has all of it at once."""
    memory = on_machine("a", url)
    triple = {"task": "send an email to Zoë", "application": "Outlook"}, {"strategy": "New Email"}, {"success": True}
    id = memory.add_experience(*triple)
    found = memory.retrieve("send an email to Zoë", application="Outlook")
    assert (len(found), found.withheld_ids) == (0, (id,))
    memory.store.set_status(id, trust=Trust.APPROVED)
    other = on_machine("b", url)
    for one in (memory, other):
        hits = one.retrieve("send an email to Zoë", application="OUTLOOK.EXE")
        assert [hit.experience.id for hit in hits] == [id]
        assert hits[0].ranked_by == "structured"
        assert hits.degraded is None
    assert id in memory.build_prompt("send an email to Zoë", hits).ids
    assert memory.report(hits, success=True, session="s") == [id]
    assert other.store.get(id).usage.helped == 1
    other.store.remove([id])
    assert len(memory.retrieve("send an email to Zoë")) == 0


def test_a_generation_is_made_once_and_used_by_every_machine(url, on_machine):
    """The second machine embeds nothing and reads no record but those it answers with."""
    first = on_machine("a", url)
    first.store.add(a_record(number, trust=Trust.APPROVED) for number in range(300))
    assert first.index().generation == 1
    second = on_machine("b", url)
    snapshot = second.live.snapshot()
    assert snapshot.manifest is not None
    assert snapshot.manifest.generation == 1
    assert len(snapshot.index) == len(snapshot.catalog) == 300
    assert [hit.experience.state.request for hit in second.retrieve(TASK, top_k=1)] == [TASK]
    assert second.live.generations.current().folder != first.live.generations.current().folder


def test_a_few_changes_publish_nothing_and_are_found_all_the_same(url, on_machine):
    """A generation is published when enough has changed; the tail comes from the store and from pgvector."""
    memory, other = on_machine("a", url), on_machine("b", url)
    memory.store.add(a_record(number, trust=Trust.APPROVED) for number in range(20))
    assert memory.index().generation == 1
    memory.store.add([a_record(100, trust=Trust.APPROVED)])
    assert memory.index().generation == 1
    assert [hit.experience.id for hit in other.retrieve("Email Zoë № 100", top_k=1)] == [a_record(100).id]
    memory.store.add(a_record(number) for number in range(200, 200 + DUE_LEAST))
    assert memory.index().generation == 2
    assert other.live.snapshot().manifest.generation == 2
    assert len(other.live.snapshot().catalog) == 21 + DUE_LEAST


def test_a_generation_that_never_reached_the_database_is_replaced(url, on_machine):
    """What was written on this machine only is not taken for published."""
    memory, other = on_machine("a", url), on_machine("b", url)
    memory.store.add(a_record(number) for number in range(3))
    memory.index()
    generations = memory.live.generations

    def fail_before_the_end() -> None:
        with generations.publisher() as publish:
            publish({"x.npy": b"?"}, generations.last_manifest())
            raise KeyError

    with pytest.raises(KeyError):
        fail_before_the_end()
    assert generations.number() == 1
    other.store.add([a_record(9)])
    assert other.index(rebuild=True).generation == 2
    assert generations.number() == 2
    generations.current().check()
    assert memory.live.snapshot().manifest == other.live.snapshot().manifest


def test_a_damaged_copy_is_fetched_again_or_named(url, on_machine):
    """A file that differs from the manifest never answers."""
    memory = on_machine("a", url)
    memory.store.add(a_record(number) for number in range(3))
    memory.index()
    current = memory.live.generations.current()
    (current.folder / "rows.npy").write_bytes(b"x" * current.manifest.files["rows.npy"].bytes)
    with pytest.raises(CorruptError, match="rows"):
        memory.live.generations.current()
    memory.live.generations.delete_all()
    assert memory.live.generations.number() is None
    assert memory.index().generation >= 1


def test_another_embedder_is_refused_until_the_index_is_rebuilt(url, on_machine):
    """Vectors of two embedders never mix, whichever machine asks."""
    memory = on_machine("a", url)
    memory.store.add([a_record(1)])
    memory.index()
    other = ExperienceMemory.open(url, embedder="hashing:256")
    with pytest.raises(IndexMismatchError):
        other.index()
    assert other.index(rebuild=True).embedded == 1
    assert ExperienceMemory.open(url).live.embedder.name == other.live.embedder.name


def test_removed_and_purged_records_leave_the_vectors(url, on_machine):
    """Purge takes the vectors out of the server and the generation out of the database."""
    from ufo_experience.maintenance.changes import purge

    memory = on_machine("a", url)
    memory.store.add(a_record(number) for number in range(6))
    memory.index()
    assert len(purge(memory.store, memory.live.generations, "s1")) == 3
    snapshot = memory.live.snapshot()
    assert len(snapshot.index) == len(snapshot.catalog) == 3
    with memory.store.database.connection() as connection:
        assert connection.execute("SELECT count(*) FROM ufo_experience.generations").fetchone() == (1,)


def test_a_folder_may_keep_its_vectors_in_a_database(url, tmp_path):
    """`--index postgresql://…` with a file store; the index remembers it for those who do not say."""
    from ufo_experience.settings import Settings

    folder = str(tmp_path / "db")
    FileStore.open(folder, disk=UnsyncedDisk()).add(a_record(n, trust=Trust.APPROVED) for n in range(20))
    chosen = ExperienceMemory.open(folder, embedder="hashing", settings=Settings(index=url))
    assert chosen.index().embedded == 20
    assert not list((tmp_path / "db" / "index").rglob("vectors*"))
    again = ExperienceMemory.open(folder)
    assert again.live.generations.engine == without_password(url)
    assert [hit.experience.state.request for hit in again.retrieve(TASK, top_k=1)] == [TASK]
    back = ExperienceMemory.open(folder, settings=Settings(index="faiss"))
    assert back.index().embedded == 20
    assert [hit.experience.state.request for hit in back.retrieve(TASK, top_k=1)] == [TASK]


def test_words_answer_when_the_server_of_the_vectors_is_away(tmp_path, url):
    """A folder whose vectors are elsewhere: the answer is degraded and says why."""
    from ufo_experience.settings import Settings

    folder = str(tmp_path / "db")
    FileStore.open(folder, disk=UnsyncedDisk()).add(a_record(n, trust=Trust.APPROVED) for n in range(20))
    away = Settings(index="postgresql://127.0.0.1:1/away?connect_timeout=2")
    memory = ExperienceMemory.open(folder, embedder=Meaningful(), settings=away)
    found = memory.retrieve(TASK, top_k=1)
    assert found.degraded
    assert [hit.experience.state.request for hit in found] == [TASK]


def test_the_command_line_takes_the_url(url, tmp_path, monkeypatch, capsys):
    """import, approve, retrieve, verify and export with `--db postgresql://…`."""
    monkeypatch.setenv("UFO_EXPERIENCE_CACHE", str(tmp_path / "cache"))
    first = FileStore.open(tmp_path / "first", disk=UnsyncedDisk())
    first.add(a_record(number) for number in range(3))
    backup = tmp_path / "backup.json"
    backup.write_text(export_json(first), encoding="utf-8")

    def run(*arguments: str) -> dict:
        app([*arguments, "--db", url, "--json"], standalone_mode=False)
        return json.loads(capsys.readouterr().out)

    assert len(run("import", str(backup))["added"]) == 3
    one = run("list")["experiences"][0]
    assert one["trust"] == "quarantined"
    assert run("retrieve", one["request"])["hits"] == []
    run("approve", one["id"])
    assert run("index", "--embedder", "hashing")["records"] == 3
    assert [hit["id"] for hit in run("retrieve", one["request"])["hits"]] == [one["id"]]
    assert run("verify")["index"] == "ok"
    assert run("export")["records"] == 3


def test_opening_tables_twice_changes_nothing(url):
    """An open of a store that is there only reads."""
    store = open_store(url)
    assert open_tables(store.database, create=False) == store.store_id


@pytest.mark.parametrize("store_id", ["../../../outside", "a/b", "", "x" * 32, "..", "/tmp/x"])
def test_an_id_that_is_a_path_is_refused(url, store_id):
    """It would name a folder on this machine."""
    PostgresStore.open(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE ufo_experience.store SET store_id = %s", (store_id,))
    with pytest.raises(CorruptError, match="no id of a store"):
        PostgresStore.open(url)


def test_a_reader_whose_connections_were_cut_answers_at_once(url, on_machine):
    """Not one failed or degraded answer."""
    with on_machine("reader", url) as memory:
        memory.store.add([a_record_of("Turn on Bluetooth", trust=Trust.APPROVED)])
        memory.index()
        assert memory.retrieve("Turn on Bluetooth").hits
        for _ in range(2):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid()"
                )
            found = memory.retrieve("Turn on Bluetooth")
            assert (len(found.hits), found.degraded) == (1, None)


def test_a_reader_whose_server_was_restarted_finds_its_way_back(on_machine):
    """Twice: the first question afterwards is answered, with nothing missing."""
    running_one = running()
    server = next(running_one)
    with on_machine("reader", server.database()) as memory:
        memory.store.add([a_record_of("Turn on Bluetooth", trust=Trust.APPROVED)])
        memory.index()
        assert memory.retrieve("Turn on Bluetooth").hits
        for _ in range(2):
            server.restart()
            found = memory.retrieve("Turn on Bluetooth")
            assert (len(found.hits), found.degraded) == (1, None)
    running_one.close()


@pytest.mark.parametrize("vectors", [True, False])
def test_a_role_that_may_only_read_can_ask(url, on_machine, vectors):
    """With vectors it may not read, words answer."""
    with on_machine("writer", url) as memory:
        memory.store.add([a_record_of("Turn on Bluetooth", trust=Trust.APPROVED)])
        memory.index()
    with psycopg.connect(url, autocommit=True) as connection:
        role = f"reader_{'both' if vectors else 'words'}"
        connection.execute(f"CREATE ROLE {role} LOGIN")
        for schema in ("ufo_experience", "ufo_vectors")[: 2 if vectors else 1]:
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    with on_machine("reader", url.replace("postgres@", f"{role}@")) as memory:
        found = memory.retrieve("Turn on Bluetooth")
        assert len(found.hits) == 1
