"""Classes made by `ufo_experience.dataclass` are what `dataclasses` makes of them, said twice and compared."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import pytest

from ufo_experience.dataclass import dataclass


@dataclass(frozen=True)
class Ours:
    """A class with all that ours have."""

    name: str
    size: int = 1
    parts: list[int] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(self.size)


@dataclasses.dataclass(frozen=True)
class Theirs:
    """The same."""

    name: str
    size: int = 1
    parts: list[int] = field(default_factory=list, compare=False, repr=False)


@dataclass
class Mutable:
    """One whose fields change."""

    name: str


@pytest.mark.parametrize(
    "act",
    [
        lambda cls: dataclasses.asdict(cls("a", parts=[1])),
        lambda cls: cls("a", 2, [3]).parts,
        lambda cls: (cls("a") == cls("a", 1, [4]), cls("a") == cls("b"), cls("a") == "a"),
        lambda cls: hash(cls("a")) == hash(cls(size=1, name="a")),
        lambda cls: repr(cls("a")).replace(cls.__name__, ""),
        lambda cls: dataclasses.replace(cls("a"), size=3).size,
        lambda cls: cls("a").parts is cls("a").parts,
        lambda cls: cls.__match_args__,
        lambda cls: [(one.name, one.annotation) for one in inspect.signature(cls).parameters.values()],
        lambda cls: pickle.loads(pickle.dumps(cls("a", 2))).size,
        lambda cls: copy.copy(cls("a", 2)).size,
    ],
)
def test_it_does_what_the_other_one_does(act: Any) -> None:
    assert act(Ours) == act(Theirs)


@pytest.mark.parametrize(
    ("args", "given"), [((), {}), (("a", 1, [], 2), {}), (("a",), {"name": "b"}), (("a",), {"colour": "red"})]
)
def test_a_call_that_does_not_fit_is_refused(args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for cls in (Ours, Theirs):
        with pytest.raises(TypeError):
            cls(*args, **given)


def test_values_are_looked_at_when_the_class_says_so() -> None:
    with pytest.raises(ValueError, match="-1"):
        Ours("a", -1)


def test_what_is_frozen_does_not_change() -> None:
    one = Ours("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.name
    assert one.name == "a"


def test_what_is_not_frozen_changes_and_has_no_hash() -> None:
    one = Mutable("a")
    one.name = "b"
    assert one == Mutable("b")
    with pytest.raises(TypeError):
        hash(one)
