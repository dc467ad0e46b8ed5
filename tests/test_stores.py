"""Every store keeps the same promises: a folder, and tables on a real PostgreSQL server."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.stores import a_run_of, reopen, server, store
from ufo_experience.errors import ConflictError, DataError, NotFoundError
from ufo_experience.schema import Trust, Usage, Verdict
from ufo_experience.store.base import Added, fingerprint

__all__ = ["reopen", "server", "store"]
ONE, TWO = a_run_of("Send an email to Zoë"), a_run_of("Turn on Bluetooth")


def test_a_record_comes_back_as_it_was(store):
    """By id and in a scan, with the use it came with."""
    used = ONE.model_copy(update={"usage": Usage(injected=3, helped=2, hurt=1, streak=1)})
    assert store.add([used]).added == (ONE.id,)
    assert store.get(ONE.id) == used
    assert list(store.scan()) == [used]


def test_any_text_comes_back_as_it_was(store):
    """Zero bytes, quotes, backslashes, line separators and characters beyond the first plane."""
    text = "a\0b'c\\d\"e\u2028 🙂"
    state = {"task": f"t {text}", "application": text, "env": text}
    one = a_run_of("x", state=state, provenance={"source": text, "session": text})
    store.add([one])
    assert store.get(one.id) == one
    assert store.remove([one.id], reason="no longer true: 'x\\'") == [one.id]


def test_a_store_opened_again_is_the_same_store(store, reopen):
    """Records and key outlive the object; each store has a key of its own, and no record holds it."""
    store.add([ONE])
    again = reopen(create=False)
    assert (again.key(), again.ids()) == (store.key(), store.ids())
    assert len(store.key()) >= 32
    assert store.key().hex() not in json.dumps([one.model_dump(mode="json") for one in store.scan()])


def test_opening_without_create_makes_nothing(reopen):
    """A store that is not there is not found, twice in a row."""
    for _ in range(2):
        with pytest.raises(NotFoundError):
            reopen(create=False)


def test_adding_twice_stores_once(store):
    """Of two with one id the first is kept, in one call and in two."""
    other = ONE.model_copy(update={"salience": 0.9})
    assert store.add([ONE, other]) == Added((ONE.id,), (ONE.id,))
    assert store.add([other]) == Added((), (ONE.id,))
    assert list(store.scan()) == [ONE]


def test_what_others_write_is_there_at_once(store, reopen):
    """Another object, as another process has it, finds each commit without doing anything."""
    other = reopen()
    for one in (ONE, TWO):
        store.add([one])
        assert one.id in other
        assert other.get(one.id) == one
    other.set_status(ONE.id, trust=Trust.APPROVED)
    assert store.get(ONE.id).trust is Trust.APPROVED
    other.remove([TWO.id])
    assert TWO.id not in store


def test_what_was_said_of_a_record_can_be_taken_back(store):
    """Then what the record says counts again; one that is another by now is left as it is."""
    store.add([ONE])
    verdict = Verdict(success=False, judged_at=ONE.created_at)
    judged = store.set_status(ONE.id, trust=Trust.APPROVED, verdict=verdict)
    with pytest.raises(ConflictError):
        store.put_back(ONE.id, {"trust": None}, expected=fingerprint(ONE))
    assert store.get(ONE.id) == judged
    assert store.put_back(ONE.id, {"trust": None}, expected=fingerprint(judged)).outcome == judged.outcome
    assert store.put_back(ONE.id, {"trust": None, "verdict": None}) == store.get(ONE.id) == ONE
    assert list(store.scan()) == [ONE]
    store.put_back(ONE.id, {"trust": Trust.VERIFIED, "verdict": verdict})
    assert (store.get(ONE.id).trust, store.get(ONE.id).outcome) == (Trust.VERIFIED, judged.outcome)


def test_a_removed_record_stays_out_until_it_is_restored(store):
    """The same log read again does not bring it back; `restore` does, as it was."""
    store.add([ONE, TWO])
    store.set_status(ONE.id, trust=Trust.APPROVED)
    assert store.remove([ONE.id, "0" * 32, "../store"], reason="wrong") == [ONE.id]
    assert store.remove([ONE.id]) == []
    assert store.add([ONE]).skipped == (ONE.id,)
    assert (store.ids(), store.ids(removed=True)) == ([TWO.id], [ONE.id])
    assert (
        [one.id for one in store.scan(removed=True)]
        == [one.id for one in store.scan([ONE.id, TWO.id], removed=True)]
        == [ONE.id]
    )
    with pytest.raises(NotFoundError):
        store.get(ONE.id)
    assert [one.trust for one in store.restore([ONE.id])] == [Trust.APPROVED]
    assert (sorted(store.ids()), store.ids(removed=True)) == (sorted([ONE.id, TWO.id]), [])
    with pytest.raises(NotFoundError):
        store.restore([TWO.id])


def test_a_purged_record_leaves_nothing_but_its_id(store):
    """Record and events are gone, also of one that was removed before; it does not come back by itself."""
    store.add([ONE, TWO])
    store.set_status(ONE.id, verdict=a_verdict(False))
    store.remove([TWO.id])
    assert sorted(one.id for one in store.purge([ONE.id, TWO.id])) == sorted([ONE.id, TWO.id])
    assert (store.ids(), store.ids(removed=True)) == ([], [])
    assert {(one.kind, one.id) for one in store.events()} == {("removed", ONE.id), ("removed", TWO.id)}
    assert store.add([ONE, TWO]).added == ()


def test_trust_verdict_and_use_change_one_without_the_others(store):
    """Each is an event; the record is what they come to."""
    store.add([ONE])
    assert store.set_status(ONE.id, trust=Trust.APPROVED).trust is Trust.APPROVED
    assert store.update_usage(ONE.id, True, session="a")
    assert not store.update_usage(ONE.id, True, session="a")
    assert store.update_usage(ONE.id, False, session="b")
    now = store.set_status(ONE.id, verdict=a_verdict(False))
    assert now == store.get(ONE.id)
    assert (now.trust, now.outcome.success, now.usage.helped, now.usage.hurt) == (Trust.APPROVED, False, 1, 1)
    assert (now.state, now.action) == (ONE.state, ONE.action)
    assert [one.kind for one in store.events(ONE.id)] == ["trust", "help", "harm", "verdict"]
    assert [one.kind for one in store.events(TWO.id)] == []


def test_a_change_of_what_somebody_else_changed_is_refused(store):
    """`expected` is the fingerprint of what the caller saw; nothing is written."""
    store.add([ONE])
    seen = fingerprint(store.get(ONE.id))
    store.set_status(ONE.id, trust=Trust.VERIFIED, expected=seen)
    with pytest.raises(ConflictError):
        store.set_status(ONE.id, trust=Trust.APPROVED, expected=seen)
    assert store.get(ONE.id).trust is Trust.VERIFIED


@pytest.mark.parametrize(
    "id", ["", "../../etc/passwd", "CON", "A" * 32, "0" * 31, "0" * 32 + "\n", "' OR true --", "\0", "0" * 32]
)
def test_an_id_that_is_none_finds_nothing(store, id):
    """Not found, whatever it holds."""
    store.add([ONE])
    for use in (lambda: store.get(id), lambda: store.set_status(id, trust=Trust.APPROVED)):
        with pytest.raises(NotFoundError):
            use()
    assert id not in store
    assert store.remove([id]) == list(store.scan([id])) == list(store.events(id)) == []


def test_ids_and_scan_are_sorted(store):
    """Both go by id; a chosen list is streamed without doubles and without strangers."""
    many = [a_run_of("Open a file", number) for number in range(40)]
    store.add(many)
    ids = sorted(one.id for one in many)
    assert store.ids() == ids == [one.id for one in store.scan()]
    assert [one.id for one in store.scan([ids[7], ids[3], ids[7], "x"])] == [ids[3], ids[7]]


def test_more_than_one_group_in_one_call(store):
    """All are added, none twice, and a scan over several pages gives each once."""
    assert len(store.add(a_run_of("Open a file", number) for number in range(1100)).added) == 1100
    assert [one.id for one in store.scan()] == store.ids()
    assert len(store.ids()) == 1100


def test_a_record_over_a_limit_is_refused_and_nothing_of_its_group_stored(store):
    """A record above 256 KiB is a schema error."""
    steps = [{"step_number": number + 1, "observation": "x" * 8000} for number in range(40)]
    with pytest.raises(DataError, match="larger than"):
        store.add([ONE, a_run_of("Too much", action={"steps": steps})])
    assert store.ids() == []


def test_the_revision_differs_after_every_change(store, reopen):
    """For other readers, too."""
    reader = reopen()
    seen, told = [store.revision()], [reader.revision()]
    for change in (
        lambda: store.add([ONE]),
        lambda: store.set_status(ONE.id, trust=Trust.VERIFIED),
        lambda: store.update_usage(ONE.id, True),
        lambda: store.remove([ONE.id]),
        lambda: store.restore([ONE.id]),
        lambda: store.purge([ONE.id]),
    ):
        change()
        seen.append(store.revision())
        told.append(reader.revision())
    assert len(set(seen)) == len(set(told)) == len(seen)


def test_no_credit_is_lost_between_threads(store, reopen):
    """Eight threads on two objects credit one record; every one of them counts."""
    store.add([ONE])
    stores = [store, reopen()]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: stores[n % 2].update_usage(ONE.id, True, session=f"s{n}"), range(40)))
    assert store.get(ONE.id).usage.helped == 40


def test_verify_counts_what_is_whole(store):
    """Nothing is wrong with what was just written."""
    store.add(a_run_of("Open a file", number) for number in range(5))
    store.set_status(store.ids()[0], trust=Trust.APPROVED)
    found = store.verify()
    assert (found.records, found.corrupt) == (5, [])


def a_verdict(success: bool) -> Verdict:
    """What a person said of a run."""
    return Verdict(success=success, judged_at="2025-11-13T10:00:00Z")  # type: ignore[arg-type]
