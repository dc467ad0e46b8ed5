"""Every vector index agrees with exact search: ids and scores, add, replace, remove, filter, empty, k > n."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience.errors import CorruptError, DataError
from ufo_experience.index.base import Attributes, Filter, VectorIndex
from ufo_experience.index.engines.faiss import FaissIndex

DIM = 16
ENGINES = {"faiss": lambda: FaissIndex(DIM), "faiss by signs": lambda: FaissIndex(DIM, exact_below=20)}


def unit(rng: np.random.Generator, n: int) -> np.ndarray:
    """`n` random unit rows."""
    rows = rng.normal(size=(n, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def ident(number: int) -> str:
    """A valid record id."""
    return f"{number:032x}"


def attributes(number: int) -> Attributes:
    """Attributes that differ from row to row."""
    return Attributes(
        application=["Outlook", "Excel", None][number % 3], trust=number % 4, success=[True, False, None][number % 3]
    )


def exact(table: dict, query: np.ndarray, k: int, keep=lambda one: True) -> list[tuple[str, float]]:
    """The definition: sort everything."""
    scored = [(i, round(float(v @ query), 6)) for i, (v, one) in table.items() if keep(one)]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]


def same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> bool:
    """Same ids in order, scores within 1e-4."""
    return [i for i, _ in found] == [i for i, _ in expected] and np.allclose(
        [s for _, s in found], [s for _, s in expected], atol=1e-4
    )


def reloaded(index: FaissIndex, **options: int) -> FaissIndex:
    """What comes back from the files of an index."""
    files = {name.removesuffix(".npy"): content for name, content in index.save().items()}
    whole = {name: content if isinstance(content, bytes) else b"".join(content) for name, content in files.items()}
    return FaissIndex.load({name: np.load(io.BytesIO(content)) for name, content in whole.items()}, **options)


@pytest.fixture(params=sorted(ENGINES))
def index(request: pytest.FixtureRequest) -> VectorIndex:
    """An empty index of each engine."""
    return ENGINES[request.param]()


@pytest.fixture
def filled(index: VectorIndex) -> tuple[VectorIndex, dict]:
    """An index with 60 rows, added in three calls, and the same rows as a plain table."""
    rng = np.random.default_rng(7)
    vectors = unit(rng, 60)
    table = {ident(n): (vectors[n], attributes(n)) for n in range(60)}
    for part in np.array_split(np.arange(60), 3):
        index.add([ident(n) for n in part], vectors[part], [attributes(n) for n in part])
    return index, table


QUERIES = unit(np.random.default_rng(8), 5)


def test_search_agrees_with_exact_search(filled):
    """Ids and scores are those of sorting everything."""
    index, table = filled
    for found, query in zip(index.search(QUERIES, 10), QUERIES, strict=True):
        assert same(found, exact(table, query, 10))


def test_one_query_and_a_batch_answer_alike(filled):
    """A query gives the same answer alone and among others."""
    index, _ = filled
    assert [index.search(query[None], 7)[0] for query in QUERIES] == index.search(QUERIES, 7)


@pytest.mark.parametrize(
    ("filter", "keep"),
    [
        (Filter(application="OUTLOOK.EXE"), lambda one: one.application == "Outlook"),
        (Filter(min_trust=2), lambda one: one.trust >= 2),
        (Filter(success=False), lambda one: one.success is False),
        (Filter(application="excel", min_trust=1), lambda one: one.application == "Excel" and one.trust >= 1),
        (Filter(application=".*"), lambda one: False),
    ],
    ids=["application", "trust", "failed", "both", "no regex"],
)
def test_a_filtered_top_k_is_the_true_top_k_inside_the_filter(filled, filter, keep):
    """Filtering happens before ranking."""
    index, table = filled
    for found, query in zip(index.search(QUERIES, 8, filter), QUERIES, strict=True):
        assert same(found, exact(table, query, 8, keep))


def test_adding_an_id_again_replaces_its_vector(filled):
    """`add` is an upsert: the id is not there twice, and scores follow the new vector."""
    index, table = filled
    vector = QUERIES[0]
    index.add([ident(5)], vector[None], [attributes(5)])
    table[ident(5)] = (vector, attributes(5))
    assert len(index) == 60
    assert same(index.search(vector[None], 10)[0], exact(table, vector, 10))


def test_removed_ids_never_answer(filled):
    """After `remove` the rest is ranked as if the removed ids had never been there."""
    index, table = filled
    gone = [ident(n) for n in range(0, 60, 2)]
    assert index.remove([*gone, ident(999)]) == 30
    rest = {i: row for i, row in table.items() if i not in gone}
    assert same(index.search(QUERIES[:1], 40)[0], exact(rest, QUERIES[0], 40))


def test_updated_attributes_change_what_passes_a_filter(filled):
    """`update` keeps the vector and replaces what is filtered by."""
    index, _ = filled
    index.update([ident(0), ident(999)], [Attributes(application="Paint"), Attributes()])
    assert [i for i, _ in index.search(QUERIES[:1], 5, Filter(application="Paint"))[0]] == [ident(0)]


def test_an_empty_index_answers_nothing(index):
    """No padding with -1, no error."""
    assert index.search(QUERIES, 3) == [[], [], [], [], []]


def test_k_beyond_the_size_gives_every_row(filled):
    """Fewer answers, not padded ones."""
    index, _ = filled
    assert len(index.search(QUERIES[:1], 1000)[0]) == 60


def test_equal_scores_come_in_id_order_however_many_there_are(index):
    """A hundred copies of one vector: the first ids in order."""
    vector = QUERIES[:1]
    numbers = list(range(100))
    np.random.default_rng(1).shuffle(numbers)
    index.add([ident(n) for n in numbers], np.repeat(vector, 100, axis=0), [Attributes()] * 100)
    assert [i for i, _ in index.search(vector, 10)[0]] == [ident(n) for n in range(10)]


def test_similarity_of_given_ids_is_their_search_score(filled):
    """`similarity` agrees with `search`; an unknown id is NaN."""
    index, _ = filled
    found = index.search(QUERIES[:1], 60)[0]
    scores = index.similarity(QUERIES[0], [i for i, _ in found] + [ident(999)])
    assert np.allclose(scores[:-1], [s for _, s in found], atol=1e-5)
    assert np.isnan(scores[-1])


@pytest.mark.parametrize(
    "vectors",
    [np.ones((1, 3), np.float32), np.zeros((1, DIM), np.float32), np.full((1, DIM), np.nan, np.float32)],
    ids=["wrong dimension", "zero", "nan"],
)
def test_a_bad_vector_is_refused_and_changes_nothing(filled, vectors):
    """Typed error before the engine sees it."""
    index, _ = filled
    with pytest.raises(DataError):
        index.add([ident(99)], vectors, [Attributes()])
    assert len(index) == 60


def test_the_same_id_twice_in_one_call_is_refused(index):
    """Engines take duplicates in silence; we do not."""
    with pytest.raises(DataError):
        index.add([ident(1), ident(1)], QUERIES[:2], [Attributes()] * 2)


@given(st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.integers(0, 12)), max_size=30))
def test_any_sequence_of_adds_and_removes_agrees_with_a_plain_table(operations):
    """The index is a map from id to vector, whatever happened before."""
    rng = np.random.default_rng(3)
    index, table = FaissIndex(DIM), {}
    for operation, number in operations:
        if operation == "add":
            vector = unit(rng, 1)
            index.add([ident(number)], vector, [Attributes()])
            table[ident(number)] = (vector[0], Attributes())
        else:
            index.remove([ident(number)])
            table.pop(ident(number), None)
    assert len(index) == len(table)
    assert same(index.search(QUERIES[:1], 20)[0], exact(table, QUERIES[0], 20))
    assert same(reloaded(index).search(QUERIES[:1], 20)[0], exact(table, QUERIES[0], 20))


def large(rows: int = 6000, dim: int = 64) -> tuple[np.ndarray, list[Attributes]]:
    """Rows in clusters, every twentieth from one application."""
    rng = np.random.default_rng(4)
    centres = rng.normal(size=(50, dim))
    vectors = (centres[rng.integers(0, 50, rows)] + 0.4 * rng.normal(size=(rows, dim))).astype(np.float32)
    kinds = [Attributes(application="Word" if n % 20 == 0 else "Excel", trust=n % 2) for n in range(rows)]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), kinds


@pytest.fixture(scope="module")
def coded() -> tuple[FaissIndex, np.ndarray, list[Attributes]]:
    """An index large enough, at its settings, to look at signs first; 40 of its rows were removed, 40 changed."""
    vectors, kinds = large()
    index = FaissIndex(64, exact_below=1000)
    index.add([ident(n) for n in range(5000)], vectors[:5000], kinds[:5000])
    index = reloaded(index, exact_below=1000)
    for first in range(5000, 6000, 100):
        index.add(
            [ident(n) for n in range(first, first + 100)], vectors[first : first + 100], kinds[first : first + 100]
        )
    index.remove([ident(n) for n in range(0, 400, 10)])
    return index, vectors, kinds


def truth(vectors: np.ndarray, query: np.ndarray, keep: np.ndarray, k: int = 10) -> list[str]:
    """Ids of the k nearest among the rows to keep."""
    keep[np.arange(0, 400, 10)] = False
    rows = np.flatnonzero(keep)
    return [ident(int(n)) for n in rows[np.argsort(-(vectors[rows] @ query), kind="stable")[:k]]]


def test_signs_find_nearly_all_that_exact_search_finds(coded):
    """Recall at 10 is at least 0.99 with removed rows and a tail of small parts."""
    index, vectors, _ = coded
    queries = vectors[1::60]
    hits = 0
    for found, query in zip(index.search(queries, 10), queries, strict=True):
        hits += len({i for i, _ in found} & set(truth(vectors, query, np.ones(len(vectors), bool))))
    assert hits / (10 * len(queries)) >= 0.99


@pytest.mark.parametrize("filter", [Filter(application="word"), Filter(application="word", min_trust=1)], ids=str)
def test_a_filter_that_leaves_few_rows_is_exact_in_a_large_index(coded, filter):
    """Inside an application every row is looked at, however large the rest is."""
    index, vectors, kinds = coded
    keep = np.array([one.application == "Word" and one.trust >= filter.min_trust for one in kinds])
    for found, query in zip(index.search(vectors[:20], 10, filter), vectors[:20], strict=True):
        assert [i for i, _ in found] == truth(vectors, query, keep.copy())


def test_a_filter_that_leaves_many_rows_answers_only_with_those(coded):
    """Signs are compared inside the filter, so that the answers are full."""
    index, vectors, kinds = coded
    for found in index.search(vectors[:20], 10, Filter(min_trust=1)):
        assert len(found) == 10
        assert all(kinds[int(i, 16)].trust == 1 for i, _ in found)


def test_a_query_by_itself_and_in_a_batch_answers_alike_by_signs(coded):
    """Bit-equal scores, whatever the number of threads."""
    index, vectors, _ = coded
    queries = vectors[:8]
    assert [index.search(query[None], 7)[0] for query in queries] == index.search(queries, 7)


def test_a_copy_may_change_while_the_first_is_searched(coded):
    """Copies share what they can and tell nobody of their changes."""
    index, vectors, _ = coded
    before = index.search(vectors[1:2], 5)
    twin = index.copy()
    twin.remove([before[0][0][0]])
    twin.update([before[0][1][0]], [Attributes(application="Paint")])
    twin.add([ident(9000)], vectors[1:2], [Attributes()])
    assert index.search(vectors[1:2], 5) == before
    assert twin.search(vectors[1:2], 1)[0][0][0] == ident(9000)
    assert [i for i, _ in twin.search(vectors[1:2], 5, Filter(application="paint"))[0]] == [before[0][1][0]]


@pytest.mark.parametrize(
    "name", ["vectors_ids", "vectors_by_id", "vectors_attributes", "vectors_vectors", "vectors_codes"]
)
def test_arrays_that_do_not_fit_together_are_refused(coded, name):
    """FAISS would read past the end of them."""
    index, _, _ = coded
    files = {key.removesuffix(".npy"): content for key, content in index.save().items()}
    arrays = {
        key: np.load(io.BytesIO(content if isinstance(content, bytes) else b"".join(content)))
        for key, content in files.items()
    }
    with pytest.raises(CorruptError):
        FaissIndex.load({**arrays, name: arrays[name][:-1]})
