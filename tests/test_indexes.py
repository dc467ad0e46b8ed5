"""Every index keeps the same promises: SQLite and FAISS beside a folder, and columns on a real PostgreSQL server."""

from __future__ import annotations

import pytest

from tests.stores import a_run_of, index_of, reopen, server, store
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.errors import DataError, ServiceError
from ufo_experience.index.base import Filter
from ufo_experience.request import Request
from ufo_experience.schema import Trust, Verdict
from ufo_experience.store import open_store

__all__ = ["reopen", "server", "store"]
EMAIL = a_run_of('Send an email to Jane Doe about "the budget"')
OTHER_EMAIL = a_run_of('Send an email to Tom Kent about "holidays"')
BLUETOOTH = a_run_of("Turn on Bluetooth in the settings", application="Settings")
CHART = a_run_of("Insert a chart of the sales data", application="EXCEL.EXE")
ALL = [EMAIL, OTHER_EMAIL, BLUETOOTH, CHART]


class Counting(HashingEmbedder):
    """Counts the texts it is asked for."""

    name = "counting"
    asked = 0

    def embed(self, texts, kind="document"):
        """As the embedder behind."""
        self.asked += len(texts)
        return super().embed(texts, kind)


class Service(Counting):
    """A service, which may be away."""

    name = "service"
    asks_service = True
    away = False

    def embed(self, texts, kind="document"):
        """As the embedder behind."""
        if self.away:
            raise ServiceError("away")
        return super().embed(texts, kind)


@pytest.fixture
def index(store):
    """The index of a store of four records."""
    made = index_of(store)
    store.add(ALL)
    made.sync()
    return made


def ids_of(found) -> list[str]:
    """The ids of candidates or rows."""
    return [getattr(one, "row", one).id for one in found]


def asked(index, text: str, **options):
    """The candidates for a request."""
    return index.candidates(Request.parse(text), **options)


def test_the_same_words_come_first_with_all_of_their_share(index):
    """A request for itself has the whole share; one that shares no word is not there."""
    found = asked(index, "Turn on Bluetooth in the settings")
    assert found[0].row.id == BLUETOOTH.id
    assert found[0].words == pytest.approx(1.0)
    assert 0 < asked(index, "Turn Bluetooth off")[0].words < 1
    assert asked(index, "Quark xylophone") == []


def test_other_values_of_the_same_task_share_its_masked_words(index):
    """Names and quotations are marks of their kind there."""
    found = {one.row.id: one for one in asked(index, 'Send an email to Ann Lee about "rent"')}
    assert found[EMAIL.id].masked == found[OTHER_EMAIL.id].masked == pytest.approx(1.0)
    assert found[EMAIL.id].words < 1


def test_a_row_tells_what_ranking_needs(index):
    """Its request is parsed, its application is as the record has it."""
    row = index.rows([CHART.id])[0]
    assert (row.task, row.request) == (CHART.state.request, Request.parse(CHART.state.request, "EXCEL.EXE"))
    assert (row.application, row.session, row.success, row.steps) == ("EXCEL.EXE", "s0", True, 1)
    assert (row.trust, row.imported, row.followable, row.created_at) == (Trust.OBSERVED, False, True, CHART.created_at)


@pytest.mark.parametrize(
    ("filter", "inside"),
    [
        (Filter(), ALL),
        (Filter(application="Microsoft Excel"), [CHART]),
        (Filter(application="x' OR true --"), []),
        (Filter(env="Windows 11"), []),
        (Filter(only=frozenset([EMAIL.id, CHART.id, "no id"])), [EMAIL, CHART]),
        (Filter(only=frozenset()), []),
        (Filter(exclude_session="s0"), []),
        (Filter(min_trust=Trust.VERIFIED), []),
    ],
)
def test_a_filter_holds_for_rows_counts_and_candidates(index, filter, inside):
    """Whatever names hold, they are data."""
    expected = {one.id for one in inside}
    assert set(ids_of(index.rows(filter=filter))) == expected
    assert index.count(filter) == len(expected)
    for one in ALL:
        found = ids_of(asked(index, one.state.request, filter=filter))
        assert set(found) <= expected
        assert (one.id in found) == (one.id in expected)


