"""A snapshot that grew record by record answers as one that was made at once."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from tests import retrieval_sets
from tests.builders import open_memory
from ufo_experience.index.base import Filter
from ufo_experience.index.catalog import PARTS, Catalog, entry_of
from ufo_experience.index.document import TEMPLATE_VERSION, features_of, indexed_text, own_text, procedure, task_text
from ufo_experience.index.runs import Run, typed_by, way_of
from ufo_experience.integrations.formats.triple import from_triple
from ufo_experience.retrieve.lexical import BM25, LexicalIndex
from ufo_experience.schema import Experience, Trust
from ufo_experience.text.frames import read_frame, record_frame
from ufo_experience.text.slots import mask_slots

LIMITS = Filter(min_trust=Trust.VERIFIED.rank)
VERBS = ("open", "close", "rename", "print", "send", "archive")
THINGS = ("report", "invoice", "calendar", "photo", "message", "contract", "slide")
QUERY = "rename the invoice"


def experience(number: int, trust: Trust = Trust.VERIFIED) -> Experience:
    """A record whose words repeat from record to record."""
    task = f"{VERBS[number % 6]} the {THINGS[number % 7]} of week {number % 11}"
    return from_triple({"task": task, "application": f"app{number % 3}"}, {}, {"success": True}, 0.5, None, trust=trust)


def grown(base: list[Experience], rest: list[Experience]) -> Catalog:
    """A catalog of `base` to which the rest was added one by one."""
    catalog = Catalog.build(base)
    for one in rest:
        catalog.column("application")
        catalog = catalog.with_changes([entry_of(one)])
    return catalog


def words(catalog: Catalog, before: LexicalIndex | None = None) -> LexicalIndex:
    """Lexical search with statistics over verified rows, kept of a catalog of forty or more."""
    settings = BM25(keep_from=40)
    return LexicalIndex(catalog, catalog.mask(LIMITS), settings, published=catalog.as_published(LIMITS), before=before)


def by_id(catalog: Catalog, values: np.ndarray) -> dict[str, float]:
    """A value of every live row."""
    rows = np.flatnonzero(catalog.live)
    return dict(zip(catalog.ids(rows), values[rows].tolist(), strict=True))


@pytest.fixture(scope="module")
def records() -> list[Experience]:
    """Forty verified records."""
    return [experience(number) for number in range(40)]


def test_two_catalogs_that_grow_from_one_do_not_see_each_others_rows(records):
    """Columns grow in the room behind them, which the first to come takes."""
    before = grown(records[:10], records[10:20])
    one, other = (
        before.with_changes([*map(entry_of, records[20:25])]),
        before.with_changes([*map(entry_of, records[25:40])]),
    )
    later = one.with_changes([*map(entry_of, records[30:33])])
    for catalog, rest in ((before, []), (one, records[20:25]), (other, records[25:40]), (later, records[30:33])):
        told = {*catalog.ids()}
        assert {record.id for record in [*records[:20], *rest]} <= told
        assert catalog.column("id").tobytes() == np.ascontiguousarray(catalog.rows["id"]).tobytes()
    assert len(other) == 35
    assert len(later) == 28


def test_many_small_additions_are_the_same_columns_as_one_large(records):
    """Ids, texts, filters and postings agree, and the parts stay few."""
    one, many = Catalog.build(records), grown(records[:10], records[10:])
    assert len(many.terms) <= PARTS
    assert sorted(many.ids()) == one.ids()
    for record in records:
        (row,) = many.find([record.id])
        assert many.ids(np.array([row])) == [record.id]
        assert many.text(int(row)) == record.state.task
        assert many.ids_with_prefix(record.id[:2]) == one.ids_with_prefix(record.id[:2])
    inside = Filter(application="app1")
    assert sorted(many.ids(np.flatnonzero(many.mask(inside)))) == one.ids(np.flatnonzero(one.mask(inside)))


def test_a_replaced_and_a_removed_row_are_found_no_more(records):
    """The newest row of an id counts; a removed id has none."""
    catalog = grown(records[:20], records[5:8]).with_changes([], removed=[records[9].id])
    assert len(catalog) == 19
    assert catalog.find([records[9].id])[0] == -1
    assert (catalog.find([one.id for one in records[5:8]]) >= 20).all()


def test_scores_do_not_depend_on_how_a_small_catalog_came_to_be(records):
    """Statistics are those of this moment."""
    one, many = Catalog.build(records[:39]), grown(records[:10], records[10:39])
    for mine, theirs in zip(words(many).scores(QUERY), words(one).scores(QUERY), strict=True):
        assert by_id(many, mine) == pytest.approx(by_id(one, theirs), abs=1e-6)


@pytest.fixture(scope="module")
def large(records) -> Catalog:
    """A published catalog that counts as large."""
    return Catalog.build(records)


def test_a_large_catalog_keeps_its_statistics_for_a_while(large):
    """One more record moves no score of the others; the new one is scored too."""
    first = words(large)
    more = large.with_changes([entry_of(experience(1))])
    second = words(more, before=first)
    for before, after in zip(first.scores(QUERY), second.scores(QUERY), strict=True):
        assert np.array_equal(after[: len(before)], before)
    twin = by_id(more, second.scores(QUERY)[0])
    assert twin[more.ids(np.array([40]))[0]] == pytest.approx(twin[more.ids(more.find([_twin_of(more)]))[0]])


def _twin_of(catalog: Catalog) -> str:
    """The id of a published record with the text of row 40."""
    texts = {catalog.text(row): row for row in range(40)}
    return catalog.ids(np.array([texts[catalog.text(40)]]))[0]


def test_what_was_kept_is_what_would_be_worked_out(large):
    """With and without an earlier index the scores are bit-equal."""
    more = large.with_changes([entry_of(experience(1))])
    kept, anew = words(more, before=words(large)), words(more)
    for one, other in zip(kept.scores(QUERY), anew.scores(QUERY), strict=True):
        assert np.array_equal(one, other)


def test_statistics_are_renewed_when_a_twentieth_is_new(large):
    """Enough trusted records change the rarities."""
    tasks = [{"task": f"rename the invoice {name}"} for name in THINGS]
    others = [from_triple(task, {}, {"success": True}, 0.5, None, trust=Trust.VERIFIED) for task in tasks]
    many = large.with_changes([entry_of(one) for one in others])
    before, after = words(large).scores(QUERY)[1], words(many, before=words(large)).scores(QUERY)[1]
    assert not np.array_equal(after[: len(before)], before)


def test_quarantined_records_change_no_score_however_many_they_are(large):
    """They neither count nor make the statistics be renewed."""
    flood = large.with_changes([entry_of(experience(n, Trust.QUARANTINED)) for n in range(60)])
    for before, after in zip(words(large).scores(QUERY), words(flood, words(large)).scores(QUERY), strict=True):
        assert np.array_equal(after[: len(before)], before)


@pytest.fixture(scope="module")
def procedures(learned_once) -> list[Experience]:
    """Records of one author, and those of the samples, which typed."""
    with open_memory(learned_once) as memory:
        return [*asked_by_an_author(), *memory.store.scan()]


def asked_by_an_author() -> list[Experience]:
    """The procedures of one set."""
    return [retrieval_sets.record(row) for row in retrieval_sets.rows("author_a", "procedures")]


def test_what_is_compared_of_a_record_comes_back_from_the_catalog(procedures):
    """Its frame, its text without values, the way it went and what it typed."""
    catalog = Catalog.build(procedures)
    for row, one in enumerate(sorted(procedures, key=lambda one: one.id)):
        text, clicked, frame, masked, _ = catalog.parts(row)
        assert read_frame(frame, clicked) == record_frame(own_text(one), *procedure(one), features_of(one))
        assert (text, masked, catalog.masked(row)) == (task_text(one), mask_slots(own_text(one)), masked)
        assert catalog.run(row) == Run(way_of(one), typed_by(one))


def test_an_index_keeps_of_requests_what_its_version_says():
    """Answers come from what was worked out when a record was indexed: whoever works it out otherwise raises the
    version, so that no index of before is read."""
    texts = "\n".join(map(indexed_text, asked_by_an_author()))
    assert (TEMPLATE_VERSION, sha256(texts.encode()).hexdigest()[:16]) == ("10", "6868383f0c0daa78")
