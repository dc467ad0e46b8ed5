"""What goes over the WebSocket of a service session: JSON objects, told apart by `type`.

client (executes)                          server (decides)
task {task_name, request}           ──▶
                                    ◀──    accepted {session_id}
                                    ◀──    commands {batch_id, commands}
results {batch_id, results}         ──▶
resume {session_id}                 ──▶    after a lost connection; open commands are sent again
                                    ◀──    task_end {status, result, error}
                                    ◀──    error {error}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, RootModel

from ufo_experience.errors import CorruptError, FormatVersionError, SchemaError
from ufo_experience.fileio.strict_json import parse
from ufo_experience.schema import MAX_TEXT, Model, Name, validate
from ufo_experience.session.jsonform import plain
from ufo_experience.session.protocols import Command, Result

VERSION = 1
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
MAX_COMMANDS = 100


class Message(Model):
    """What all messages share."""

    version: int = VERSION


class TaskMessage(Message):
    """A client asks for a task to be done on its machine."""

    type: Literal["task"] = "task"
    task_name: Annotated[str, Field(min_length=1, max_length=200)]
    request: Annotated[str, Field(min_length=1, max_length=8192)]


class ResumeMessage(Message):
    """A client is back after its connection was lost."""

    type: Literal["resume"] = "resume"
    session_id: Name


class ResultsMessage(Message):
    """What a batch of commands came to."""

    type: Literal["results"] = "results"
    batch_id: Name
    results: Annotated[tuple[Result, ...], Field(max_length=MAX_COMMANDS)]


class AcceptedMessage(Message):
    """The server has begun; the id is also the right to resume, so it is secret."""

    type: Literal["accepted"] = "accepted"
    session_id: Name


class CommandsMessage(Message):
    """The server wants commands executed."""

    type: Literal["commands"] = "commands"
    batch_id: Name
    commands: Annotated[tuple[Command, ...], Field(max_length=MAX_COMMANDS)]


class TaskEnd(Message):
    """The session is over. `completed` says that it ran to its end, not that the task was done."""

    type: Literal["task_end"] = "task_end"
    status: Literal["completed", "failed"]
    result: str = ""
    error: str | None = None


class ErrorMessage(Message):
    """The server refuses."""

    type: Literal["error"] = "error"
    error: str


AnyMessage = TaskMessage | ResumeMessage | ResultsMessage | AcceptedMessage | CommandsMessage | TaskEnd | ErrorMessage


class _Envelope(RootModel[Annotated[AnyMessage, Field(discriminator="type")]]):
    """Any message, told apart by its `type`."""


def encode(message: Message) -> str:
    """A message as text."""
    return message.model_dump_json()


def decode(data: str | bytes) -> AnyMessage:
    """Text as a message.

    Raises:
        SchemaError: not JSON, no known type, or a field is missing or wrong.
        FormatVersionError: sent by a newer version.
    """
    try:
        fields = parse(data)
    except CorruptError as error:
        raise SchemaError(f"the message is {error.reason}") from error
    version = fields.get("version", VERSION) if isinstance(fields, dict) else VERSION
    if isinstance(version, int) and version > VERSION:
        raise FormatVersionError(f"the other side speaks version {version}, this one {VERSION}")
    return validate(_Envelope, fields).root


def commands_message(batch_id: str, commands: Sequence[Command]) -> CommandsMessage:
    """Commands, ready to be sent; parameters without a JSON form become text."""
    return validate(CommandsMessage, {"batch_id": batch_id, "commands": plain(list(commands))})


def results_message(batch_id: str, results: Sequence[Result]) -> ResultsMessage:
    """Results, ready to be sent; what has no JSON form becomes text, and an error is cut to `MAX_TEXT`."""
    cut = [replace(one, error=one.error and one.error[:MAX_TEXT]) for one in results]
    return validate(ResultsMessage, {"batch_id": batch_id, "results": plain(cut)})
