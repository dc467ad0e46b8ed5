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
from typing import Annotated, Any, Literal

from pydantic import Field

from ufo_experience.errors import CorruptError, FormatVersionError, SchemaError
from ufo_experience.fileio.strict_json import parse
from ufo_experience.schema import Json, JsonObject, Model, Name, Text, validate
from ufo_experience.session.jsonform import plain
from ufo_experience.session.protocols import Command, Result, ResultStatus, Target

VERSION = 1
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
MAX_COMMANDS = 100


class WireTarget(Model):
    """A `Target`."""

    name: Text = ""
    type: Name | None = None
    id: Name = ""
    kind: Name = "control"
    is_password: bool = False
    within: Text = ""
    dialog: bool = False
    checked: bool | None = None


class WireCommand(Model):
    """A `Command`."""

    call_id: Name
    tool_name: Name
    parameters: JsonObject = Field(default_factory=dict)
    tool_type: Name = "action"
    target: WireTarget | None = None


class WireResult(Model):
    """A `Result`."""

    call_id: Name
    status: ResultStatus
    result: Json = None
    error: Text | None = None
    namespace: Name = ""


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
    results: Annotated[tuple[WireResult, ...], Field(max_length=MAX_COMMANDS)]


class AcceptedMessage(Message):
    """The server has begun; the id is also the right to resume, so it is secret."""

    type: Literal["accepted"] = "accepted"
    session_id: Name


class CommandsMessage(Message):
    """The server wants commands executed."""

    type: Literal["commands"] = "commands"
    batch_id: Name
    commands: Annotated[tuple[WireCommand, ...], Field(max_length=MAX_COMMANDS)]


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


_MESSAGES: dict[str, type[Message]] = {
    "task": TaskMessage,
    "resume": ResumeMessage,
    "results": ResultsMessage,
    "accepted": AcceptedMessage,
    "commands": CommandsMessage,
    "task_end": TaskEnd,
    "error": ErrorMessage,
}


def encode(message: Message) -> str:
    """A message as text."""
    return message.model_dump_json()


def decode(data: str | bytes) -> Message:
    """Text as a message.

    Raises:
        SchemaError: not JSON, no known type, or a field is missing or wrong.
        FormatVersionError: sent by a newer version.
    """
    try:
        fields = parse(data)
    except CorruptError as error:
        raise SchemaError(f"the message is {error.reason}") from error
    kind = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in _MESSAGES:
        raise SchemaError(f"unknown message: use one of {', '.join(_MESSAGES)}", field="type")
    version = fields.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise FormatVersionError(f"the other side speaks version {version}, this one {VERSION}")
    return validate(_MESSAGES[kind], fields)


def commands_message(batch_id: str, commands: Sequence[Command]) -> CommandsMessage:
    """Commands, ready to be sent."""
    return CommandsMessage(batch_id=batch_id, commands=tuple(map(_to_wire, commands)))


def results_message(batch_id: str, results: Sequence[Result]) -> ResultsMessage:
    """Results, ready to be sent; what has no JSON form becomes text."""
    return ResultsMessage(batch_id=batch_id, results=tuple(map(_result_to_wire, results)))


def read_command(wire: WireCommand) -> Command:
    """A command as it was sent."""
    target = Target(**wire.target.model_dump()) if wire.target else None
    return Command(wire.tool_name, wire.parameters, wire.tool_type, target, wire.call_id)


def read_result(wire: WireResult) -> Result:
    """A result as it was sent."""
    return Result(wire.status, wire.result, wire.error, wire.namespace, wire.call_id)


def _to_wire(command: Command) -> WireCommand:
    fields: dict[str, Any] = {
        "call_id": command.call_id,
        "tool_name": command.tool_name,
        "parameters": plain(dict(command.parameters)),
        "tool_type": command.tool_type,
        "target": None if command.target is None else plain(command.target),
    }
    return validate(WireCommand, fields)


def _result_to_wire(result: Result) -> WireResult:
    error = result.error if result.error is None else result.error[:8192]
    fields = {
        "call_id": result.call_id,
        "status": result.status,
        "result": plain(result.result),
        "error": error,
        "namespace": result.namespace,
    }
    return validate(WireResult, fields)
