"""Every error this package raises on purpose.

    ExperienceError
    ├── UsageError             a call or option makes no sense                       exit 2
    ├── DataError              input is wrong: names file, line and field            exit 65
    │   ├── TraceError           a log or trajectory file cannot be read
    │   ├── SchemaError          a record breaks the schema or its limits
    │   ├── CorruptError         bytes differ from their hash, or a file is torn
    │   ├── FormatVersionError   written by a newer version
    │   ├── NotFoundError        no such record, store or file
    │   └── IndexMismatchError   the index was made by another embedder, size or store
    ├── ServiceError           a remote service failed or is not configured          exit 69
    │   ├── MissingExtraError    an optional package is not installed
    │   └── BudgetError          a cost cap would be passed
    ├── StorageError           the disk refused                                      exit 73
    │   └── QuotaError           one author may not keep more records
    ├── LockedError            another process is writing                            exit 75
    ├── ConflictError          a record is not any more what the caller saw          exit 75
    └── RefusedError           refused for safety                                    exit 77

Catch `ExperienceError` to catch them all. Errors of other libraries are chained (`raise … from error`).
"""

from __future__ import annotations


class ExperienceError(Exception):
    """Root of the tree. `code` is stable and machine-readable, `exit_code` is what the command line exits with."""

    exit_code = 1
    default_code = "E_UNKNOWN"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.default_code


class UsageError(ExperienceError):
    """A call or option that makes no sense."""

    exit_code = 2
    default_code = "E_USAGE"


class DataError(ExperienceError):
    """Input is wrong. The message names what is known of file, line (from 1) and field."""

    exit_code = 65
    default_code = "E_DATA"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        code: str | None = None,
    ) -> None:
        self.reason = message
        self.file, self.line, self.field = file, line, field
        super().__init__(_locate(message, file, line, field), code=code)


class TraceError(DataError):
    """A log or trajectory file cannot be read."""

    default_code = "E_TRACE"


class SchemaError(DataError):
    """A record breaks the schema or one of its limits."""

    default_code = "E_SCHEMA"


class CorruptError(DataError):
    """Bytes differ from their hash, or a file is torn."""

    default_code = "E_CORRUPT"


class FormatVersionError(DataError):
    """A file was written by a newer version; it is left untouched."""

    default_code = "E_VERSION"


class NotFoundError(DataError):
    """There is no such record, store or source; the message says where it was looked for."""

    default_code = "E_NOT_FOUND"


class IndexMismatchError(DataError):
    """The index was made by another embedder, dimension, text template or store. The message names the cure."""

    default_code = "E_INDEX_MISMATCH"


class ServiceError(ExperienceError):
    """A remote service failed, refused, or is not configured. It may ask to be left alone for `retry_after` seconds."""

    exit_code = 69
    default_code = "E_SERVICE"

    def __init__(self, message: str, *, code: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class MissingExtraError(ServiceError):
    """An optional package is not installed; the message carries its install line."""

    default_code = "E_MISSING_EXTRA"

    def __init__(self, package: str, extra: str) -> None:
        command = f'pip install "ufo-experience[{extra}]"'  # of the package that is installed: no release is needed
        super().__init__(f"{package} is not installed. Add it to this installation with: {command}")


class BudgetError(ServiceError):
    """A cost cap would be passed, or cannot be watched (`E_NO_PRICE`, `E_NO_BOOKS`); nothing was sent."""

    default_code = "E_BUDGET"


class StorageError(ExperienceError):
    """The disk refused: no space, no permission, a failed fsync. What was acknowledged before is safe."""

    exit_code = 73
    default_code = "E_STORAGE"


class QuotaError(StorageError):
    """One author (a role of the database, an owner of files) would keep more records than allowed; none was stored.

    `author`, `count` (what is stored of theirs) and `limit` say more.
    """

    default_code = "E_QUOTA"

    def __init__(self, location: str, author: str, count: int, limit: int) -> None:
        self.author, self.count, self.limit = author, count, limit
        super().__init__(
            f"{location}: not written, {author!r} has {count} of {limit} records (setting max_records_per_author)"
        )


class LockedError(ExperienceError):
    """Another process is writing to the store; the message names it."""

    exit_code = 75
    default_code = "E_LOCKED"


class ConflictError(ExperienceError):
    """A record was changed by somebody else after the caller looked at it; look again. Nothing was changed."""

    exit_code = 75
    default_code = "E_CONFLICT"


class RefusedError(ExperienceError):
    """An action was refused for safety; nothing was done."""

    exit_code = 77
    default_code = "E_REFUSED"


def _locate(message: str, file: str | None, line: int | None, field: str | None) -> str:
    place = file or ""
    if line is not None:
        place += f":{line}"
    if field:
        place += f" [{field}]" if place else f"[{field}]"
    return f"{place}: {message}" if place else message
