"""A power failure at any moment: what was not synced may be there, be missing, or be torn, each effect for itself.

The calls of one operation are recorded as effects on files and folders (by identity, not by name). A state after a
failure is made by choosing a moment, keeping every effect that was synced before it, and a random part of the others.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ufo_experience.fileio.disk import Disk

from tests.disks import UnsyncedDisk
from tools.crash import ufo_model
from tools.crash.operations import Bench

Node = int
SYNC, SYNC_FOLDER, FOLDER, ACKNOWLEDGED = "sync", "sync folder", "folder", "acknowledged"


@dataclass(frozen=True)
class Effect:
    """One change (or a sync) of `node`: bytes at a place of a file, or names in a folder (None: gone)."""

    kind: str
    node: Node
    names: tuple[tuple[str, Node | None], ...] = ()
    place: int = 0
    data: bytes = b""


@dataclass
class Medium:
    """Files and folders as they were before, all of it durable."""

    files: dict[Node, bytes] = field(default_factory=dict)
    folders: dict[Node, dict[str, Node]] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, known: dict[Path, Node]) -> Medium:
        """The tree below `root`; `known` is filled with the node of each path."""
        medium = cls()
        for path in [root, *sorted(root.rglob("*"))]:
            node = known.setdefault(path, len(known))
            if path.is_dir():
                medium.folders[node] = {}
            else:
                medium.files[node] = path.read_bytes()
            if path != root:
                medium.folders[known[path.parent]][path.name] = node
        return medium

    def write(self, target: Path) -> Path:
        """Make the tree; node 0 is its root."""
        self._write_folder(0, target)
        return target

    def _write_folder(self, node: Node, target: Path) -> None:
        target.mkdir()
        for name, child in self.folders[node].items():
            if child in self.folders:
                self._write_folder(child, target / name)
            else:
                (target / name).write_bytes(self.files.get(child, b""))


class RecordingDisk(UnsyncedDisk):
    """Does everything, syncs nothing, and keeps the effects."""

    def __init__(self, root: Path) -> None:
        self.nodes: dict[Path, Node] = {}
        self.before = Medium.read(root, self.nodes)
        self.effects: list[Effect] = []
        self._next = len(self.nodes)
        self._open: dict[int, Node] = {}
        self._size: dict[Node, int] = {node: len(data) for node, data in self.before.files.items()}

    def create(self, path: Path) -> int:
        handle = super().create(path)
        self._born(path, handle)
        return handle

    def append(self, path: Path) -> int:
        fresh = path not in self.nodes
        handle = super().append(path)
        self._born(path, handle) if fresh else self._open.__setitem__(handle, self.nodes[path])
        return handle

    def write(self, handle: int, data: bytes | memoryview) -> int:
        written = super().write(handle, data)
        node = self._open[handle]
        self._keep("write", node, place=self._size[node], data=bytes(data[:written]))
        self._size[node] += written
        return written

    def truncate(self, handle: int, size: int) -> None:
        super().truncate(handle, size)
        self._keep("truncate", self._open[handle], place=size)
        self._size[self._open[handle]] = size

    def fsync(self, handle: int) -> None:
        self._keep(SYNC, self._open[handle])

    def fsync_dir(self, path: Path) -> None:
        self._keep(SYNC_FOLDER, self.nodes[path])

    def mkdir(self, path: Path) -> bool:
        made = super().mkdir(path)
        if made:
            node = self._new(path)
            self._keep(FOLDER, node)
            self._name(path, node)
        return made

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        self._name(target, self.nodes[source])

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self._name(path, None)

    def rmdir(self, path: Path) -> None:
        super().rmdir(path)
        self._name(path, None)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._move(source, target)

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self._move(source, target)

    def acknowledge(self) -> None:
        """The caller has been told."""
        self._keep(ACKNOWLEDGED, 0)

    def _born(self, path: Path, handle: int) -> None:
        node = self._new(path)
        self._open[handle], self._size[node] = node, 0
        self._name(path, node)

    def _new(self, path: Path) -> Node:
        self.nodes[path] = self._next
        self._next += 1
        return self.nodes[path]

    def _name(self, path: Path, node: Node | None) -> None:
        self._keep("names", self.nodes[path.parent], names=((path.name, node),))
        if node is None:
            del self.nodes[path]
        else:
            self.nodes[path] = node

    def _move(self, source: Path, target: Path) -> None:
        node = self.nodes[source]
        if source.parent == target.parent:
            self._keep("names", self.nodes[source.parent], names=((target.name, node), (source.name, None)))
        else:
            self._keep("names", self.nodes[target.parent], names=((target.name, node),))
            self._keep("names", self.nodes[source.parent], names=((source.name, None),))
        moved = {path: kept for path, kept in self.nodes.items() if path == source or source in path.parents}
        for path, kept in moved.items():
            del self.nodes[path]
            self.nodes[target / path.relative_to(source)] = kept

    def _keep(
        self,
        kind: str,
        node: Node,
        *,
        names: tuple[tuple[str, Node | None], ...] = (),
        place: int = 0,
        data: bytes = b"",
    ) -> None:
        self.effects.append(Effect(kind, node, names, place, data))


def states(disk: RecordingDisk, count: int, rng: random.Random) -> Iterator[tuple[Medium, bool]]:
    """`count` media after a power failure, each with whether the caller had been told by then."""
    for _ in range(count):
        moment = rng.randint(0, len(disk.effects))
        done = disk.effects[:moment]
        share = rng.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        yield _survive(disk.before, done, share, rng), any(effect.kind == ACKNOWLEDGED for effect in done)


def _survive(before: Medium, done: list[Effect], share: float, rng: random.Random) -> Medium:
    last_sync = {(effect.kind, effect.node): place for place, effect in enumerate(done)}
    after = Medium(dict(before.files), {node: dict(names) for node, names in before.folders.items()})
    for place, effect in enumerate(done):
        sync = SYNC_FOLDER if effect.kind == "names" else SYNC
        synced = place < last_sync.get((sync, effect.node), -1)
        if synced or rng.random() < share:
            _apply(after, effect, torn=not synced and rng.random() < 0.3, rng=rng)
    for effect in done:  # a folder whose names are all lost is still a folder
        if effect.kind == FOLDER:
            after.folders.setdefault(effect.node, {})
    return after


def _apply(after: Medium, effect: Effect, *, torn: bool, rng: random.Random) -> None:
    if effect.kind == "names":
        names = after.folders.setdefault(effect.node, {})
        for name, node in effect.names:
            if node is None:
                names.pop(name, None)
            else:
                names[name] = node
    elif effect.kind == "write":
        data = effect.data
        if torn:  # the length reached the medium, not all of the bytes; or the other way round
            cut = rng.randint(0, len(data))
            data = data[:cut] + (b"\0" * (len(data) - cut) if rng.random() < 0.5 else b"")
        old = after.files.get(effect.node, b"").ljust(effect.place, b"\0")
        after.files[effect.node] = old[: effect.place] + data + old[effect.place + len(data) :]
    elif effect.kind == "truncate":
        after.files[effect.node] = after.files.get(effect.node, b"")[: effect.place]


def lose_power(bench: Bench, count: int, seed: int, place: Path) -> list[str]:
    """Try one operation of ours in `count` states; the faults."""
    folder, rng = bench.copy(), random.Random(f"{seed} {bench.name}")
    disk = RecordingDisk(folder)
    bench.perform(folder, disk)
    disk.acknowledge()
    faults = []
    for medium, told in states(disk, count, rng):
        made = medium.write(place / "state")
        fault = bench.fault(made, acknowledged=told, tidied=False)
        faults += [f"{bench.name}: {fault}"] if fault else []
        shutil.rmtree(made)
    return faults


def lose_power_baseline(count: int, seed: int, place: Path) -> tuple[int, int, int]:
    """The same for one addition in UFO's way: states with something lost, unreadable, mismatched."""
    folder, rng = place / "model", random.Random(seed)
    folder.mkdir()
    held = set(ufo_model.add_all(folder, range(50), Disk()))
    disk = RecordingDisk(folder)
    new = {ufo_model.add(folder, 50, disk)}
    disk.acknowledge()
    found = []
    for medium, told in states(disk, count, rng):
        made = medium.write(place / "state")
        ids, agrees = ufo_model.look(made)
        found.append((bool((held | (new if told else set())) - (ids or set())), ids is None, not agrees))
        shutil.rmtree(made)
    lost, unreadable, mismatched = (sum(column) for column in zip(*found, strict=True))
    return lost, unreadable, mismatched
