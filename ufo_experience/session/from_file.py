"""Sessions that read what to do from a file: a plan replayed, or a request worked on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ufo_experience.session.files import StrPath
from ufo_experience.session.interact import AbsentUser
from ufo_experience.session.interactive import next_from_file
from ufo_experience.session.parts import SessionParts
from ufo_experience.session.plan import check_replayable, guide_along, load_plan, plan_agents
from ufo_experience.session.windows import WindowsBaseSession


class FollowerSession(WindowsBaseSession):
    """Replays a saved plan: no questions, no model, no memory; the same actions every time.

    Where the dispatcher can tell what is in view, a guide along the plan checks each action before it is carried out.
    """

    _mode = "follower"

    def __init__(
        self,
        task: str,
        plan_file: StrPath,
        should_evaluate: bool,
        id: int | str,
        *,
        parts: SessionParts,
        values: Mapping[str, str] | None = None,
    ) -> None:
        """`values` fills the plan's placeholders.

        Raises:
            DataError: the plan cannot be read, has no actions, or a placeholder is left; nothing was executed.
        """
        self.plan = load_plan(plan_file, values)
        check_replayable(self.plan, plan_file)
        super().__init__(task, should_evaluate, id, parts=replace(parts, user=AbsentUser()))

    def _init_agents(self) -> None:
        self._host_agent, self._app_agent = plan_agents(self.plan)

    def reset(self) -> None:
        """Begin anew, at the start of the plan."""
        self._init_agents()
        super().reset()
        self._shared.recall, self._shared.guide = None, guide_along(self.plan)

    def next_request(self) -> str:
        """The plan's request, once."""
        return next_from_file(self, self.plan.request)


class FromFileSession(WindowsBaseSession):
    """Works on the request in a file: no questions."""

    _mode = "batch_normal"

    def __init__(
        self, task: str, plan_file: StrPath, should_evaluate: bool, id: int | str, *, parts: SessionParts
    ) -> None:
        """Read the request of `plan_file`.

        Raises:
            DataError: the file cannot be read or has no request.
        """
        self.plan_file = plan_file
        self.plan = load_plan(plan_file)
        super().__init__(task, should_evaluate, id, parts=replace(parts, user=AbsentUser()))

    def next_request(self) -> str:
        """The file's request, once."""
        return next_from_file(self, self.plan.request)
