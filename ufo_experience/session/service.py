"""Both ends of a service session: the server runs one per task, the client asks for it and executes its commands."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING

from ufo_experience.errors import ConnectionLostError, DataError, MissingExtraError, RefusedError, ServiceError
from ufo_experience.session.protocols import Command, CommandDispatcher, ContextNames, Result, ResultStatus
from ufo_experience.session.recovery import Done, Failure, attempt
from ufo_experience.session.service_protocol import (
    GRACE_S,
    MAX_MESSAGE_BYTES,
    AcceptedMessage,
    CommandsMessage,
    ErrorMessage,
    Message,
    ResumeMessage,
    TaskEnd,
    TaskExecutionProtocol,
    TaskMessage,
    closed_error,
    decode,
    encode,
    results_message,
)
from ufo_experience.session.session import BaseSession

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response


_REMEMBERED = 1000
LOOPBACK = ("127.0.0.1", "::1", "localhost")

_GREETING_S = 10.0

MakeSession = Callable[[TaskMessage, str, TaskExecutionProtocol], BaseSession]

_log = logging.getLogger(__name__)


class ServiceClient:
    """Runs tasks on a server and executes their commands here. One task at a time.

    After a lost connection it comes back up to `reconnects` times; a command that is sent again is not executed
    again, its result is.
    """

    def __init__(
        self,
        url: str,
        dispatcher: CommandDispatcher,
        *,
        token: str | None = None,
        command_timeout: float = 60.0,
        reconnects: int = 3,
        pause: float = 0.5,
    ) -> None:
        self._url, self._dispatcher, self._token = url, dispatcher, token
        self._command_timeout, self._reconnects, self._pause = command_timeout, reconnects, pause
        self._results: OrderedDict[str, Result] = OrderedDict()
        self._session_id: str | None = None

    async def run_task(self, request: str, task_name: str = "task") -> TaskEnd:
        """Have the server do `request`; returns how it ended.

        Raises:
            ConnectionLostError: the server cannot be reached, or not any more.
            RefusedError: it refuses the task, or the token.
            DataError: it sends what is no message of ours.
        """
        self._session_id = None
        first: Message = TaskMessage(task_name=task_name, request=request)
        for left in range(self._reconnects, -1, -1):
            end = await self._connect(first)
            if isinstance(end, TaskEnd):
                return end
            if self._session_id is None or left == 0:
                break
            _log.warning("connection lost, coming back: %s", end)
            first = ResumeMessage(session_id=self._session_id)
            await asyncio.sleep(self._pause)
        raise ConnectionLostError(f"{self._url}: {end}")

    async def _connect(self, first: Message) -> TaskEnd | str:
        """Hold one connection until the task ends, or give the reason it was lost."""
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import InvalidHandshake
        except ImportError as error:
            raise MissingExtraError("websockets", "service") from error
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            async with connect(self._url, additional_headers=headers, max_size=MAX_MESSAGE_BYTES) as connection:
                await connection.send(encode(first))
                return await self._follow(connection)
        except closed_error() as error:
            return f"the connection closed: {error}"
        except InvalidHandshake as error:
            raise RefusedError(f"{self._url}: {error}") from error
        except (OSError, asyncio.TimeoutError) as error:
            return f"no connection: {error}"

    async def _follow(self, connection: ClientConnection) -> TaskEnd | str:
        async for data in connection:
            message = decode(data)
            if isinstance(message, TaskEnd):
                return message
            if isinstance(message, ErrorMessage):
                raise RefusedError(f"{self._url}: {message.error}")
            if isinstance(message, AcceptedMessage):
                self._session_id = message.session_id
            elif isinstance(message, CommandsMessage):
                results = [await self._execute(command) for command in message.commands]
                await connection.send(encode(results_message(message.batch_id, results)))
            else:
                raise DataError(f"unexpected message {type(message).__name__}")
        return "the server closed the connection"

    async def _execute(self, command: Command) -> Result:
        """The result of a command: the one remembered if it was executed before."""
        if command.call_id not in self._results:
            done = await attempt(self._dispatcher.execute_commands([command], self._command_timeout))
            if isinstance(done, Done) and done.value:
                result = done.value[0]
            else:
                reason = "no result" if isinstance(done, Done) else done.message
                result = Result(ResultStatus.FAILURE, error=reason, call_id=command.call_id)
            self._results[command.call_id] = result
            while len(self._results) > _REMEMBERED:
                self._results.popitem(last=False)
        return self._results[command.call_id]


class SessionServer:
    """Serves tasks while its `async with` block runs.

    Listens on this machine only unless told otherwise, and then asks for a token. Requests of web pages (which carry
    an Origin) are refused.
    """

    def __init__(
        self,
        make_session: MakeSession,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        grace: float = GRACE_S,
        max_sessions: int = 16,
    ) -> None:
        """`make_session(task, session_id, protocol)` makes the session; port 0 takes a free one.

        Raises:
            RefusedError: open to other machines and no token.
        """
        if host not in LOOPBACK and not token:
            raise RefusedError(f"refusing to listen on {host} without a token")
        self._make_session = make_session
        self._host, self._port, self._token = host, port, token
        self._grace, self._max_sessions = grace, max_sessions
        self._protocols: dict[str, TaskExecutionProtocol] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._server: Server | None = None

    async def __aenter__(self) -> SessionServer:
        try:
            from websockets.asyncio.server import serve
        except ImportError as error:
            raise MissingExtraError("websockets", "service") from error
        try:
            self._server = await serve(
                self._handle,
                self._host,
                self._port,
                origins=[None],
                process_request=self._admit,
                max_size=MAX_MESSAGE_BYTES,
            )
        except OSError as error:
            raise ServiceError(f"cannot listen on {self._host}:{self._port}: {error}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None:
            raise ServiceError("the server is not running")
        return int(next(iter(self._server.sockets)).getsockname()[1])

    @property
    def url(self) -> str:
        """The address clients connect to."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"ws://{host}:{self.port}"

    async def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        sites = request.headers.get_all("Sec-Fetch-Site")
        if not self._is_for_us(request.headers.get_all("Host")) or any(site != "none" for site in sites):
            return connection.respond(HTTPStatus.FORBIDDEN, "this host is not served here\n")
        given = request.headers.get_all("Authorization")
        expected = f"Bearer {self._token}".encode()
        if self._token and (len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "replace"), expected)):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "a valid token is required\n")
        return None

    def _is_for_us(self, named: Sequence[str]) -> bool:
        """True for a request to the name it is served under: a page that had its own name point here asks for another.

        A server that listens to other machines is reached by names nobody knows here; it asks for a token instead.
        """
        host = _host_of(named[0]) if len(named) == 1 else ""
        return host in LOOPBACK if self._host in LOOPBACK else bool(host)

    async def _handle(self, connection: ServerConnection) -> None:
        try:
            message = decode(await asyncio.wait_for(connection.recv(), _GREETING_S))
        except asyncio.TimeoutError:
            return
        except closed_error():
            return
        except DataError as error:
            await _refuse(connection, str(error))
            return
        await self._serve(connection, message)

    async def _serve(self, connection: ServerConnection, message: Message) -> None:
        if isinstance(message, ResumeMessage):
            protocol = self._protocols.get(message.session_id)
            if protocol is None:
                await _refuse(connection, "no such session")
            else:
                await protocol.serve(connection)
        elif not isinstance(message, TaskMessage):
            await _refuse(connection, "a connection begins with a task or a resume")
        elif len(self._protocols) >= self._max_sessions:
            await _refuse(connection, "too many sessions at the moment")
        else:
            await self._begin(connection, message)

    async def _begin(self, connection: ServerConnection, message: TaskMessage) -> None:
        session_id = secrets.token_hex(16)
        protocol = TaskExecutionProtocol(grace=self._grace)
        self._protocols[session_id] = protocol
        task = asyncio.ensure_future(self._run(message, session_id, protocol))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await protocol.serve(connection, AcceptedMessage(session_id=session_id))

    async def _run(self, message: TaskMessage, session_id: str, protocol: TaskExecutionProtocol) -> None:
        try:
            if not await protocol.wait_connected():
                return
            done = await attempt(self._session(message, session_id, protocol))
            end = done.value if isinstance(done, Done) else _failed(done)
            if not await protocol.send_task_end(end):
                _log.warning("%s: the client is gone and was not told how the task ended", message.task_name)
        finally:
            self._protocols.pop(session_id, None)

    async def _session(self, message: TaskMessage, session_id: str, protocol: TaskExecutionProtocol) -> TaskEnd:
        session = self._make_session(message, session_id, protocol)
        await session.run()
        if session.is_error():
            return TaskEnd(status="failed", error=str(session.context.get(ContextNames.ERROR_MESSAGE)))
        round = session.current_round
        return TaskEnd(status="completed", result=round.result if round else "")


def _failed(failure: Failure) -> TaskEnd:
    _log.error("a service session failed: %s", failure.message)
    return TaskEnd(status="failed", error=failure.message)


async def _refuse(connection: ServerConnection, reason: str) -> None:
    await connection.send(encode(ErrorMessage(error=reason)))
    await connection.close()


def _host_of(header: str) -> str:
    """The host of a Host header without its port, in lower case; "" for what is none."""
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:]{2,45})\]|([A-Za-z0-9.-]{1,253}))(?::\d{1,5})?", header.strip())
    return (match[1] or match[2]).casefold() if match else ""
