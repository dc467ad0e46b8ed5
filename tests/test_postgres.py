"""What only a server has: roles, connections that are cut, writers on many machines, a server that dies."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.postgres_server import Server, running
from tests.stores import a_run_of, index_of, server
from ufo_experience import ExperienceMemory
from ufo_experience.errors import DataError, LockedError, ServiceError, StorageError, UsageError
from ufo_experience.request import Request
from ufo_experience.schema import Trust
from ufo_experience.store import open_store

pytestmark = pytest.mark.server
psycopg = pytest.importorskip("psycopg", reason='needs: pip install "ufo-experience[postgres]"')

__all__ = ["server"]
ONE, TWO, THREE = (a_run_of(task) for task in ("Turn on Bluetooth", "Open the mail", "Print the page"))
STEPS = [{"action": "click", "control": name, "control_type": "Button"} for name in ("Settings", "Bluetooth")]


@pytest.fixture
def url(server: Server) -> str:
    """An empty database."""
    return server.database()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UFO_EXPERIENCE_CACHE", str(tmp_path / "cache"))


def run_sql(url: str, *statements: str) -> None:
    """What somebody does with SQL of his own."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def open_memory(url: str) -> ExperienceMemory:
    """A memory that needs no service."""
    return ExperienceMemory.open(url, embedder="hashing")


# ---- many writers ----


def learner(url: str, first: int, count: int) -> subprocess.Popen[str]:
    """A process that learns runs and prints the id of each that it was told is stored."""
    command = [sys.executable, "-m", "tests.pg_learner", url, str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))


def test_four_processes_lose_nothing_and_a_reader_finds_all(url):
    """4 × 25 runs at once; each is found by the words of its task as soon as its writer was told."""
    reader = open_store(url)
    learners = [learner(url, first, 25) for first in range(0, 100, 25)]
    told = [line for one in learners for line in one.communicate()[0].split()]
    assert [one.returncode for one in learners] == [0, 0, 0, 0]
    assert len(set(told)) == 100
    assert set(told) == set(reader.ids())
    assert index_of(reader).count() == 100


def test_a_killed_learner_loses_nothing_it_was_told_and_stops_nobody(url):
    """Others go on, and what it left is found."""
    open_store(url)
    doomed, other = learner(url, 0, 10_000), learner(url, 20_000, 20)
    told = [doomed.stdout.readline().strip() for _ in range(5)]
    doomed.kill()
    told += doomed.communicate()[0].split()[:-1]  # the last line may be torn
    told += other.communicate()[0].split()
    assert other.returncode == 0
    store = open_store(url)
    assert set(told) <= set(store.ids())
    assert index_of(store).count() == len(store.ids())


def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged():
    """`kill -9` while two processes learn; they get an error of ours, and all they were told is there again."""
    running_one = running(synced=True)
    server = next(running_one)
    url = server.database()
    open_store(url)
    learners = [learner(url, first, 10_000) for first in (0, 20_000)]
    told = [one.stdout.readline().strip() for one in learners for _ in range(10)]
    server.kill()
    for one in learners:
        told += one.communicate(timeout=30)[0].split()
        assert one.returncode == ServiceError.exit_code
    server.start()
    store = open_store(url)
    assert set(told) <= set(store.ids())
    assert index_of(store).count() == len(store.ids())
    running_one.close()


def test_writers_do_not_wait_for_each_other(url):
    """While one commit is under way, others are made and seen."""
    store, other = open_store(url), open_store(url, lock_timeout=0.1)
    store.add([ONE])
    with psycopg.connect(url) as slow:
        slow.execute("INSERT INTO ufo_experience.record (id, record, trust, status) VALUES ('x', '{}', '', '{}')")
        slow.execute("UPDATE ufo_experience.clock SET changes = changes + 1 WHERE slot = pg_backend_pid() % 64")
        before = store.revision()
        assert other.add([TWO]).added == (TWO.id,)
        assert other.set_status(ONE.id, trust=Trust.APPROVED).trust is Trust.APPROVED
        during = store.revision()
        slow.rollback()
    assert before != during
    assert store.get(ONE.id).trust is Trust.APPROVED


def test_a_writer_who_waits_too_long_for_the_same_record_is_locked_out(url):
    """`LockedError` after `lock_timeout`; nothing is changed."""
    store, patient = open_store(url), open_store(url, lock_timeout=0.1)
    store.add([ONE])
    with psycopg.connect(url) as slow:
        slow.execute("SELECT FROM ufo_experience.record FOR UPDATE")
        with pytest.raises(LockedError):
            patient.set_status(ONE.id, trust=Trust.APPROVED)
        slow.rollback()
    assert store.get(ONE.id) == ONE


