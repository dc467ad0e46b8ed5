"""Where the requests of a session come from: the user, or a file."""

from __future__ import annotations

from ufo_experience.errors import UsageError
from ufo_experience.session.session import BaseSession

MODES = ("normal", "normal_operator")


def next_from_user(session: BaseSession, init_request: str) -> str:
    """The first request (`init_request` if not empty), then the user's next; ends the session when there is none."""
    user = session.parts.user
    if session.total_rounds == 0:
        request, done = init_request or user.first_request(), False
    else:
        request, done = user.new_request()
    if done or not request.strip():
        session.finish()
    return request


def next_from_file(session: BaseSession, request: str) -> str:
    """The one request of a session that asks nobody; ends the session after its round."""
    if session.total_rounds > 0:
        session.finish()
        return ""
    return request


def one_of(mode: str, modes: tuple[str, ...]) -> str:
    """`mode`, or a `UsageError` that names the known ones."""
    if mode not in modes:
        raise UsageError(f"unknown mode {mode!r}: use one of {', '.join(modes)}")
    return mode
