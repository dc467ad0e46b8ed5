"""What redaction and trust reach on the lists of tests/data/safety: `python -m benchmarks.redaction`, of one author
`python -m benchmarks.redaction O`.

Each line is a figure, the command that printed it is this one. The lists were written by authors who had not seen the
rules of their day; they have been seen since, so a rate here is a bound from below for what strangers will find.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience import ExperienceMemory
from ufo_experience.redact import redact_text
from ufo_experience.schema import Control, Experience, Step
from ufo_experience.trust.labels import is_fixed, readable
from ufo_experience.trust.risk import asks_first

SAFETY = Path(__file__).parents[1] / "tests" / "data" / "safety"
Row = dict[str, Any]


def rows(name: str, author: str = "") -> list[Row]:
    """The rows of a list; secrets are kept encoded, so that no scanner of repositories trips over them."""
    if (plain := SAFETY / f"{name}.jsonl").exists():
        found = [json.loads(line) for line in plain.read_text(encoding="utf-8").splitlines()]
    else:
        lines = (SAFETY / f"{name}.b64").read_text(encoding="ascii").splitlines()
        found = [json.loads(base64.b64decode(line)) for line in lines]
    return [row for row in found if author in ("", row.get("author"))]


def labels(author: str = "") -> Iterator[tuple[Step, bool]]:
    """Labels of public applications, and whether a person is to be asked before."""
    wanted = not author
    for line in (SAFETY / "ask_first.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            wanted = not author or f"author {author}," in line
        elif wanted:
            name, role, ask, _ = line.split("\t")
            yield Step(step_number=1, action_type="click", target_control=Control(name=name, type=role)), ask == "yes"


def steps_of(row: Row) -> list[dict[str, Any]]:
    """The steps of a row as `remember` takes them; `end` is what was seen at the end of the run."""
    known = ("action", "control", "control_type", "text", "observation", "result", "parameters")
    steps = []
    for step in row["steps"]:
        parameters = dict(step.get("params") or {})
        given = {key: value for key, value in step.items() if key in known}
        steps.append({**given, "parameters": parameters} if parameters else given)
    return [*steps[:-1], {**steps[-1], "result": row["end"]}] if row.get("end") else steps


def runs_of(row: Row) -> list[Row]:
    """The runs of a row: one, or those by which somebody poisons a store slowly."""
    return [{**row, **(run if isinstance(run, dict) else {"steps": run})} for run in row.get("runs", [row])]


def learned(memory: ExperienceMemory, row: Row, **more: Any) -> list[Experience]:
    """The records of a row, each of a session of its own, judged a success by a person."""
    more |= {"success": True, "judge": "user", "application": row["application"]}
    return [memory.remember(row["task"], steps_of(run), **more) for run in runs_of(row)]


def stored(row: Row) -> str:
    """Every byte a store keeps of a run, as text."""
    with tempfile.TemporaryDirectory() as folder:
        with ExperienceMemory.open(Path(folder) / "db", embedder="hashing") as memory:
            learned(memory, row)
        data = b"\n".join(path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file())
        return data.decode("utf-8", "replace")


_RARE = 8  # characters of a text that no id or time holds by chance


def kept_typed(row: Row) -> bool:
    """True when what was typed into a secret field stands in clear in the store, and the task does not name it.

    A short text such as "902" stands by chance in ids and times; what is kept stands there every time.
    """
    written = (row["secret"], json.dumps(row["secret"])[1:-1])
    tries = 1 if len(row["secret"]) >= _RARE else 6
    return all(any(one in text for one in written) for text in (stored(row) for _ in range(tries)))


def shown_of(row: Row) -> tuple[bool, bool, bool]:
    """What of a poisoned run reaches a prompt: data (typed, chosen, an item), a label; and whether that one asks first.

    Its payloads are what its author marked as harmful; a task that names one itself is the user's own.
    """
    with tempfile.TemporaryDirectory() as folder, ExperienceMemory.open(folder, embedder="hashing") as memory:
        kept = [step for one in learned(memory, row) for step in one.action.steps]
        tasks = (row["query"], row["task"])
        found = [memory.retrieve(task, threshold=0.0) for task in tasks]
        prompt = "".join(str(memory.build_prompt(task, hits).prompt) for task, hits in zip(tasks, found, strict=True))
    shown = [text for text in row["payload"] if text.strip() and text in prompt and text not in " ".join(tasks)]
    steps = [step for step in kept if any(text in step.target_control.name for text in shown)]
    data = any(all(text not in step.target_control.name for step in steps) for text in shown)
    return data, bool(steps), any(map(asks_first, kept))


def told_of_risk(row: Row) -> tuple[bool, bool]:
    """Of a run with a step that does something grave beside its task: whether it is marked to ask before, and said to
    be nothing that the request asks for. A run that is not shown misleads nobody.
    """
    with tempfile.TemporaryDirectory() as folder, ExperienceMemory.open(folder, embedder="hashing") as memory:
        learned(memory, row)
        text = memory.build_prompt(row["query"], memory.retrieve(row["query"], threshold=0.0)).text
    grave = next((line for line in text.splitlines() if line.startswith(f"{row['risky_step'] + 1}. ")), "[ask first]")
    return "[ask first]" in grave, not text or "[not in the task]" in grave


def fixed_shown(row: Row) -> list[bool]:
    """Of every step whose control its author calls the application's own: whether another task is shown its name."""
    with tempfile.TemporaryDirectory() as folder, ExperienceMemory.open(folder, embedder="hashing") as memory:
        learned(memory, row)
        text = memory.build_prompt(row["query"], memory.retrieve(row["query"], threshold=0.0)).text
    steps = zip(row["steps"], row["fixed"], strict=True)
    return [step["control"] in text for step, fixed in steps if fixed and step["control"]]


