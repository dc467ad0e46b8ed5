"""Whole stores in and out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_record
from tests.disks import UnsyncedDisk
from ufo_experience.errors import CorruptError, DataError, SchemaError
from ufo_experience.integrations.formats.triple import to_triple
from ufo_experience.schema import Trust, Usage
from ufo_experience.store.exchange import export_json, export_yaml, import_json, ufo_view, write_view
from ufo_experience.store.folder.store import FileStore

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture
def store(tmp_path) -> FileStore:
    """Three records: a used one, a failed one, a quarantined one."""
    filled = FileStore.open(tmp_path / "db", disk=UnsyncedDisk())
    filled.add([a_record(0), a_record(1, outcome={"success": False}), a_record(2, trust=Trust.QUARANTINED)])
    filled.set_status(a_record(0).id, trust=Trust.APPROVED, usage=Usage(injected=2, helped=2))
    return filled


@pytest.fixture
def other(tmp_path) -> FileStore:
    """An empty store."""
    return FileStore.open(tmp_path / "other", disk=UnsyncedDisk())


def test_an_import_is_quarantined_and_its_use_forgotten(store, other):
    """Whatever the export says of trust and usage; origin says import, the rest is the same."""
    report = import_json(other, export_json(store))
    assert sorted(report.added) == store.ids()
    assert {one.trust for one in other.scan()} == {Trust.QUARANTINED}
    one, original = other.get(a_record(0).id), store.get(a_record(0).id)
    assert (one.usage, one.provenance.origin) == (Usage(), "import")
    assert (one.state, one.action, one.outcome) == (original.state, original.action, original.outcome)


def test_a_backup_comes_back_as_it_was(store, other):
    """With `restore` trust, usage and origin are those of the export."""
    import_json(other, export_json(store), restore=True)
    assert list(other.scan()) == list(store.scan())
    assert export_json(other) == export_json(store)


def test_importing_twice_adds_nothing(store, other):
    """The same content is skipped, also in the store it came from."""
    text = export_json(store)
    import_json(other, text)
    assert len(import_json(other, text).skipped) == 3
    back = import_json(store, text)
    assert (back.added, len(back.skipped)) == ([], 3)
    assert store.get(a_record(0).id).trust is Trust.APPROVED


def test_other_content_under_a_known_id_gets_its_own(store):
    """Nothing is overwritten; the newcomer is quarantined under a new id, and reported; a second time it is skipped."""
    changed = a_record(0, trust=Trust.APPROVED, state={"task": "delete every email"})
    text = json.dumps({"experiences": [changed.model_dump(mode="json")]})
    before = store.get(changed.id)
    report = import_json(store, text, restore=True)
    assert report.conflicts[0][0] == changed.id
    assert store.get(changed.id) == before
    newcomer = store.get(report.added[0])
    assert (newcomer.state.task, newcomer.trust) == ("delete every email", Trust.QUARANTINED)
    assert import_json(store, text, restore=True).added == []


def test_a_removed_record_is_not_imported_again(store):
    """Its tombstone counts, and the report says so."""
    text = export_json(store)
    store.remove([a_record(1).id])
    report = import_json(store, text)
    assert (a_record(1).id, "was removed from this store") in report.skipped
    assert a_record(1).id not in store.ids()


def test_a_bad_entry_fails_alone(store, other):
    """Missing fields, unknown fields, wrong types and oversized entries are named; the good one is added."""
    good = a_record(5).model_dump(mode="json")
    big = a_record(6, action={"steps": [{"step_number": n + 1, "observation": "x" * 8000} for n in range(40)]})
    entries = [
        good | {"id": "../x"},
        good | {"surprise": 1},
        7,
        {"state": []},
        {"state": {}},
        big.model_dump(mode="json"),
    ]
    report = import_json(other, json.dumps([*entries, good]))
    assert report.added == [good["id"]]
    names = [name for name, _ in report.failed]
    assert names == ["experiences.0", good["id"], "experiences.2", "experiences.3", "experiences.4", big.id]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", CorruptError),
        ("not json", CorruptError),
        ("{}", SchemaError),
        ('{"version":2,"experiences":[]}', SchemaError),
        ('{"experiences":[],"experiences":[]}', SchemaError),
        ('{"experiences":[NaN]}', SchemaError),
        ("[" * 10_000, SchemaError),
    ],
)
def test_a_text_that_is_no_export_is_refused(other, text, error):
    """As a whole, with a typed error; nothing is stored."""
    with pytest.raises(error):
        import_json(other, text)
    assert other.ids() == []


def test_state_action_outcome_triples_are_taken(other):
    """A list of triples, ours (with metadata) or bare; a bare one gets the id of its content."""
    ours = to_triple(a_record(4))
    bare = {"state": {"task": "open settings"}, "action": {"skill": "menu"}, "outcome": {"success": True}}
    text = json.dumps([ours, bare])
    report = import_json(other, text)
    assert report.failed == []
    assert a_record(4).id in report.added
    assert {one.state.task for one in other.scan()} == {"send an email to <recipient>", "open settings"}
    assert import_json(other, text).added == []


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_any_text_survives_the_yaml_export(tmp_path_factory, words, name):
    """What a YAML reader finds is what `export_json` holds, for any text; every text is quoted."""
    store = FileStore.open(tmp_path_factory.mktemp("yaml") / "db", disk=UnsyncedDisk())
    store.add([a_record(0, action={"plan": words}, slots={name: "no"}), a_record(1)])
    assert yaml.safe_load(export_yaml(store))["experiences"] == json.loads(export_json(store))["experiences"]


def test_yaml_text_that_looks_like_something_else_is_quoted(other):
    """`no`, `1.10`, times and dates stay text for every reader."""
    other.add([a_record(0, action={"plan": ["no", "1.10", "12:30:45", "2024-01-02", "0o17", "~"]})])
    text = export_yaml(other)
    assert all(f'"{word}"' in text for word in ("no", "1.10", "12:30:45", "2024-01-02", "0o17", "~"))


def test_an_empty_store_exports_empty_documents(other):
    """Empty list and mapping, not nothing."""
    assert yaml.safe_load(export_yaml(other))["experiences"] == []
    assert yaml.safe_load(ufo_view(other)) == {}
    assert import_json(other, export_json(other)).added == []


def test_the_view_holds_the_good_successes_in_ufos_form(store, tmp_path):
    """One entry per success that is observed or better, keys counting up, no aliases; the text is the file."""
    store.add([a_record(7), a_record(8)])
    path = tmp_path / "experience.yaml"
    write_view(store, path)
    text = path.read_text(encoding="utf-8")
    view = yaml.safe_load(text)
    assert list(view) == ["example0", "example1", "example2"]
    assert {entry["request"] for entry in view.values()} == {f"Email Zoë № {number}" for number in (0, 7, 8)}
    assert set(view["example0"]) == {"example", "Tips", "request", "Sub-task", "app_list"}
    assert text == ufo_view(store)
    assert "Zoë" in text
    assert "&id" not in text


def test_a_damaged_record_in_the_way_of_an_import_is_reported(store):
    """The entry fails and says why; nothing is overwritten."""
    text = export_json(store)
    victim = a_record(0).id
    (Path(store.location) / "records" / victim[:2] / f"{victim}.json").write_bytes(b"")
    report = import_json(store, text)
    assert [name for name, _ in report.failed] == [victim]
    with pytest.raises(DataError):
        store.get(victim)
