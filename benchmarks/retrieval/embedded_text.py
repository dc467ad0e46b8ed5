"""What is best embedded of a record: its words as they stand, without values, both, or with the names of its controls.

raw         the words as they stand
abstracted  values as plain words ("go to slide number"): what the product embeds
both        the mean of the cosines of these two
steps       abstracted, and of a record the controls that its steps used
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from ufo_experience.text.frames import readable_intent

from benchmarks.retrieval.beir import Entry, TaskSet
from ufo_experience.embed.base import Embedder
from ufo_experience.redact import redact_text
from ufo_experience.schema import clip

DEPTH = 100
Rankings = Mapping[str, Mapping[str, list[str]]]


def rank_by_view(task_set: TaskSet, embedder: Embedder) -> Rankings:
    """`rankings[view][query]`: entries by cosine, best first; those of the query's own session left out."""
    queries, corpus = task_set.queries, task_set.corpus
    raw = embedder.embed([_raw(one) for one in queries], "query") @ embedder.embed([_raw(one) for one in corpus]).T
    asked = embedder.embed([readable_intent(_raw(one)) for one in queries], "query")
    abstracted = asked @ embedder.embed([readable_intent(_raw(one)) for one in corpus]).T
    steps = asked @ embedder.embed([_with_steps(one) for one in corpus]).T
    views = {"raw": raw, "abstracted": abstracted, "both": (raw + abstracted) / 2, "steps": steps}
    return {name: _order(task_set, cosine) for name, cosine in views.items()}


def _order(task_set: TaskSet, cosine: NDArray[np.float32]) -> dict[str, list[str]]:
    own = {entry.id: entry.session for entry in task_set.corpus} if task_set.leave_one_out else {}
    found = {}
    for query, row in zip(task_set.queries, cosine, strict=True):
        entries = (task_set.corpus[place] for place in np.argsort(-row, kind="stable"))
        found[query.id] = [one.id for one in entries if own.get(query.id) != one.session or not own][:DEPTH]
    return found


def _raw(entry: Entry) -> str:
    return clip(redact_text(entry.text))


def _with_steps(entry: Entry) -> str:
    names = dict.fromkeys(redact_text(str(step.get("control") or "")) for step in entry.steps)
    used = ", ".join(name for name in names if name)
    return f"{readable_intent(_raw(entry))}: {used}" if used else readable_intent(_raw(entry))
