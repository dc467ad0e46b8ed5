"""Redact one record: the gate before every store, whoever made the record and however it came."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from ufo_experience.redact.names import is_secret_name
from ufo_experience.redact.parameters import strings_in
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.redact.trajectory import Cleaner, prepare, run_of
from ufo_experience.schema import Action, Experience, State, Trajectory


def redact_record(experience: Experience) -> Experience:
    """Return a copy without secrets, typed text, images and URL queries; new placeholders are named in `slots`.

    Idempotent and deterministic. A record without such a value, as that of a redacted log, is returned itself.
    """
    told = experience.provenance.session or experience.id
    named = run_of(told, experience.state.request or experience.state.task)
    run, fields, cleaner = prepare(_as_run(experience), also=list(_other_texts(experience)), run=named)
    run = cleaner.clean(run, fields)
    state, action, outcome = experience.state, experience.action, run.outcome
    name, line = cleaner.name, cleaner.prose
    clean = experience.model_copy(
        update={
            "state": _clean_state(state, run, cleaner),
            "action": _clean_action(action, run, cleaner),
            "outcome": outcome,
            "episode_id": experience.episode_id and cleaner.known(experience.episode_id),
            "provenance": experience.provenance.model_copy(
                update={
                    "source": cleaner.known(experience.provenance.source),
                    "session": cleaner.known(experience.provenance.session),
                    "agent": experience.provenance.agent and name(experience.provenance.agent),
                    "notes": tuple(map(line, experience.provenance.notes)),
                }
            ),
            "preconditions": tuple(map(line, experience.preconditions)),
            "avoid_when": tuple(map(line, experience.avoid_when)),
            "slots": {slot: name(kind) for slot, kind in cleaner.slots.items()},
            "sealed": cleaner.sealed,
        }
    )
    return experience if clean == experience else clean


def _as_run(experience: Experience) -> Trajectory:
    """The part of a record that a log would have told."""
    state, action = experience.state, experience.action
    return Trajectory(
        request=state.request or state.task,
        steps=action.steps,
        plan=action.plan,
        tips=action.tips,
        outcome=experience.outcome,
        format="record",
        slots=experience.slots,
        sealed=experience.sealed,
        sensitive=tuple(value for part in (state.signals, action.parameters) for value in _named_secrets(part)),
    )


def _other_texts(experience: Experience) -> Iterator[str]:
    """Every text of a record that is not part of its run."""
    state, action = experience.state, experience.action
    yield from (state.task, state.application or "", state.env or "", state.phase or "", *state.constraints)
    yield from (
        *state.wordings,
        *state.tags,
        action.strategy,
        action.skill,
        *experience.preconditions,
        *experience.avoid_when,
    )
    yield from (*strings_in(state.signals), *strings_in(action.parameters), *experience.provenance.notes)


def _clean_state(state: State, run: Trajectory, cleaner: Cleaner) -> State:
    name = cleaner.name
    return state.model_copy(
        update={
            "task": cleaner.wish(state.task),
            "request": run.request if state.request else "",
            "wordings": tuple(map(name, state.wordings)),
            "application": state.application and name(state.application),
            "env": state.env and name(state.env),
            "phase": state.phase and name(state.phase),
            "constraints": tuple(map(name, state.constraints)),
            "tags": tuple(map(name, state.tags)),
            "signals": _clean_json(state.signals, cleaner),
        }
    )


def _clean_action(action: Action, run: Trajectory, cleaner: Cleaner) -> Action:
    return action.model_copy(
        update={
            "strategy": cleaner.phrase(action.strategy),
            "skill": cleaner.phrase(action.skill),
            "parameters": _clean_json(action.parameters, cleaner),
            "steps": run.steps,
            "plan": run.plan,
            "tips": run.tips,
        }
    )


def _clean_json(value: JsonValue, cleaner: Cleaner, *, secret: bool = False) -> JsonValue:
    """A JSON value with every text redacted; a text under a name such as `password` goes whole."""
    if isinstance(value, dict):
        return {cleaner.value(k): _clean_json(v, cleaner, secret=is_secret_name(k)) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean_json(item, cleaner, secret=secret) for item in value]
    if not isinstance(value, str):
        return value
    return cleaner.secret(value) if secret and value and not PLACEHOLDER.fullmatch(value) else cleaner.value(value)


def _named_secrets(value: JsonValue, *, secret: bool = False) -> Iterator[str]:
    """The texts below a name such as `password`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _named_secrets(item, secret=is_secret_name(key))
    elif isinstance(value, list):
        for item in value:
            yield from _named_secrets(item, secret=secret)
    elif secret and isinstance(value, str) and value:
        yield value
