"""A local server that speaks the OpenAI API well enough for the real client, and plays faults on demand.

    with OpenAIStub() as stub:
        stub.play(rate_limited(retry_after=2), OK)      # the first request fails, the second is answered
        settings = OpenAISettings(api_key="sk-test", base_url=stub.url)

Serves embeddings, chat completions and responses, also under Azure's deployment paths. An honest answer is made
first, then the next fault of the queue turns it into something else; an empty queue means honest answers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from ufo_experience import service


@dataclass
class FakeTime:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Recorded:
    """One request as it arrived; header names in lower case, `body` is the decoded JSON."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Reply:
    """An answer before it is sent. `raw` goes out instead of `data` when set; `delay` is in seconds.

    With a `drip` the bytes go out one by one with so many seconds in between, from the status line on or (`late`) from
    the first byte of the body.
    """

    data: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    raw: bytes | None = None
    delay: float = 0.0
    reset: bool = False
    drip: float = 0.0
    late: bool = False

    def body(self) -> bytes:
        return json.dumps(self.data).encode() if self.raw is None else self.raw


Fault = Callable[[Reply], Reply]
Content = Callable[[dict[str, Any]], object]


class OpenAIStub:
    """The server; `requests` holds all it was asked, `chat` makes the content of a chat answer from a request.

    What `chat` returns is sent as text if it is a string, else as JSON. `max_tokens_per_request` (here: UTF-8
    bytes) and `max_inputs` are enforced as the real service does, by a 400.
    """

    def __init__(self, *, dim: int = 64, chat: Content | None = None, max_tokens_per_request: int = 300_000) -> None:
        self.dim, self.chat = dim, chat or (lambda body: {})
        self.max_tokens_per_request, self.max_inputs = max_tokens_per_request, 2048
        self.requests: list[Recorded] = []
        self.stopping, self.hung_up = threading.Event(), threading.Event()
        self._faults: deque[Fault] = deque()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"stub": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    def play(self, *faults: Fault) -> None:
        """Queue one fault per coming request; `OK` answers honestly."""
        self._faults.extend(faults)

    def recover(self) -> None:
        """Forget the faults still queued: from here on answers are honest."""
        self._faults.clear()

    def __enter__(self) -> OpenAIStub:
        service._breakers.clear()  # the system gives a port again, and the stub before may have been left alone
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Recorded) -> Reply:
        """Record a request and make its reply, spoilt by the next fault."""
        with self._lock:
            self.requests.append(request)
            fault = self._faults.popleft() if self._faults else OK
            return fault(self.honest(request))

    def honest(self, request: Recorded) -> Reply:
        """The answer without a fault."""
        makers = {"/embeddings": self._embeddings, "/chat/completions": self._chat, "/responses": self._responses}
        for ending, make in makers.items():
            if request.path.split("?")[0].endswith(ending):
                return make(request.body)
        return error_reply(404, "not_found", f"no such path: {request.path}")

    def _embeddings(self, body: dict[str, Any]) -> Reply:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        tokens = sum(len(text.encode()) for text in texts)
        if not texts or len(texts) > self.max_inputs or not all(texts):
            return error_reply(400, "invalid_request", "'$.input' is invalid.")
        if tokens > self.max_tokens_per_request:
            return error_reply(400, "max_tokens_per_request", "Requested more tokens than the maximum per request")
        vectors = [vector_of(text, body.get("dimensions") or self.dim) for text in texts]
        write = _as_base64 if body.get("encoding_format") == "base64" else np.ndarray.tolist
        rows = [{"object": "embedding", "index": i, "embedding": write(vector)} for i, vector in enumerate(vectors)]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Reply({"object": "list", "data": rows, "model": body["model"], "usage": usage})

    def _content(self, body: dict[str, Any]) -> str:
        content = self.chat(body)
        return content if isinstance(content, str) else json.dumps(content)

    def _chat(self, body: dict[str, Any]) -> Reply:
        message = {"role": "assistant", "content": self._content(body), "refusal": None}
        return Reply(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
            }
        )

    def _responses(self, body: dict[str, Any]) -> Reply:
        text = {"type": "output_text", "text": self._content(body), "annotations": []}
        message = {"id": "msg-1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
        return Reply(
            {
                "id": "resp-1",
                "object": "response",
                "created_at": 0,
                "status": "completed",
                "model": body["model"],
                "output": [message],
                "parallel_tool_calls": False,
                "tool_choice": "auto",
                "tools": [],
                "usage": {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100},
            }
        )


class _Handler(BaseHTTPRequestHandler):
    stub: OpenAIStub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.stub.answer(Recorded(self.path, headers, json.loads(raw or b"{}")))
        if reply.delay:
            self.stub.stopping.wait(reply.delay)
        if reply.reset:
            self._reset()
        elif reply.drip:
            self._drip(reply)
        else:
            self._send(reply)

    def _drip(self, reply: Reply) -> None:
        payload = reply.body()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n".encode()
        slowly = payload if reply.late else head + payload
        self.close_connection = True
        try:
            self.wfile.write(head if reply.late else b"")
            for byte in slowly:
                self.wfile.write(bytes([byte]))
                if self.stub.stopping.wait(reply.drip):
                    return
        except (BrokenPipeError, ConnectionError):
            self.stub.hung_up.set()

    def _send(self, reply: Reply) -> None:
        payload = reply.body()
        try:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
        except (BrokenPipeError, ConnectionError):
            self.close_connection = True  # the client has given up waiting

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


def vector_of(text: str, dim: int) -> np.ndarray:
    """The unit vector this server gives for a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dim).astype("<f4")
    return vector / np.linalg.norm(vector)


def _as_base64(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def error_reply(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Reply:
    """An error in the service's own shape."""
    body = {"error": {"message": message, "type": code, "param": None, "code": code}}
    return Reply(body, status, {"Content-Type": "application/json", **(headers or {})})


# ---- faults of the service ----


def OK(reply: Reply) -> Reply:  # noqa: N802 (reads as a value in a script of faults)
    """No fault."""
    return reply


def failing(status: int, code: str = "error", message: str = "it failed", **headers: str) -> Fault:
    """Any error status; headers are given with underscores: `retry_after="2"`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda reply: error_reply(status, code, message, named)


def rate_limited(retry_after: float | str | None = None) -> Fault:
    """429 that passes, with or without Retry-After."""
    headers = {} if retry_after is None else {"retry_after": str(retry_after)}
    return failing(429, "rate_limit_exceeded", "Rate limit reached", **headers)


def out_of_quota(reply: Reply) -> Reply:
    """429 that does not pass."""
    return error_reply(429, "insufficient_quota", "You exceeded your current quota")


def token_limit(reply: Reply) -> Reply:
    """400: too many tokens in one request."""
    return error_reply(400, "max_tokens_per_request", "Requested 400000 tokens, max 300000 tokens per request")


def slow(seconds: float) -> Fault:
    """An honest answer after a while; stopping the server ends the wait."""

    def spoil(reply: Reply) -> Reply:
        reply.delay = seconds
        return reply

    return spoil


def dripping(seconds: float, *, late: bool = False) -> Fault:
    """An honest answer, byte by byte; `late` sends the headers at once."""

    def spoil(reply: Reply) -> Reply:
        reply.drip, reply.late = seconds, late
        return reply

    return spoil


def reset(reply: Reply) -> Reply:
    """The connection breaks."""
    reply.reset = True
    return reply


def html_page(reply: Reply) -> Reply:
    """A proxy's page, served as success."""
    return Reply(raw=b"<!DOCTYPE html><html>Please log in</html>", headers={"Content-Type": "text/html"})


def truncated(reply: Reply) -> Reply:
    """The first half of the JSON, as if it were whole."""
    payload = reply.body()
    return Reply(raw=payload[: len(payload) // 2])


def redirect(location: str) -> Fault:
    """307 to another address."""
    return lambda reply: Reply(status=307, headers={"Location": location})


# ---- faults of an embeddings reply ----


def edited(edit: Callable[[dict[str, Any]], object]) -> Fault:
    """An honest answer whose JSON `edit` has changed in place."""

    def spoil(reply: Reply) -> Reply:
        edit(reply.data)
        return reply

    return spoil


short = edited(lambda data: data["data"].pop())
reordered = edited(lambda data: data["data"].reverse())
repeated_index = edited(lambda data: data["data"][-1].update(index=0))


def vectors(change: Callable[[np.ndarray], np.ndarray], *, plain: bool = False) -> Fault:
    """Every vector changed; `plain` writes them as lists of numbers, as some compatible services do."""

    def edit(data: dict[str, Any]) -> None:
        for row in data["data"]:
            vector = change(_decode(row["embedding"]))
            row["embedding"] = vector.tolist() if plain else _as_base64(vector)

    return edited(edit)


def _decode(embedding: str | Iterable[float]) -> np.ndarray:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), "<f4")
    return np.array(list(embedding), "<f4")


with_nan = vectors(lambda vector: np.where(np.arange(len(vector)) == 1, np.nan, vector))
wrong_dimension = vectors(lambda vector: vector[:-1])
unnormalised = vectors(lambda vector: vector * 3)
zero_vectors = vectors(lambda vector: vector * 0)
as_numbers = vectors(lambda vector: vector, plain=True)


# ---- faults of a chat reply ----


def content(text: str) -> Fault:
    """A chat answer with this text, such as invalid JSON."""
    return edited(lambda data: data["choices"][0]["message"].update(content=text))


def refusal(words: str = "I cannot help with that.") -> Fault:
    """The model refuses: no content, a refusal instead."""
    return edited(lambda data: data["choices"][0]["message"].update(content=None, refusal=words))


def _cut(data: dict[str, Any], reason: str) -> None:
    choice = data["choices"][0]
    choice["finish_reason"] = reason
    choice["message"]["content"] = choice["message"]["content"][:5]


cut_by_length = edited(lambda data: _cut(data, "length"))
content_filtered = edited(lambda data: _cut(data, "content_filter"))
