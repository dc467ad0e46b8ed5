"""The log folder of a session, in the form of UFO v3: read back by `traces`, readable at any moment.

    response.log     one line per step of an agent
    request.log      one line per prompt: controls in view, plan, what memory added
    evaluation.log   one line per judgement
    memory.audit     one line per look into memory: what was found, what was injected, by which engine

Every line is with the operating system when a call returns; a killed session leaves whole lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.errors import StorageError
from ufo_experience.session.files import StrPath, append_line, write_atomic
from ufo_experience.session.jsonform import dump, plain
from ufo_experience.session.log_lines import HOST, StepRecord, app_line, host_line, request_line
from ufo_experience.session.masking import Masker

RESPONSE, REQUEST, EVALUATION, AUDIT = "response.log", "request.log", "evaluation.log", "memory.audit"

_MAX_NAME = 100
_MAX_SIBLINGS = 10_000
_UNSAFE = re.compile(r"[^\w.\- ]+")
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


class LogFile:
    """One file of a log folder; `write` appends a line."""

    def __init__(self, path: StrPath) -> None:
        self.path = Path(path)

    def write(self, line: str) -> None:
        """Append one line and hand it to the operating system.

        Raises:
            StorageError: the disk refused.
        """
        append_line(self.path, line)


class SessionLog:
    """Writes the log folder of one session."""

    def __init__(self, folder: StrPath) -> None:
        self.folder = Path(folder)
        self.masker = Masker()
        self._files = {name: LogFile(self.folder / name) for name in (RESPONSE, REQUEST, EVALUATION, AUDIT)}

    @classmethod
    def create(cls, root: StrPath, task: str) -> SessionLog:
        """Make a folder for `task` below `root`, of its own: if there is one, `task-2` and so on.

        Raises:
            StorageError: the disk refused.
        """
        return cls(claim_folder(Path(root), task))

    @property
    def response_file(self) -> Path:
        """Where the steps are."""
        return self._files[RESPONSE].path

    @property
    def evaluation_logger(self) -> LogFile:
        """The file of judgements."""
        return self._files[EVALUATION]

    def step(self, record: StepRecord) -> dict[str, Any]:
        """Write one step to `request.log` and `response.log`; returns the line, as `output.md` shows it.

        Secrets typed into password fields are hidden in it, and in earlier lines should they stand there.
        """
        known = self.masker.secrets
        parameters = tuple(
            self.masker.parameters(command, record.decision.observation) for command, _ in record.outcomes
        )
        record = replace(record, parameters=parameters)
        if self.masker.secrets > known:
            self._clean_earlier()
        line = app_line(record) if record.role != HOST else host_line(record)
        self._write(REQUEST, request_line(record))
        return self._write(RESPONSE, line)

    def evaluation(self, result: Mapping[str, Any]) -> None:
        """Write one judgement."""
        self._write(EVALUATION, result)

    def audit(self, event: Mapping[str, Any]) -> None:
        """Write what memory was asked and answered."""
        self._write(AUDIT, {"at": datetime.now(timezone.utc), **event})

    def _write(self, name: str, line: Mapping[str, Any]) -> dict[str, Any]:
        clean: dict[str, Any] = self.masker.value(plain(line))
        self._files[name].write(dump(clean))
        return clean

    def _clean_earlier(self) -> None:
        """Take a secret that has just become known out of what was written before."""
        for name in (RESPONSE, REQUEST):
            path = self._files[name].path
            if not path.exists():
                continue
            try:
                text = path.read_bytes().decode("utf-8", "replace")
            except OSError as error:
                raise StorageError(f"{path}: cannot be read: {error}") from error
            if (clean := self.masker.without_secrets(text)) != text:
                write_atomic(path, clean)


def claim_folder(root: Path, task: str) -> Path:
    """Make a new folder named after `task`, safe as a file name on every system, that no other session uses."""
    name = folder_name(task)
    for number in range(1, _MAX_SIBLINGS):
        folder = root / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(f"{folder}: cannot be made: {error.strerror or error}") from error
        return folder
    raise StorageError(f"{root / name}: there are {_MAX_SIBLINGS} log folders of this name")


def folder_name(task: str) -> str:
    """`task` as the name of a folder: no path, no device name, not too long; never empty."""
    name = _UNSAFE.sub("_", task).strip(" .")[:_MAX_NAME].strip(" .")
    return f"_{name}" if not name or _DEVICES.fullmatch(name) else name
