"""Every error this package raises on purpose. Catch `ExperienceError` to catch them all.

`code` says more than the class, and stays the same from release to release: `E_TRACE` (a log cannot be read),
`E_SCHEMA` (a record breaks the schema), `E_CORRUPT` (bytes differ from their hash, or a file is torn), `E_VERSION` (a
newer version wrote it), `E_INDEX_MISMATCH` (another embedder made the index), `E_MISSING_EXTRA`, `E_QUOTA`, …
Errors of other libraries are chained (`raise … from error`).
"""

import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
_PACKAGE = __name__.partition(".")[0]
_NAMES = Path(__file__).with_name("elsewhere.txt").read_text("utf-8")
_ELSEWHERE = dict(re.findall(r"^([^#:]+): (.+)$", _NAMES, re.MULTILINE))  # our name of a thing → its names elsewhere
_UNQUOTED = re.compile(r"[\w:/\\.~+-]+")  # needs no quotes in a shell of Windows
_COMMAND = re.compile(r"ufo-experience [^;,()\n]*[^;,()\s]")  # to copy, as our texts name it
FIELDS_OF: dict[str, Collection[str]] = {"settings": (), "where": ()}  # told where these are defined
_GIVEN_IN = {
    "settings": "a setting is given so: settings=Settings",
    "where": "a filter is given so: where=RecordFilter",
}


class ExperienceError(Exception):
    """Root of the tree. `code` is stable and machine-readable, `exit_code` is what the command line exits with."""

    exit_code: int = 1
    default_code: str = "E_UNKNOWN"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code: str = code or self.default_code


class UsageError(ExperienceError):
    """A call or option that makes no sense."""

    exit_code, default_code = 2, "E_USAGE"


class DataError(ExperienceError):
    """Input is wrong. The message names what is known of file, line (from 1) and field."""

    exit_code, default_code = 65, "E_DATA"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        code: str | None = None,
    ) -> None:
        self.reason, self.file, self.line, self.field = message, file, line, field
        place = (file or "") + (f":{line}" if line is not None else "")
        place = " ".join(part for part in (place, f"[{field}]" if field else "") if part)
        super().__init__(f"{place}: {message}" if place else message, code=code)


class NotFoundError(DataError):
    """There is no such record, store or source; the message says where it was looked for."""

    default_code = "E_NOT_FOUND"


class ServiceError(ExperienceError):
    """A remote service failed, refused, or is not configured. It may ask to be left alone for `retry_after` seconds."""

    exit_code, default_code = 69, "E_SERVICE"

    def __init__(self, message: str, *, code: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class BudgetError(ServiceError):
    """A cost cap would be passed, or cannot be watched (`E_NO_PRICE`); nothing was sent."""

    default_code = "E_BUDGET"


class StorageError(ExperienceError):
    """The disk refused: no space, no permission, a failed fsync. What was acknowledged before is safe."""

    exit_code, default_code = 73, "E_STORAGE"


class LockedError(ExperienceError):
    """Another process is writing to the store; the message names it."""

    exit_code, default_code = 75, "E_LOCKED"


class ConflictError(ExperienceError):
    """A record was changed by somebody else after the caller looked at it; look again. Nothing was changed."""

    exit_code, default_code = 75, "E_CONFLICT"


class RefusedError(ExperienceError):
    """An action was refused for safety; nothing was done."""

    exit_code, default_code = 77, "E_REFUSED"


def missing_extra(package: str, extra: str) -> ServiceError:
    """The error of an optional package that is not installed, with its install line."""
    command = f'pip install "ufo-experience[{extra}]"'  # of the package that is installed: no release is needed
    message = f"{package} is not installed. Add it to this installation with: {command}"
    return ServiceError(message, code="E_MISSING_EXTRA")


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Around imports of an optional package: where it is not there, the error says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or extra, extra) from error


def with_store(text: str, store: str) -> str:
    """Our own words, each command in them with this store: it can be copied."""
    return _COMMAND.sub(lambda found: found[0] if "--db" in found[0] else f"{found[0]} --db {quoted(store)}", text)


def quoted(location: str) -> str:
    """A location as a shell of this system takes it, in a command to copy."""
    if os.name != "nt":
        return shlex.quote(location)
    end = "\\" * (len(location) - len(location.rstrip("\\")))  # else the last one would belong to the quote
    return location if _UNQUOTED.fullmatch(location) else f'"{location}{end}"'


def plain_words(message: str) -> str:
    """What pydantic says of a value, as we say it."""
    said = message.replace("Value error, ", "").replace("Field required", "is missing")
    said = re.sub(r", unable to .*", "", re.sub(r"\b(?:Input|String|List) should", "must", said))
    said = said.replace("a valid boolean", "true or false")
    said = re.sub("(?<=dictionary) or instance of .*", "", re.sub("valid (?:list|tuple)", "list", said))
    return said.replace("valid integer", "whole number")


