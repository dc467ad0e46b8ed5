"""A WebSocket server that runs one service session per task a client asks for."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING

from ufo_experience.errors import DataError, MissingExtraError, RefusedError, ServiceError
from ufo_experience.session.context import ContextNames
from ufo_experience.session.recovery import Done, Failure, attempt
from ufo_experience.session.service_protocol import (
    GRACE_S,
    MAX_MESSAGE_BYTES,
    AcceptedMessage,
    ErrorMessage,
    Message,
    ResumeMessage,
    TaskEnd,
    TaskExecutionProtocol,
    TaskMessage,
    closed_error,
    decode,
    encode,
)
from ufo_experience.session.session import BaseSession

if TYPE_CHECKING:
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

LOOPBACK = ("127.0.0.1", "::1", "localhost")

_GREETING_S = 10.0

_log = logging.getLogger(__name__)

MakeSession = Callable[[TaskMessage, str, TaskExecutionProtocol], BaseSession]


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
        """Where clients connect to."""
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
