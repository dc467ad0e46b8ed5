"""Indexes on servers keep the promises of `test_index.py`, and a few of their own, on real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.postgres_server import Server, running
from tests.test_index import (
    DIM,
    QUERIES,
    exact,
    filled,
    ident,
    same,
    test_a_bad_vector_is_refused_and_changes_nothing,
    test_a_filtered_top_k_is_the_true_top_k_inside_the_filter,
    test_adding_an_id_again_replaces_its_vector,
    test_an_empty_index_answers_nothing,
    test_equal_scores_come_in_id_order_however_many_there_are,
    test_k_beyond_the_size_gives_every_row,
    test_one_query_and_a_batch_answer_alike,
    test_removed_ids_never_answer,
    test_search_agrees_with_exact_search,
    test_similarity_of_given_ids_is_their_search_score,
    test_the_same_id_twice_in_one_call_is_refused,
    test_updated_attributes_change_what_passes_a_filter,
    unit,
)
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.ids import new_id
from ufo_experience.index import open_index
from ufo_experience.index.base import Attributes, Filter, Space, VectorIndex
from ufo_experience.store.folder.store import FileStore

__all__ = [
    "filled",
    "test_a_bad_vector_is_refused_and_changes_nothing",
    "test_a_filtered_top_k_is_the_true_top_k_inside_the_filter",
    "test_adding_an_id_again_replaces_its_vector",
    "test_an_empty_index_answers_nothing",
    "test_equal_scores_come_in_id_order_however_many_there_are",
    "test_k_beyond_the_size_gives_every_row",
    "test_one_query_and_a_batch_answer_alike",
    "test_removed_ids_never_answer",
    "test_search_agrees_with_exact_search",
    "test_similarity_of_given_ids_is_their_search_score",
    "test_the_same_id_twice_in_one_call_is_refused",
    "test_updated_attributes_change_what_passes_a_filter",
]
pytestmark = pytest.mark.server
SPACE = Space("0" * 32, "hashing", "1", DIM)
Opener = Callable[..., VectorIndex]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server for this module."""
    yield from running()


@pytest.fixture(scope="module")
def database(server: Server) -> str:
    """The URL of a database."""
    return server.database()


