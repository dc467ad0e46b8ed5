"""Tasks of an application of ours, from its `tasks.yaml`: a goal in words, the state that must come of it, one way.

The seed is the number of the variant: each slot walks through its pool, so that neighbouring seeds share no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.steps.desktop.start import POOLS, State, derived, start_state

Values = Mapping[str, str]
_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class World:
    """What the tasks of an application are made of: the pools of its slots, the state at the start by a seed, and
    values that follow from others.
    """

    pools: Mapping[str, tuple[str, ...]]
    start_state: Callable[[str], State]
    derived: Callable[[Values, State], dict[str, str]]


@dataclass(frozen=True)
class Template:
    """One task family. `changes` lists (operation, path, value); see the head of the desktop's `tasks.yaml`."""

    name: str
    goal: str
    way: tuple[str, ...]
    slots: Mapping[str, str]
    before: tuple[tuple[str, str, Any], ...]
    changes: tuple[tuple[str, str, Any], ...]
    world: World

    @property
    def application(self) -> str:
        """Where the task is done."""
        return self.way[0]

    @property
    def is_single(self) -> bool:
        """True for a task of one click once the application is in front: nothing to be learnt there."""
        return len(self.way) == 2

    def variant(self, seed: int, goal: str | None = None) -> Variant:
        """The task as the seed makes it; `goal` is another wording of its goal, with the same slots."""
        pools = self.world.pools
        values = {
            slot: pools[pool][(seed + at) % len(pools[pool])] for at, (slot, pool) in enumerate(self.slots.items())
        }
        start = self.world.start_state(f"{self.name}/{seed}")
        values |= self.world.derived(values, start)
        _apply(start, self.before, values)
        wanted = _copied(start)
        _apply(wanted, self.changes, values)
        facts = tuple(
            (operation, _fill(path, values).split("/"), _fill(value, values)) for operation, path, value in self.changes
        )
        return Variant(
            _fill(goal or self.goal, values), start, wanted, facts, tuple(_fill(step, values) for step in self.way)
        )


@dataclass(frozen=True)
class Variant:
    """One task to be done: the words, the state at the start, the state wanted, what must hold, one shortest way."""

    goal: str
    start: State
    wanted: State
    facts: tuple[tuple[str, list[str], Any], ...]
    way: tuple[str, ...]

    def holds(self, state: State) -> bool:
        """True when everything the goal asks for is so, whatever else has changed."""
        return all(_holds(state, operation, path, value) for operation, path, value in self.facts)


def _copied(value: Any) -> Any:
    """A copy of a state: of dictionaries, lists and what cannot be changed."""
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _holds(state: State, operation: str, path: list[str], value: Any) -> bool:
    *parents, key = path
    for parent in parents:
        state = state.get(parent, {})
    return _CHECKS[operation](state, key, value)


# Whether an operation's effect is there.
_CHECKS: dict[str, Callable[[State, str, Any], bool]] = {
    "set": lambda target, key, value: bool(target.get(key) == value),
    "append": lambda target, key, value: value in target[key],
    "remove": lambda target, key, value: value not in target[key],
    "rename": lambda target, key, value: value in target and key not in target,
}


@cache
def templates() -> dict[str, Template]:
    """All task families of the desktop by name, in the order of the file."""
    return read_templates(Path(__file__).with_name("tasks.yaml"), World(POOLS, start_state, derived))


def read_templates(file: Path, world: World) -> dict[str, Template]:
    """The task families of a file by name, in its order."""
    import yaml

    return {entry["name"]: _template(entry, world) for entry in yaml.safe_load(file.read_text(encoding="utf-8"))}


@cache
def rewordings(author: str) -> dict[str, tuple[str, ...]]:
    """The goals of all families in the words of somebody who has not seen the authors' ("a" to "c")."""
    lines = Path(__file__).with_name(f"goals_author_{author}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.strip()]
    return {name: tuple(goals) for name, *goals in rows}


def _template(entry: Mapping[str, Any], world: World) -> Template:
    changes = tuple((what, path, value) for what in _OPERATIONS for path, value in entry.get(what, {}).items())
    before = tuple(("set", path, value) for path, value in entry.get("before", {}).items())
    return Template(entry["name"], entry["goal"], tuple(entry["way"]), entry.get("with", {}), before, changes, world)


def _apply(state: State, changes: tuple[tuple[str, str, Any], ...], values: Values) -> None:
    for operation, path, value in changes:
        *parents, key = (_fill(part, values) for part in path.split("/"))
        target = state
        for parent in parents:
            target = target[parent]
        _OPERATIONS[operation](target, key, _fill(value, values))


def _rename(target: State, key: str, name: str) -> None:
    items = [(name if old == key else old, value) for old, value in target.items()]
    target.clear()
    target.update(items)


_OPERATIONS: dict[str, Callable[[State, str, Any], None]] = {
    "set": lambda target, key, value: target.__setitem__(key, value),
    "append": lambda target, key, value: target[key].append(value),
    "remove": lambda target, key, value: target[key].remove(value),
    "rename": _rename,
}


def _fill(value: Any, values: Values) -> Any:
    """Replace each `{slot}` in a text, or in the texts of a list or mapping."""
    if isinstance(value, str):
        return _SLOT.sub(lambda match: values[match.group(1)], value)
    if isinstance(value, list):
        return [_fill(one, values) for one in value]
    if isinstance(value, dict):
        return {key: _fill(one, values) for key, one in value.items()}
    return value
