"""A state machine drives a store and its index against a dict: whatever the order, both agree.

`STORE_MACHINE_EXAMPLES=1000 pytest tests/test_store_machine.py` runs it longer, from fresh seeds.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from tests.builders import a_record
from tests.disks import UnsyncedDisk
from ufo_experience.embed import open_embedder
from ufo_experience.errors import DataError, IndexMismatchError
from ufo_experience.maintenance.changes import purge
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import Trust, Usage
from ufo_experience.settings import Settings
from ufo_experience.store.folder.store import FileStore

NUMBERS = st.integers(0, 30)


class StoreMachine(RuleBasedStateMachine):
    """Adds, changes, removes, purges, corrupts, reopens, rebuilds; `model` holds what must be there."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.model: dict[str, tuple[Trust, Usage]] = {}
        self.removed: set[str] = set()
        self.broken: set[str] = set()
        self.embedder = "hashing"
        self.open()

    def open(self) -> None:
        """A new store object and memory over the same folder."""
        self.store = FileStore.open(self.folder.name, disk=UnsyncedDisk())
        wanted = Settings(db=self.folder.name, embedder=self.embedder)
        self.memory = ExperienceMemory(self.store, wanted, open_embedder(self.embedder))

    @rule(target=ids, numbers=st.lists(NUMBERS, min_size=1, max_size=4), trust=st.sampled_from(list(Trust)))
    def add(self, numbers: list[int], trust: Trust) -> object:
        """Known and removed ids are skipped."""
        records = [a_record(number, trust=trust) for number in numbers]
        fresh = {one.id for one in records} - self.model.keys() - self.removed - self.broken
        assert set(self.store.add(records).added) == fresh
        self.model |= {id: (trust, Usage()) for id in fresh}
        return multiple(*sorted(fresh))

    @rule(id=ids, trust=st.sampled_from(list(Trust)))
    def set_trust(self, id: str, trust: Trust) -> None:
        """Of a live record; anything else is a typed error."""
        try:
            self.store.set_status(id, trust=trust)
        except DataError:
            assert id not in self.model
        else:
            self.model[id] = trust, self.model[id][1]

    @rule(id=ids, helped=st.integers(0, 5))
    def credit(self, id: str, helped: int) -> None:
        """Usage survives everything but removal."""
        if id in self.model:
            self.store.update_usage(id, lambda old: old.model_copy(update={"helped": helped}))
            self.model[id] = self.model[id][0], Usage(helped=helped)

    @rule(id=ids)
    def remove(self, id: str) -> None:
        """Readable or not."""
        there = id in self.model or id in self.broken
        assert self.store.remove([id]) == ([id] if there else [])
        if there:
            self._forget({id})

    @rule(session=st.sampled_from(["s0", "s1"]))
    def purge(self, session: str) -> None:
        """Everything readable of a session goes, from the index too; what cannot be read is set aside."""
        gone = {one.id for one in self.store.scan() if one.provenance.session == session}
        assert {one.id for one in purge(self.store, self.memory.live.generations, session)} == gone
        self._forget(gone)
        self.broken.clear()

    @rule(id=ids, place=st.integers(0, 10_000))
    def corrupt(self, id: str, place: int) -> None:
        """A flipped bit takes one record out."""
        path = Path(self.folder.name) / "records" / id[:2] / f"{id}.json"
        if id in self.model and path.is_file():
            data = bytearray(path.read_bytes())
            data[place % len(data)] ^= 4
            path.write_bytes(bytes(data))
            del self.model[id]
            self.broken.add(id)
            assert any(id in problem.file for problem in self.store.verify().corrupt)

    @rule()
    def repair(self) -> None:
        """Set aside what is damaged; it may be added again."""
        self.store.set_aside_corrupt()
        self.broken.clear()
        assert not self.store.verify().corrupt

    @rule(rebuild=st.booleans())
    def index(self, rebuild: bool) -> None:
        """Bring the index in line, whatever state it is in."""
        try:
            self.memory.index(rebuild=rebuild)
        except IndexMismatchError:
            assert not rebuild

    @rule(dimensions=st.sampled_from(["hashing", "hashing:64"]))
    def change_embedder(self, dimensions: str) -> None:
        """Another embedder needs a rebuild, and gets one."""
        self.embedder = dimensions
        self.open()
        self.memory.index(rebuild=True)

    @rule()
    def reopen(self) -> None:
        """As the next process would."""
        self.open()

    @invariant()
    def agrees(self) -> None:
        """Records, trust and usage are those of the model; a query sees no other ids."""
        assert {one.id: (one.trust, one.usage) for one in self.store.scan()} == self.model
        assert set(self.store.ids()) == self.model.keys() | self.broken
        found = self.memory.retrieve("Email Zoë", similarity_threshold=0.0, top_k=50)
        seen = {hit.experience.id for hit in found} | set(found.withheld_ids)
        assert seen <= self.model.keys() | self.broken
        assert all(self.model[hit.experience.id][0].rank >= Trust.VERIFIED.rank for hit in found)

    def _forget(self, ids: set[str]) -> None:
        self.removed |= ids
        self.broken -= ids
        for id in ids:
            self.model.pop(id, None)

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
EXAMPLES = int(os.environ.get("STORE_MACHINE_EXAMPLES", "4"))
TestStoreMachine.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=10, deadline=None, derandomize=EXAMPLES < 10, database=None
)