@pytest.fixture(params=["postgresql", "milvus"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the index of a space in one and the same place, as often as it is called."""
    if request.param == "milvus":
        pytest.importorskip("milvus_lite", reason='needs: pip install "ufo-experience[milvus]"')
        engine = f"milvus://{tmp_path / 'vectors.db'}"
    else:
        engine = request.getfixturevalue("database")
    store = FileStore.open(tmp_path / "db")
    own = Space(new_id(), "hashing", "1", DIM)
    return lambda space=own: open_index(engine, space, store=store)


@pytest.fixture
def index(reopen: Opener) -> VectorIndex:
    """An empty index."""
    return reopen()


def test_what_was_added_is_there_for_others(filled, reopen):
    """A second object finds the same; a copy is the index itself, and there are no files to save."""
    index, table = filled
    other = reopen()
    assert len(other) == 60
    assert bool(other)
    assert same(other.search(QUERIES[:1], 10)[0], exact(table, QUERIES[0], 10))
    assert other.copy() is other
    assert index.save() == {}


def test_spaces_do_not_mix(filled, reopen):
    """Another embedder's vectors, or another store's, are another table."""
    for space in (Space("1" * 32, "hashing", "1", DIM), Space("0" * 32, "hashing:8", "1", 8)):
        other = reopen(space)
        assert not bool(other)
        assert other.search(np.eye(1, space.dim, dtype=np.float32), 3) == [[]]


def test_missing_names_what_has_no_vector(filled):
    """In the order asked."""
    index, _ = filled
    assert index.missing([ident(99), ident(3), ident(98)]) == [ident(99), ident(98)]
    assert index.missing([]) == []
    assert ident(3) in index
    assert ident(99) not in index


def test_retain_takes_out_all_others(filled):
    """What is not named goes."""
    index, table = filled
    kept = [ident(n) for n in range(7)]
    assert index.retain([*kept, ident(99)]) == 53
    assert same(index.search(QUERIES[:1], 60)[0], exact({i: table[i] for i in kept}, QUERIES[0], 60))


def test_own_and_imported_records_have_limits_of_their_own(index):
    """`min_trust_imported` binds imported rows only."""
    vectors = unit(np.random.default_rng(1), 4)
    kinds = [Attributes(trust=trust, imported=imported) for imported in (False, True) for trust in (2, 3)]
    index.add([ident(n) for n in range(4)], vectors, kinds)
    found = index.search(vectors[:1], 4, Filter(min_trust=2, min_trust_imported=3))[0]
    assert sorted(i for i, _ in found) == [ident(0), ident(1), ident(3)]


def test_names_are_data_and_no_code(index):
    """Quotes, backslashes and expressions in names filter exactly."""
    names = ["a'b", 'a"b', "a\\'; DROP TABLE x --", "%s {table} {}", "é\u0301 🙂", 'x" or 1 == 1 or "']
    vectors = unit(np.random.default_rng(2), len(names))
    index.add([ident(n) for n in range(len(names))], vectors, [Attributes(application=n, env=n) for n in names])
    for number, name in enumerate(names):
        for filter in (Filter(application=name), Filter(env=name)):
            assert [i for i, _ in index.search(vectors[:1], 9, filter)[0]] == [ident(number)]


def test_a_large_application_gets_an_index_of_its_own_and_keeps_its_recall(server):
    """Above `exact_rows` HNSW puts candidates forward; filtered and not, recall@10 stays above 0.95."""
    from ufo_experience.fileio.postgres import Database
    from ufo_experience.index.engines.pgvector import PgvectorIndex

    database = Database(server.database())
    index = PgvectorIndex(database, SPACE, exact_rows=300)
    rng = np.random.default_rng(5)
    vectors, names = unit(rng, 2000), ["o'Brien", "Excel", "rare"]
    apps = [names[0] if n % 2 else names[2] if n % 100 == 0 else names[1] for n in range(2000)]
    rows = [Attributes(application=app, trust=n % 4) for n, app in enumerate(apps)]
    index.add([ident(n) for n in range(2000)], vectors, rows)
    index.save()
    index.save()
    with database.connection() as connection:
        built = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'").fetchall()
    assert len(built) == 3
    queries = unit(rng, 20)
    for filter, keep in (
        (None, lambda n: True),
        (Filter(application=names[0]), lambda n: apps[n] == names[0]),
        (Filter(application="rare"), lambda n: apps[n] == "rare"),
        (Filter(min_trust=2), lambda n: n % 4 >= 2),
        (Filter(application="Excel", min_trust=2), lambda n: apps[n] == "Excel" and n % 4 >= 2),
    ):
        inside = [n for n in range(2000) if keep(n)]
        hits = 0
        for query, found in zip(queries, index.search(queries, 10, filter), strict=True):
            true = sorted(inside, key=lambda n, query=query: -float(vectors[n] @ query))[:10]
            hits += len({ident(n) for n in true} & {i for i, _ in found})
            assert len(found) == 10
        assert hits / 200 >= (1.0 if len(inside) <= 300 else 0.95), filter


def test_a_server_that_is_not_there_is_a_service_error(tmp_path):
    """Opening asks nothing; the first call says who could not be reached, and never the password."""
    store = FileStore.open(tmp_path / "db")
    index = open_index("postgresql://me:s3cret@127.0.0.1:1/db?connect_timeout=1", SPACE, store=store)
    with pytest.raises(ServiceError, match=r"me@127\.0\.0\.1:1/db") as caught:
        index.search(QUERIES[:1], 1)
    assert "s3cret" not in str(caught.value) + repr(caught.value.__cause__)


def test_an_engine_nobody_knows_is_a_usage_error(tmp_path):
    """The known ones are named; the store's own database needs a store in a database."""
    store = FileStore.open(tmp_path / "db")
    with pytest.raises(UsageError, match="milvus"):
        open_index("chroma", SPACE, store=store)
    with pytest.raises(UsageError, match="postgresql://"):
        open_index("pgvector", SPACE, store=store)
    with pytest.raises(DataError):
        open_index("postgresql://x/y", Space("0" * 32, "hashing", "1", 0), store=store)