def test_imported_records_have_a_least_trust_of_their_own(store):
    """Own ones count from observed on, imported ones when they are verified."""
    made = index_of(store)
    foreign = {"source": "theirs.json", "session": "s9", "origin": "import"}
    imported = [
        a_run_of("Open the door", n, provenance=foreign, trust=trust) for n, trust in ((1, "observed"), (2, "verified"))
    ]
    store.add([a_run_of("Open the door"), *imported])
    filter = Filter(min_trust=Trust.OBSERVED, min_trust_imported=Trust.VERIFIED)
    assert set(ids_of(made.rows(filter=filter))) == {a_run_of("Open the door").id, imported[1].id}


def test_what_is_said_of_a_record_counts_at_once(index, store):
    """Trust, verdict and use, without a sync."""
    store.set_status(EMAIL.id, trust=Trust.APPROVED)
    store.set_status(EMAIL.id, verdict=Verdict(success=False, judged_at="2025-11-13T10:00:00Z"))
    store.update_usage(EMAIL.id, False, session="x")
    row = index.rows(filter=Filter(min_trust=Trust.APPROVED))[0]
    assert (row.id, row.success, row.hurt) == (EMAIL.id, False, 1)


def test_what_goes_is_not_found_and_what_comes_back_is(index, store):
    """Removed, restored and purged records, for another index of the same store, too."""
    store.remove([EMAIL.id])
    assert EMAIL.id not in ids_of(asked(index, EMAIL.state.request))
    store.restore([EMAIL.id])
    assert EMAIL.id in ids_of(asked(index, EMAIL.state.request))
    store.purge([EMAIL.id])
    assert EMAIL.id not in ids_of(index.rows())
    assert index.count() == 3


def test_what_another_process_learned_is_found_at_once(index, reopen):
    """Whether it had an index open or not."""
    other = reopen()
    other.add([a_run_of("Rotate the photo")])
    assert asked(index, "Rotate the photo")[0].row.id == a_run_of("Rotate the photo").id
    with_index = reopen()
    index_of(with_index)
    with_index.add([a_run_of("Crop the picture")])
    assert asked(index, "Crop the picture")[0].row.id == a_run_of("Crop the picture").id


def test_runs_of_one_task_leave_room_for_others(store):
    """At most three with one ending by words, and three by cosine; `rows` by the key of the task gives all."""
    made = index_of(store)
    runs = [a_run_of("Send the report to the boss", number) for number in range(30)]
    store.add(
        [
            *runs,
            a_run_of("Send the report to the board"),
            a_run_of("Send a report to the boss", 7, outcome={"success": False}),
        ]
    )
    made.sync()
    vector = HashingEmbedder().embed(["send the report to the boss"], "query")[0]
    found = asked(made, "Send the report to the boss", vector=vector, limit=10)
    same = [one for one in found if one.row.task == "Send the report to the boss"]
    assert len(same) <= 6
    assert len(found) - len(same) == 2
    assert len(made.rows(task_key=same[0].row.task_key)) == 30


def test_the_nearest_vectors_are_found_by_cosine(index):
    """Also where no word is shared, inside the filter, and by the embedder of the index only."""
    vector = HashingEmbedder().embed(["turn on bluetooth in the settings"], "query")[0]
    found = {one.row.id: one for one in asked(index, "xylophone", vector=vector)}
    assert max(found.values(), key=lambda one: one.cosine or 0).row.id == BLUETOOTH.id
    assert found[BLUETOOTH.id].cosine == pytest.approx(1.0, abs=0.01)
    assert BLUETOOTH.id not in ids_of(asked(index, "xylophone", vector=vector, filter=Filter(application="Outlook")))


def test_a_wording_finds_the_task(store):
    """It brings the record among the candidates; in the shares the task alone counts."""
    made = index_of(store)
    state = {"task": "Mute the speakers", "request": "Mute the speakers", "wordings": ["Silence the loudspeaker box"]}
    one = a_run_of("Mute the speakers", state=state)
    store.add([one, BLUETOOTH])
    assert one.id in {candidate.row.id for candidate in asked(made, "Silence the loudspeaker box")}


def test_rare_words_weigh_more(store):
    """A word that no trusted task has weighs most, one of two tasks least; a flood of others changes no weight."""
    made = index_of(store)
    store.add(one.model_copy(update={"trust": Trust.VERIFIED}) for one in ALL)
    weights = made.rarity(["xylophone", "bluetooth", "email"])
    assert weights["xylophone"] > weights["bluetooth"] > weights["email"] > 0
    store.add(a_run_of("Send bluetooth by email", number) for number in range(20))
    assert made.rarity(["xylophone", "bluetooth", "email"]) == weights


