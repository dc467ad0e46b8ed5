"""What of a record goes into the catalog: the text it is found by, what its steps touched, its run, and its terms.

Terms come in two views (`text/index_terms.py`): the words of the request with their concepts and those of steps, and
its skeleton, in which values are placeholders. Terms of the structured state carry a prefix that no text has.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from typing import NamedTuple

from ufo_experience.actions import clicked_controls, is_click, is_typing
from ufo_experience.index import runs
from ufo_experience.schema import Experience, State, Step
from ufo_experience.text import frames
from ufo_experience.text.applications import application_key
from ufo_experience.text.frames import readable_intent, record_frame
from ufo_experience.text.index_terms import record_terms, term_hash
from ufo_experience.text.own_case import feature_words, in_own_case
from ufo_experience.text.slots import mask_slots
from ufo_experience.trust.values import facts

TEMPLATE_VERSION = "10"  # of the embedded text and of the terms; an index made with another one is refused
WORDING = "\x1d"  # between the frames of the other wordings
SEPARATOR = "\x1e"  # between the parts of an indexed text
_MAX_PART = 400  # characters of what was clicked, and of what was typed
_TYPING = frozenset("type text input write fill keys key set enter edit".split())


class Terms(NamedTuple):
    """The terms of a record: their hashes (`Q`), how often each stands in it (`f`), the length of its text in words."""

    hashes: array[int]
    weights: array[float]
    length: int


class Described(NamedTuple):
    """What of a record takes long to work out: what it is found by, and what of it is embedded."""

    text: str
    terms: Terms
    embedded: str


def describe(experience: Experience) -> Described:
    """What the index holds of a record, apart from the fields of its row."""
    return Described(indexed_text(experience), terms_of(experience), embedded_text(experience))


def terms_of(experience: Experience) -> Terms:
    """The terms of a record, hashed."""
    counts, length = term_counts(experience)
    return Terms(array("Q", map(term_hash, counts)), array("f", counts.values()), length)


def task_text(experience: Experience) -> str:
    """The text an experience is found by: the user's words, else the canonical intent."""
    return experience.state.request or experience.state.task


def embedded_text(experience: Experience) -> str:
    """What is sent to an embedder: the intent and its other wordings in readable form, values as plain words ("go to
    number")."""
    return ". ".join(map(readable_intent, (task_text(experience), *experience.state.wordings)))


def indexed_text(experience: Experience) -> str:
    """The text, the names of the controls its steps used, the frame of both and of what they typed, the text without
    its values, the frames of its other wordings, and the run as it is compared with others (see `runs`), parted by
    `SEPARATOR`."""
    text, clicked, typed = (part.replace(SEPARATOR, " ") for part in (task_text(experience), *procedure(experience)))
    own = own_text(experience).replace(SEPARATOR, " ")
    features = features_of(experience)
    asked = (own, *experience.state.wordings)
    frame, *others = (frames.text_of(record_frame(one, clicked, typed, features)) for one in asked)
    return SEPARATOR.join((text, clicked, frame, mask_slots(own), WORDING.join(others), runs.text_of(experience)))


def own_text(experience: Experience) -> str:
    """`task_text` with capitals where these may mark values, which the names of pressed features are not."""
    return in_own_case(task_text(experience), features_of(experience))


def features_of(experience: Experience) -> frozenset[str]:
    """The stems on what the steps pressed of the application's own."""
    return feature_words(clicked_controls(experience.action.steps))


def procedure(experience: Experience) -> tuple[str, str]:
    """What the steps clicked (names of controls) and what they typed or chose, as texts; a value that a placeholder
    stands for is taken from the request."""
    steps = [step for step in experience.action.steps if step.ok]
    clicked = dict.fromkeys(step.target_control.name for step in steps if not _types(step))
    typed = dict.fromkeys(
        value for step in steps for value in step.parameters.values() if isinstance(value, str) and len(value) < 200
    )
    typed |= dict.fromkeys(runs.named_value(experience, slot) for slot in experience.slots)
    return " ".join(clicked)[:_MAX_PART].strip(), " ".join(typed)[:_MAX_PART].strip()


def _types(step: Step) -> bool:
    return not is_click(step.action_type) and not _TYPING.isdisjoint(step.action_type.lower().replace("_", " ").split())


def term_counts(experience: Experience) -> tuple[Mapping[str, float], int]:
    """How often each term stands in a record, and the length of its text in words."""
    clicked, typed = procedure(experience)
    counts, length = record_terms(own_text(experience), clicked, typed, experience.state.wordings)
    structured = {name: 1.0 for group in state_terms(experience.state).values() for name in group}
    agreed_on = {} if experience.is_negative else {fact_term(one): 1.0 for one in facts(experience)}
    fields = {fields_term(experience): 1.0} if experience.slots else {}
    return {**counts, **structured, **agreed_on, **fields, run_term(experience): 1.0}, length


def fact_term(fact: str) -> str:
    """The term of a name or value that runs may agree on (`trust.values.fact`); it has no say in a score."""
    return f"\x00a {fact}"


def fields_term(experience: Experience) -> str:
    """The term of the fields a run typed into: runs of one task share it, however their values look."""
    steps = experience.action.steps
    names = {step.target_control.name.strip().casefold() for step in steps if step.ok and is_typing(step.action_type)}
    return "\n".join((f"\x00f {application_key(experience.state.application) or ''}", *sorted(names)))


def run_of(experience: Experience) -> tuple[str, str, str]:
    """Source, session (without the digest of its content) and request: what versions of one run have in common."""
    one = experience.provenance
    return one.source, one.session.rpartition("-")[0] or one.session, experience.state.request


def run_term(experience: Experience) -> str:
    """The term by which the records of one run are found."""
    return "\x00r " + "\n".join(run_of(experience))


def state_terms(state: State) -> dict[str, list[str]]:
    """The structured fields of a state as terms: constraints, tags, and one `key=value` per signal."""
    return {
        "constraints": sorted({f"\x00c {item.strip().casefold()}" for item in state.constraints}),
        "tags": sorted({f"\x00t {item.strip().casefold()}" for item in state.tags}),
        "signals": [f"\x00s {key}={json.dumps(value, sort_keys=True)}" for key, value in state.signals.items()],
    }


def canonical_tasks(task: str) -> list[str]:
    """The names under which a task may be stored: as it is, and with its slots masked (unless nothing else is left)."""
    masked = mask_slots(task)
    words = [word for word in masked.split() if not word.startswith("<")]
    return [task, masked] if words and masked != task else [task]
