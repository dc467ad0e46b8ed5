"""Sessions that ask their user: the first request is given or asked for, then the user is asked what comes next."""

from __future__ import annotations

from dataclasses import replace

from ufo_experience.errors import UsageError
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.session import BaseSession

NORMAL, NORMAL_OPERATOR = "normal", "normal_operator"


class InteractiveSession(BaseSession):
    """What interactive sessions of all platforms share.

    In mode `normal_operator` the operator agent does the work of the app agent, where there is one.
    """

    def __init__(
        self,
        task: str,
        should_evaluate: bool,
        id: int | str,
        request: str = "",
        mode: str = NORMAL,
        *,
        parts: SessionParts,
    ) -> None:
        """Without a `request` the user is asked for the first one.

        Raises:
            UsageError: `mode` is neither `normal` nor `normal_operator`.
        """
        if mode not in (NORMAL, NORMAL_OPERATOR):
            raise UsageError(f"unknown mode {mode!r}: use one of {NORMAL}, {NORMAL_OPERATOR}")
        if mode == NORMAL_OPERATOR and parts.operator_agent is not None:
            parts = replace(parts, app_agent=parts.operator_agent)
        self._mode = mode
        self._init_request = request
        super().__init__(task, should_evaluate, id, parts=parts)

    def next_request(self) -> str:
        """The request given at first, then the user's next one; an empty one, or none, finishes the session."""
        user = self.parts.user
        if self.total_rounds == 0:
            request, done = self._init_request or user.first_request(), False
        else:
            request, done = user.new_request()
        if done or not request.strip():
            self.finish()
        return request


def next_from_file(session: BaseSession, request: str) -> str:
    """The one request of a session that asks nobody; ends the session after its round."""
    if session.total_rounds > 0:
        session.finish()
        return ""
    return request