def test_two_machines_that_make_the_store_at_once_make_one(url):
    """Both get the same key."""
    keys: list[bytes] = []
    threads = [threading.Thread(target=lambda: keys.append(open_store(url).key())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 4
    assert len(set(keys)) == 1


def test_a_child_after_a_fork_has_connections_of_its_own(url):
    """Both go on writing, whoever ends first."""
    store = open_store(url)
    store.add([ONE])
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if store.add([TWO]).added else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    store.add([THREE])
    assert sorted(store.ids()) == sorted([ONE.id, TWO.id, THREE.id])


# ---- roles ----


def test_a_role_that_may_only_read_can_ask_and_changes_nothing(url):
    """Its writes are storage errors that name what was refused."""
    with open_memory(url) as memory:
        memory.store.add([ONE])
        memory.approve(ONE.id)
        memory.index()
    run_sql(
        url,
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA ufo_experience TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA ufo_experience TO reader",
        "REVOKE SELECT ON ufo_experience.secret FROM reader",
    )
    with open_memory(url.replace("postgres@", "reader@")) as memory:
        assert [hit.experience.id for hit in memory.retrieve("Turn on Bluetooth")] == [ONE.id]
        for refused in (lambda: memory.store.add([TWO]), lambda: memory.store.remove([ONE.id]), memory.store.key):
            with pytest.raises(StorageError, match="permission denied"):
                refused()
    assert open_store(url).ids() == [ONE.id]


def test_what_others_added_is_shown_when_somebody_has_approved_it(url):
    """A store that many may write to trusts no run by itself."""
    with open_memory(url) as memory, open_memory(url) as other:
        one = memory.remember("Turn on Bluetooth", STEPS, True, "Settings", "program", session="s")
        found = other.retrieve("Turn on Bluetooth")
        assert (list(found.hits), found.withheld_ids) == ([], (one.id,))
        other.approve(one.id)
        assert [hit.experience.id for hit in memory.retrieve("Turn on Bluetooth")] == [one.id]


# ---- what is in the tables ----


def test_tables_of_another_version_are_refused_untouched(url):
    """Of a newer package, and of the first edition."""
    open_store(url)
    for version in (99, 5):
        run_sql(url, f"UPDATE ufo_experience.store SET version = {version}")
        with pytest.raises(DataError, match=str(version)):
            open_store(url)


def test_a_damaged_row_is_named_and_the_others_go_on(url):
    """`get` raises, `scan` leaves it out, `verify` names it, `purge` takes it away."""
    store = open_store(url)
    store.add([ONE, TWO])
    for damage in ("record = '[]'", "record = replace(record::text, '\"state\"', '\"stale\"')::json"):
        run_sql(url, f"UPDATE ufo_experience.record SET {damage} WHERE id = '{ONE.id}'")
        with pytest.raises(DataError, match=ONE.id):
            store.get(ONE.id)
        assert list(store.scan()) == [TWO]
        found = store.verify()
        assert (found.records, [ONE.id in problem.file for problem in found.corrupt]) == (1, [True])
    store.purge([ONE.id])
    assert store.verify().corrupt == []


def test_a_record_edited_with_sql_counts_as_quarantined_until_somebody_approves_it(url):
    """Trust holds for the content it was given to."""
    store = open_store(url)
    store.add([ONE])
    store.set_status(ONE.id, trust=Trust.APPROVED)
    run_sql(url, "UPDATE ufo_experience.record SET record = replace(record::text, 'Bluetooth', 'remote access')::json")
    assert store.get(ONE.id).trust is Trust.QUARANTINED
    assert store.set_status(ONE.id, trust=Trust.APPROVED).trust is Trust.APPROVED


@pytest.mark.parametrize("store_id", ["../../../outside", "a/b", "", "..", "/tmp/x"])
def test_an_id_that_is_a_path_is_refused(url, store_id):
    """It would name a folder on this machine."""
    open_store(url).close()
    run_sql(url, f"UPDATE ufo_experience.store SET store_id = '{store_id}'")
    with pytest.raises(DataError, match="no id of a store"):
        open_store(url)


def test_a_database_of_another_encoding_is_refused(server, url):
    """Text that is not UTF-8 cannot hold every record."""
    run_sql(url, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(StorageError, match="UTF-8"):
        open_store(url.replace(url.split("/")[3].split("?")[0], "latin"))


# ---- connections ----


def test_no_error_names_a_password():
    """Neither the message nor what it was raised from, whichever way the password was given."""
    secret, quoted = "s3cr3t pass", "s3cr3t%20pass"
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


def test_a_statement_that_takes_too_long_is_a_service_error(url):
    """A server that hangs does not make the program hang; the time of the role stands over ours."""
    store = open_store(url)
    store.add([ONE])
    run_sql(url, "ALTER ROLE postgres SET statement_timeout = 200")
    impatient = open_store(url)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE ufo_experience.record")
        with pytest.raises(ServiceError, match="timeout"):
            impatient.ids()
    run_sql(url, "ALTER ROLE postgres RESET statement_timeout")
    assert store.ids() == [ONE.id]


def test_a_reader_whose_connections_were_cut_answers_at_once(url):
    """Not one failed or degraded answer."""
    with open_memory(url) as memory:
        memory.store.add([ONE])
        memory.approve(ONE.id)
        for _ in range(2):
            assert memory.retrieve("Turn on Bluetooth").hits
            run_sql(
                url,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid()",
            )
            found = memory.retrieve("Turn on Bluetooth")
            assert (len(found.hits), found.degraded) == (1, None)


def test_a_server_that_goes_is_a_service_error_and_one_that_comes_back_is_used_again():
    """Reading and writing, with nothing missing."""
    running_one = running()
    server = next(running_one)
    store = open_store(server.database())
    store.add([ONE])
    server.stop()
    for _ in range(2):
        with pytest.raises(ServiceError, match="test_"):
            store.add([TWO])
    server.start()
    assert store.ids() == [ONE.id]
    server.restart()
    assert store.add([TWO]).added == (TWO.id,)
    running_one.close()


# ---- large stores ----


def test_a_large_store_answers_from_the_statistics_of_the_server(url, monkeypatch):
    """What is frequent is estimated, what is rare is counted; the answer is the same."""
    store = open_store(url)
    index = index_of(store)
    store.add(
        a_run_of(f"Open the report number {number} of {'xylophone' if number == 7 else 'sales'}")
        for number in range(300)
    )
    counted = index.rarity(["open", "xylophon", "nowher"])
    monkeypatch.setattr("ufo_experience.index.postgres.LARGE", 100)
    index.sync(thorough=True)
    assert index.rarity(["open", "xylophon", "nowher"]) == pytest.approx(counted, rel=0.1)
    assert index.candidates(Request.parse("Open the report of the xylophone"))[0].row.task.endswith("xylophone")
