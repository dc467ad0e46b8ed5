"""The files of a batch: one request to a line going in, one answer to a line coming back, in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.embedding.base import Vectors
from ufo_experience.embedding.openai import OpenAIEmbedder, check_reply, estimate_tokens
from ufo_experience.openai_service.batches import MAX_BYTES, MAX_LINES, private
from ufo_experience.openai_service.errors import OpenAICallError
from ufo_experience.store.atomic import storage_errors

ENDPOINT = "/v1/embeddings"
EXPIRED = "batch_expired"
MALFORMED = "malformed"


@dataclass(frozen=True)
class InputFile:
    """A file of requests: how many, and a ceiling of their tokens."""

    path: Path
    lines: int
    tokens: int


@dataclass(frozen=True)
class Answer:
    """One line of a result: the vector of a text's key, or the code and words of what went wrong."""

    key: bytes
    vector: Vectors | None = None
    tokens: int = 0
    code: str = ""
    reason: str = ""


def write_input(
    path: Path, embedder: OpenAIEmbedder, items: Iterator[tuple[bytes, str]], *, max_lines: int = MAX_LINES
) -> InputFile | None:
    """Write one file's worth of `items` (key, text), leaving the rest in the iterator; None when there are none."""
    lines = size = tokens = 0
    options = {"dimensions": embedder.dimensions} if embedder.dimensions else {}
    with storage_errors(path), open(path, "wb", opener=private) as stream:
        while lines < max_lines and size < MAX_BYTES:
            key, text = next(items, (b"", ""))
            if not key:
                break
            text = embedder.fit(text)
            body = {"model": embedder.model, "input": text, "encoding_format": "base64", **options}
            request = {"custom_id": key.hex(), "method": "POST", "url": ENDPOINT, "body": body}
            size += stream.write(json.dumps(request).encode("ascii") + b"\n")
            tokens += estimate_tokens(text)
            lines += 1
    if lines:
        return InputFile(path, lines, tokens)
    path.unlink()
    return None


def read_answers(path: Path, dim: int | None) -> Iterator[Answer]:
    """The answers in a result file, each checked as an ordinary reply is."""
    with storage_errors(path), path.open("rb") as stream:
        for line in stream:
            if line.strip():
                yield _answer(line, dim)


def _answer(line: bytes, dim: int | None) -> Answer:
    try:
        data = json.loads(line)
        key = bytes.fromhex(data["custom_id"])
    except (ValueError, KeyError, TypeError):
        return Answer(b"", code=MALFORMED, reason="a line that names no request")
    reply = data.get("response")
    body = reply.get("body") if isinstance(reply, dict) else None
    if isinstance(data.get("error"), dict) or not isinstance(body, dict) or reply.get("status_code") != 200:
        return _failed(key, data.get("error"), body)
    try:
        vector = check_reply(body, 1, dim)[0]
    except OpenAICallError as error:
        return Answer(key, tokens=_tokens(body), code=error.code, reason=str(error))
    return Answer(key, vector, _tokens(body))


def _failed(key: bytes, error: object, body: object) -> Answer:
    inner = body.get("error") if isinstance(body, dict) else None
    found: Mapping[str, Any] = next((one for one in (error, inner) if isinstance(one, dict)), {})
    return Answer(key, code=str(found.get("code") or "failed"), reason=str(found.get("message") or "no reason given"))


def _tokens(body: Mapping[str, Any]) -> int:
    usage = body.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
