"""`dataclass`, as `dataclasses` has it, for modules that one question loads: a class of it is quick to define.

The other one writes six methods as text for each class and compiles them; for the fifty classes of a question that
takes longer than the question. Here all classes share their methods. `fields`, `replace` and `asdict` work as ever, and
so do editors, type checkers and `inspect.signature`; of the arguments there are those we use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from inspect import Signature
else:

    def dataclass(cls: type | None = None, *, frozen: bool = False, repr: bool = True) -> Any:
        """As `dataclasses.dataclass`."""
        return (lambda one: _made(one, frozen, repr)) if cls is None else _made(cls, frozen, repr)


def _made(cls: type, frozen: bool, repr: bool) -> type:
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    own = vars(made)
    made.__signature__ = _Constructor()
    made.__init__ = _init(made)
    if repr and "__repr__" not in own:
        made.__repr__ = _repr
    if "__eq__" not in own:
        values = attrgetter(*(one.name for one in fields(made) if one.compare))
        made.__eq__ = _eq(values)
        made.__hash__ = (lambda self: hash(values(self))) if frozen else None
    if frozen:
        made.__setattr__ = made.__delattr__ = _refuse
    return cls


def _init(cls: Any) -> Callable[..., None]:
    names = tuple(one.name for one in fields(cls))
    known = frozenset(names)
    defaults = {one.name: one.default for one in fields(cls) if one.default is not MISSING}
    factories = {one.name: one.default_factory for one in fields(cls) if one.default_factory is not MISSING}
    finish = getattr(cls, "__post_init__", None)

    def init(self: Any, *args: Any, **given: Any) -> None:
        if len(args) == len(names) and not given and finish is None:  # what is made by the hundred
            own = self.__dict__
            for name, value in zip(names, args, strict=True):
                own[name] = value
            return
        state = {**dict(zip(names, args, strict=False)), **given}
        wrong = len(state) < len(args) + len(given)  # too many, or one given twice
        if len(state) < len(names):
            state = {**defaults, **{name: make() for name, make in factories.items() if name not in state}, **state}
        if wrong or state.keys() != known:
            cls.__signature__.bind(*args, **given)  # raises: says what is
        self.__dict__.update(state)
        if finish is not None:
            self.__post_init__()

    return init


class _Constructor:
    """The signature of a class, worked out when somebody asks for it: an editor, or a call that does not fit."""

    def __get__(self, instance: object, cls: Any) -> Signature:
        from inspect import Parameter, Signature

        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters = [Parameter(one.name, kind, default=_default(one), annotation=one.type) for one in fields(cls)]
        return Signature(parameters, return_annotation=None)


def _default(one: dataclasses.Field[Any]) -> Any:
    from inspect import Parameter

    given = one.default if one.default_factory is MISSING else one.default_factory
    return Parameter.empty if given is MISSING else given


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(values: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    return lambda self, other: values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented


def _refuse(self: object, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")
