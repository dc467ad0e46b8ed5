"""browser-use: `run_with_memory(task, llm, recorder)` in place of `Agent(task, llm).run()`.

With `ahead` the model's own next step is followed by those that come after it on the known way, as far as they are on
the same page and nobody need be asked. Tested with `browser-use` 0.13.14; 1.0 is another engine.
"""

import inspect
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from typing import Any

from pydantic import ValidationError

from ufo_experience.errors import needs_extra
from ufo_experience.integrations.recorder import Check, Recorder
from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.steps import Target
from ufo_experience.traces.browser import judged_of, steps_of
from ufo_experience.traces.calls import control_of

with needs_extra("browser-use"):
    from browser_use import Agent

MAX_AHEAD = 4  # actions added to those of the model


async def run_with_memory(
    task: str,
    llm: Any,
    recorder: Recorder,
    *,
    application: str | None = None,
    check: Check | None = None,
    ahead: bool = False,
    max_steps: int = 100,
    **options: Any,
) -> Any:
    """`Agent.run` with memory; returns its history. `options` go to `Agent`, its callbacks among them.

    `check` looks at the history and says whether the task was done (None: unknown). Without it the verdict of the judge
    counts (`use_judge`, `judge_llm`: let it be another model than the one that acts); without either nobody judged.
    """
    start = await recorder.astart(task, application, guide=ahead)
    told = "\n\n".join(part for part in (start.block, options.pop("extend_system_message", None)) if part)
    run = _Run(recorder, start.guide, options.pop("register_new_step_callback", None))
    run.agent = Agent(
        task=task, llm=llm, extend_system_message=told or None, register_new_step_callback=run.on_step, **options
    )
    history = await run.agent.run(max_steps=max_steps)
    recorder.attempt(run.note)
    last = [one.model_dump(mode="json") for one in history.history[-1].result] if history.history else []
    judged = {"judge": "agent", **judged_of(last, history.is_done())}
    if check is not None and (success := check(history)) is not None:
        judged |= {"success": success, "judge": "program"}
    await recorder.afinish(judged["success"], judged["judge"], reason=judged["failure_reason"])
    return history


class _Run:
    """One run: notes what was done before each new step, and looks ahead on the known way."""

    agent: Any  # given once it is made, with this as its callback

    def __init__(self, recorder: Recorder, guide: Guide | None, own: Callable[..., Any] | None) -> None:
        self._recorder, self._guide, self._own = recorder, guide, own
        self._noted = 0

    async def on_step(self, state: Any, output: Any, number: int) -> None:
        """The model has answered; what it wants is carried out when this returns."""
        self._recorder.attempt(self.note)
        if self._guide is not None:
            self._recorder.attempt(lambda: self._look_ahead(state, output))
        answer = self._own(state, output, number) if self._own is not None else None
        if inspect.isawaitable(answer):
            await answer

    def note(self) -> None:
        items = self.agent.history.history
        for item in items[self._noted :]:
            for step in steps_of(item.model_dump(sensitive_data=self.agent.sensitive_data)):
                self._record(step)
        self._noted = len(items)

    def _record(self, step: dict[str, Any]) -> None:
        name, parameters, kind = step["control"], step["parameters"], step["control_type"]
        self._recorder.step(
            step["action_type"], name, parameters, step["observation"] or "", step["result"] or "",
            control_type=kind, error=step["error"], application=step["application"], secret=step["secret"],
        )  # fmt: skip
        if self._guide is not None:
            target = Target(name, kind or "") if name else None
            self._guide.note(Act(step["action_type"], target, parameters), step["error"] is None)

    def _look_ahead(self, state: Any, output: Any) -> None:
        """Add the steps after the model's own, where that is the next of the way and typed or chose something."""
        if self._guide is None or len(output.action) != 1:
            return
        elements = [(index, _element(node)) for index, node in state.dom_state.selector_map.items()]
        controls = [{"id": index, "name": control_of(one)[0], "type": one["node_name"]} for index, one in elements]
        ahead = self._guide.ahead(controls, MAX_AHEAD + 1)
        # up to the first that is not in view, or for which a person is asked
        on_page = takewhile(lambda act: not act.confirm and act.target is not None and act.target.id is not None, ahead)
        acts = [{act.action: {**act.parameters, "index": act.target.id}} for act in on_page if act.target]
        if acts and _same(output.action[0].model_dump(exclude_unset=True), acts[0]):
            with suppress(ValidationError):  # an action this agent does not have: the model goes on by itself
                for known in acts[1:]:
                    output.action.append(self.agent.ActionModel.model_validate(known))


def _same(chosen: dict[str, Any], known: dict[str, Any]) -> bool:
    """True when the model does just what the way does next: the same action on the same element, with the same text."""
    return chosen.keys() == known.keys() and all(
        chosen[name].get(part) == known[name].get(part) for name in chosen for part in ("index", "text")
    )


def _element(node: Any) -> dict[str, Any]:
    name = node.ax_node.name if node.ax_node else None
    return {"node_name": node.node_name, "attributes": node.attributes, "ax_name": name, "x_path": node.xpath}
