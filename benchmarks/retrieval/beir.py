"""Task sets for measuring retrieval, in the layout every IR tool reads (BEIR):

    corpus.jsonl     {"_id", "text", "title"?, "metadata": {"application"?, …}}
    queries.jsonl    {"_id", "text", "metadata"?}; may be absent when the queries are corpus entries
    qrels.tsv        query-id, corpus-id, score, with or without a header; `qrels/test.tsv` will do

A query without any qrels is unrelated: the right answer to it is none. Ours beyond BEIR, all optional, in `metadata`:
`steps` of a corpus entry (`action`, `control`, `control_type`, `text`) and its other `wordings`, and of a query its
`kind` and the entries that are `wrong`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, StorageError, UsageError
from ufo_experience.schema import Experience
from ufo_experience.store.files import read_lines
from ufo_experience.store.strict_json import parse

Relevant = dict[str, dict[str, int]]
MAX_BYTES = 1 << 32  # of one file of a set
_QRELS = ("qrels.tsv", "qrels/test.tsv")
_IN_METADATA = ("application", "steps", "wordings", "kind", "wrong")
_EXAMPLE = '{"_id": "1", "text": "…", "metadata": {"application": "Word"}}'


@dataclass(frozen=True)
class Entry:
    """A text of the corpus, or a query. `session` groups entries that must not answer each other.

    `steps` are what was done, `wordings` are other ways to ask for it, `kind` is how a query differs from its answer,
    `wrong` are entries that read alike and would mislead.
    """

    id: str
    text: str
    application: str | None = None
    session: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    kind: str = ""
    wrong: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskSet:
    """What is searched, what is asked, and `relevant[query][entry]`, a grade above 0."""

    name: str
    corpus: list[Entry]
    queries: list[Entry]
    relevant: Relevant = field(default_factory=dict)
    leave_one_out: bool = False

    @property
    def related(self) -> list[Entry]:
        """Queries that have an answer."""
        return [query for query in self.queries if query.id in self.relevant]

    @property
    def unrelated(self) -> list[Entry]:
        """Queries that have none."""
        return [query for query in self.queries if query.id not in self.relevant]


def read_beir(folder: Path, *, leave_one_out: bool = False) -> TaskSet:
    """Read a set.

    Raises:
        DataError: a file is missing or wrong; names file, line and field.
    """
    corpus = list(_entries(folder / "corpus.jsonl"))
    relevant = _read_qrels(folder)
    path = folder / "queries.jsonl"
    if leave_one_out and not path.exists():
        queries = [entry for entry in corpus if entry.id in relevant]
    else:
        queries = list(_entries(path))
    known = {entry.id for entry in corpus}
    if not known or not queries:
        raise DataError("no entries", file=str(folder / "corpus.jsonl" if not known else path))
    missing = next((entry for answers in relevant.values() for entry in answers if entry not in known), None)
    if missing is not None:
        raise DataError(f"corpus-id {missing!r} is not in corpus.jsonl", file=str(_qrels_file(folder)))
    if leave_one_out and not any(query.id in known for query in queries):
        raise DataError("with --leave-one-out queries are corpus entries, but no _id is one", file=str(path))
    return TaskSet(folder.resolve().name, corpus, queries, relevant, leave_one_out)


def write_beir(
    folder: Path,
    corpus: Iterable[Mapping[str, Any]],
    queries: Iterable[Mapping[str, Any]],
    qrels: Iterable[tuple[str, str, int]],
) -> None:
    """Write a set; rows of `corpus` and `queries` have `_id`, `text` and `metadata`.

    Raises:
        StorageError: the folder cannot be written.
    """
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    texts = {
        "corpus.jsonl": [json.dumps(row, ensure_ascii=False) for row in corpus],
        "queries.jsonl": [json.dumps(row, ensure_ascii=False) for row in queries],
        "qrels.tsv": lines,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in texts.items():
            (folder / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}") from error


def from_experiences(name: str, experiences: Iterable[Experience]) -> TaskSet:
    """A store as a set, leave-one-out: relevant is another session's record of the same canonical task.

    Records whose task occurs once are searched but not asked for: nobody knows whether something else would do.

    Raises:
        UsageError: no task occurs twice.
    """
    records = list(experiences)
    corpus = [
        Entry(one.id, one.state.request or one.state.task, one.state.application, one.provenance.session or one.id)
        for one in records
    ]
    by_task: dict[tuple[str, str | None], list[Entry]] = {}
    for record, entry in zip(records, corpus, strict=True):
        by_task.setdefault((record.state.task, entry.application), []).append(entry)
    relevant: Relevant = {}
    for group in by_task.values():
        for query in group:
            others = {entry.id: 1 for entry in group if entry.session != query.session}
            if others:
                relevant[query.id] = others
    queries = [entry for entry in corpus if entry.id in relevant]
    if not queries:
        raise UsageError("no task occurs in two sessions of this store: nothing can be asked")
    return TaskSet(name, corpus, queries, relevant, leave_one_out=True)


def _entries(path: Path) -> Iterator[Entry]:
    seen: set[str] = set()
    for number, row in _json_lines(path):
        identifier, text, metadata = row.get("_id"), row.get("text"), row.get("metadata") or {}
        for name, value in (("_id", identifier), ("text", text)):
            if not isinstance(value, str) or not value.strip():
                raise DataError("not a text", file=str(path), line=number, field=name)
        if identifier in seen:
            raise DataError(f"{identifier!r} is there twice", file=str(path), line=number, field="_id")
        if not isinstance(metadata, dict):
            raise DataError("not an object", file=str(path), line=number, field="metadata")
        misplaced = next((name for name in _IN_METADATA if name in row), None)
        if misplaced is not None:
            raise DataError(f"belongs into metadata: {_EXAMPLE}", file=str(path), line=number, field=misplaced)
        seen.add(str(identifier))
        application = metadata.get("application")
        words = f"{row.get('title') or ''} {text}".strip()
        steps, wrong, wordings = (metadata.get(name) or [] for name in ("steps", "wrong", "wordings"))
        for name, value, of in (("steps", steps, dict), ("wrong", wrong, str), ("wordings", wordings, str)):
            if not isinstance(value, list) or not all(isinstance(one, of) for one in value):
                raise DataError(f"not a list of {of.__name__}", file=str(path), line=number, field=f"metadata.{name}")
        yield Entry(
            str(identifier),
            words,
            str(application) if application else None,
            str(identifier),
            tuple(steps),
            str(metadata.get("kind") or ""),
            tuple(wrong),
            tuple(wordings),
        )


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in read_lines(path, MAX_BYTES):
        row = parse(line, file=str(path), line=number)
        if not isinstance(row, dict):
            raise DataError("not an object", file=str(path), line=number)
        yield number, row


def _qrels_file(folder: Path) -> Path:
    return next((folder / name for name in _QRELS if (folder / name).is_file()), folder / _QRELS[0])


def _read_qrels(folder: Path) -> Relevant:
    path = _qrels_file(folder)
    relevant: Relevant = {}
    for number, line in read_lines(path, MAX_BYTES):
        parts = line.rstrip("\r").split("\t")
        if number == 1 and not _is_grade(parts[-1]):
            continue
        if len(parts) != 3 or not _is_grade(parts[2]):
            raise DataError("expected query-id, corpus-id, score, parted by tabs", file=str(path), line=number)
        if int(parts[2]) > 0:
            relevant.setdefault(parts[0], {})[parts[1]] = int(parts[2])
    return relevant


def _is_grade(text: str) -> bool:
    return text.strip().lstrip("-").isdecimal()