def nearest(name: str, known: Iterable[str], least: float = 0.75, inside: str = "") -> str:
    """The known name that may be meant by one that is not known, "" where none is: one of the same meaning (or several,
    and how they are used), one that stands `inside`, one spelled alike, longer, or of which it is a part.
    """
    names = [*known]
    ours = [one for one, others in _ELSEWHERE.items() if name in others.split() and one.split()[0] in names]
    alike = get_close_matches(name, names, n=1, cutoff=least)
    cut = [one for one in names if one.startswith(name) and len(one) < 4 * len(name) and "_" not in one[len(name) :]]
    longer = [one for one in names if name in one.split("_") or one in cut]  # `app`, not `all` of `allow_run`
    return " or ".join(ours) or inside or next(iter([*alike, *longer]), "")


def names_methods(kind: C) -> C:
    """Let a class answer a method that it lacks with those it has."""
    kind.__getattr__ = _no_such_attribute  # type: ignore[attr-defined]
    return kind


def names_arguments(kind: C) -> C:
    """The same, and an unknown argument is answered with the nearest, and those that fit."""
    names_methods(kind)
    for name, method in list(vars(kind).items()):
        if isinstance(method, classmethod):
            setattr(kind, name, classmethod(_naming(method.__func__)))
        elif inspect.isfunction(method) and (not name.startswith("_") or name == "__init__"):
            setattr(kind, name, _naming(method))
    return kind


def _no_such_attribute(self: Any, name: str) -> Any:
    said = f"{type(self).__name__} has no {name!r}"
    if not name.startswith("_"):
        foreign = {one for base in type(self).__mro__ if not base.__module__.startswith(_PACKAGE) for one in vars(base)}
        known = [one for one in dir(self) if not one.startswith("_") and one not in foreign]
        ours = ((own, part) for own, part in vars(self).items() if type(part).__module__.startswith(_PACKAGE))
        inside = next((f"{own}.{name}" for own, part in ours if own in known and name in dir(part)), "")
        meant = re.sub(r" --\S+", "", nearest(name, known, inside=inside))  # a method takes no option of a command
        said += f";{f' did you mean {meant}?' * bool(meant)} it has {', '.join(known)}"
    raise AttributeError(said, name=name, obj=self)


def no_such_name(name: str, kind: type) -> AttributeError | ImportError:
    """The error of a name that the package has not: the module it stands in, or the method of `kind` that it is."""
    root, found = Path(__file__).parent, []
    made = re.compile(rf'^(?:class|def) {re.escape(name)}\b|^    "{re.escape(name)}",', re.MULTILINE)
    for path in () if name.startswith("_") else sorted(root.rglob("*.py")):
        if path.parent != root or path.stem != "__init__":
            place = path.relative_to(root.parent).with_suffix("").as_posix().removesuffix("/__init__")
            found += [f"{place.replace('/', '.')}.{name}"] if made.search(path.read_text(encoding="utf-8")) else []
    found += [f"{kind.__name__}.{name}"] if hasattr(kind, name) else []
    ours = [one for one in vars(sys.modules[_PACKAGE]) if one[0].isupper() and one.endswith(name)]
    meant = " or ".join(min(names, key=len) for names in (ours, found) if names)
    said = f"{_PACKAGE} has no {name!r}{f'; it is {meant}' * bool(meant)}"
    by_from = sys._getframe(2).f_code.co_name == "_handle_fromlist"  # which hides what an AttributeError says
    is_module = (root / name).is_dir() or (root / f"{name}.py").is_file()
    return ImportError(said) if by_from and found and not is_module else AttributeError(said, name=name)


def _naming(method: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(method).parameters
    by_name = inspect.Parameter.KEYWORD_ONLY
    taken = [f"{name}{'=…' * (one.kind is by_name)}" for name, one in parameters.items() if name not in ("self", "cls")]
    by_place = [name for name in taken if name in parameters]
    takes = ", ".join(taken) or f"nothing: {(inspect.getdoc(method) or '').partition(chr(10))[0]}"
    kind, _, own = method.__qualname__.rpartition(".")

    @wraps(method)
    def call(*args: Any, **given: Any) -> Any:
        try:
            return method(*args, **given)
        except ExperienceError as error:
            said, wrong = str(error), str(error).partition(" is ")[0]
            if len(by_place) > 1 and wrong in by_place[: len(args) - 1]:
                said = re.sub(r"; \w+ takes .*|$", f"; {own} takes {takes}", said, count=1)
            if (store := getattr(args[0], "store", None)) is not None:
                said = with_store(said, store.location)
            error.args = (said,)
            raise
        except TypeError as error:
            if error.__traceback__ and error.__traceback__.tb_next:  # called rightly, and something inside failed
                raise
            wrong = next((name for name in given if name not in parameters), "")
            meant = f"did you mean {near}? " if wrong and (near := nearest(wrong, parameters)) else ""
            if wrong and not meant:
                found = [(said, name) for name, said in _GIVEN_IN.items() if name in parameters]
                meant = "".join(f"{said}({wrong}=…); " for said, name in found if wrong in FIELDS_OF[name])
            if hasattr(args[0], f"{wrong}_{own}"):
                meant = f"did you mean {wrong}_{own}? "
            said = str(error).replace(method.__qualname__, kind if own == "__init__" else own)
            raise TypeError(f"{said}; {meant}it takes {takes}") from None

    return call