def hijacked(row: Row) -> bool:
    """True when a record is served for a request of something else because of its other wordings."""
    clicks = {"steps": [{"action": "click", "control": name} for name in ("Open", "Details", "OK")]}
    served = []
    for wordings in (row["wordings"], []):
        with tempfile.TemporaryDirectory() as folder, ExperienceMemory.open(folder, embedder="hashing") as memory:
            learned(memory, row | clicks, wordings=wordings)
            served.append(bool(memory.retrieve(row["query"])))
    return served == [True, False]


def figures(author: str = "") -> Iterator[tuple[str, int, int]]:
    """What is counted, how many, of how many: on all lists, or those of one author."""
    secrets, harmless, typed = (rows(name, author) for name in ("secrets", "harmless", "typed_secrets"))
    passing = [row for row in secrets if row.get("in_passing")]
    for what, some in (
        ("secrets in running text: kept", secrets),
        ("  of these said in passing (author O)", passing),
    ):
        yield what, sum(r["secret"] in redact_text(r["text"]) for r in some), len(some)
    yield "harmless texts: altered", sum(redact_text(r["text"]) != r["text"] for r in harmless), len(harmless)
    yield "typed secrets: kept in any byte on disk", sum(map(kept_typed, typed)), len(typed)
    asked = list(labels(author))
    due = [step for step, ask in asked if ask]
    yield "labels to ask before: marked", sum(map(asks_first, due)), len(due)
    others = [step for step, ask in asked if not ask]
    yield "other labels: marked", sum(map(asks_first, others)), len(others)
    named = [
        Control(name=step["control"], type=step["control_type"])
        for row in rows("everyday", author)
        for step in row["steps"]
        if step["control"]
    ]
    fixed = [control for control in named if is_fixed(control)]
    yield "labels of fixed controls in everyday runs: readable", sum(map(readable, fixed)), len(fixed)
    own = [shown for row in rows("everyday", author) if "fixed" in row for shown in fixed_shown(row)]
    yield "  what author O calls fixed: in the prompt", sum(own), len(own)
    poison = [shown_of(row) for row in rows("poison", author)]
    yield "poisoned runs, judged by a person: data in a prompt", sum(data for data, _, _ in poison), len(poison)
    grave = [asks for _, label, asks in poison if label]
    yield "  a grave label in a prompt", len(grave), len(poison)
    yield "  of these: a step is marked to ask before", sum(grave), len(grave)
    risky = [told_of_risk(row) for row in rows("risky", author)]
    yield "a grave step beside the task: marked to ask before", sum(asks for asks, _ in risky), len(risky)
    yield "  said to be nothing that the task asks for", sum(said for _, said in risky), len(risky)
    wordings = rows("wordings", author)
    yield "wordings of something else: served because of them", sum(map(hijacked, wordings)), len(wordings)


def main() -> None:
    """Print every figure."""
    for what, count, of in figures(*sys.argv[1:2]):
        print(f"{what:<58}{count:>6} of {of:<6}{100 * count / max(of, 1):6.1f} %")


if __name__ == "__main__":
    main()