def test_a_common_word_tells_apart_what_shares_the_rare_one(tmp_path):
    """Among hundreds that share the rarest word, in a store where the other one stands in most tasks."""
    store = open_store(tmp_path)
    made, wanted = index_of(store), a_run_of("Look at all transfers of the bank")
    nouns = [f"{first}{second}" for first in "bcdfghklmnprst" for second in ("olt", "arn", "erb", "ist", "ump", "ack")]
    store.add(a_run_of(f"Print {noun} transfers {number}") for number in range(4) for noun in nouns)
    store.add(a_run_of(f"Look at {noun} {number}") for number in range(9) for noun in nouns)
    store.add([wanted])
    assert wanted.id in ids_of(asked(made, "Look at transfers"))


def test_small_values_are_kept_by_kind_and_go_with_their_owner(index, store):
    """Another kind is another drawer; what has no owner stays."""
    index.keep("verdicts", {"a": b"\0yes", "b": b"no"}, owner=EMAIL.id)
    index.keep("verdicts", {"c": b"free"})
    index.keep("verdicts", {"b": b"maybe"}, owner=EMAIL.id)
    assert index.kept("verdicts", ["a", "b", "x"]) == {"a": b"\0yes", "b": b"maybe"}
    assert index.kept("others", ["a"]) == {}
    store.purge([EMAIL.id])
    index.sync()
    assert index.kept("verdicts", ["a", "b", "c"]) == {"c": b"free"}


def test_a_service_that_is_away_stops_no_learning(store):
    """Its records are found by words; when it is back, `sync` makes the vectors that are missing."""
    embedder = Service()
    made = index_of(store, embedder)
    embedder.away = True
    store.add([BLUETOOTH])
    with pytest.raises(ServiceError):
        made.sync()
    assert asked(made, BLUETOOTH.state.request)[0].row.id == BLUETOOTH.id
    assert len(made.missing()) == 1
    embedder.away = False
    assert (made.sync().embedded, made.missing(), made.embedder_name()) == (1, [], "service")
    vector = embedder.embed(["turn on bluetooth in the settings"], "query")[0]
    assert asked(made, "xylophone", vector=vector)[0].row.id == BLUETOOTH.id


def test_a_rebuild_answers_the_same_and_asks_for_no_vector_again(store):
    """What was embedded is kept."""
    embedder = Counting()
    made = index_of(store, embedder)
    store.add(ALL)
    made.sync()
    before, texts = asked(made, EMAIL.state.request), embedder.asked
    report = made.rebuild()
    assert (report.records, embedder.asked) == (4, texts)
    assert asked(made, EMAIL.state.request) == before
    assert made.check() == []


def test_vectors_of_another_length_are_a_typed_error_that_a_rebuild_mends(store):
    """In questions and in learning; words answer all the while."""
    store.add(ALL)
    index_of(store, Counting()).sync()
    made = index_of(store, Counting(64))
    vector = Counting(64).embed(["turn on bluetooth in the settings"], "query")[0]
    with pytest.raises(DataError, match="64 numbers, the index has 256; run: ufo-experience index --rebuild"):
        asked(made, "xylophone", vector=vector)
    assert ids_of(asked(made, BLUETOOTH.state.request))[0] == BLUETOOTH.id
    made.rebuild()
    assert asked(made, "xylophone", vector=vector)[0].row.id == BLUETOOTH.id


@pytest.mark.parametrize(
    "text", ["", "   ", "'", "a'b & c | !d", "\\", "it's Zoë's 'file'", "打开设置", "\0", "🙂", "w" * 8000]
)
def test_any_request_is_answered(index, store, text):
    """Also with words that mean something to a query language."""
    store.add([a_run_of(f"Open {text} now".replace("\0", ""))])
    asked(index, text)
    assert asked(index, f"Open {text} now")[0].words > 0.5


@pytest.mark.server
def test_both_indexes_give_the_same_shares(server, tmp_path):
    """A store moved from a folder to a server answers as before."""
    texts = [f"{verb} the {what}" for verb in ("Open", "Close", "Sort") for what in ("invoice list", "mail", "folder")]
    answers = []
    for place in (str(tmp_path / "db"), server.database()):
        moved = open_store(place)
        made = index_of(moved)
        moved.add([a_run_of(text, number) for number, text in enumerate(texts)])
        vector = HashingEmbedder().embed(["sort the mail"], "query")[0]
        found = asked(made, "Sort the mail in Paris", vector=vector)
        answers.append([(one.row, round(one.words, 6), round(one.masked, 6), round(one.cosine, 2)) for one in found])
    assert len(answers[0]) == 9
    assert answers[0] == answers[1]
