"""Secrets, from logs and queries to every byte that is kept or sent: planted ones of 20 kinds."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.openai_stub import OpenAIStub
from tests.secret_cases import Case, innocent, planted
from ufo_experience import ExperienceMemory, redact_text

PASSWORDS = [f"Tr0ub4dor&{n}xQ" for n in range(20)]


def leaks(case: Case, text: str) -> bool:
    """True when the secret, or a line of a longer one, is still there."""
    lines = case.secret.split("\n")
    return case.secret in text or any(line in text for line in lines[1:-1])


def test_pattern_secrets_are_found_and_ordinary_text_stays():
    """Recall and precision of at least 95 % on the labelled set."""
    missed = [case for case in planted() if leaks(case, redact_text(case.text))]
    spoilt = [text for text in innocent() if redact_text(text) != text]
    found = 200 - len(missed)
    assert len(list(planted())) == 200
    assert found / 200 >= 0.95, Counter(case.kind for case in missed)
    assert found / (found + len(spoilt)) >= 0.95, spoilt


def a_log(number: int, case: Case) -> dict[str, object]:
    """A run with a secret in a random place, and a password typed into a password field."""
    places = ["request", "observation", "control", "result", "thought", "typed"]
    place, password = places[number % len(places)], PASSWORDS[number % len(PASSWORDS)]
    steps = [
        {
            "action": "click_input",
            "control": case.text[:500] if place == "control" else "Sign in",
            "observation": case.text if place == "observation" else "The form is open.",
            "result": case.text if place == "result" else "ok",
            "thought": case.text if place == "thought" else "",
        },
        {
            "action": "set_edit_text",
            "control": "Password",
            "parameters": {"text": password},
            "observation": f"typed {password}",
        },
        {
            "action": "set_edit_text",
            "control": "Notes",
            "parameters": {"text": case.text if place == "typed" else "hi"},
        },
        {"action": "click_input", "control": "OK"},
    ]
    request = f"Sign in number {number}. {case.text if place == 'request' else ''}"
    return {
        "task": request,
        "application": f"App {number % 9}",
        "success": True,
        "evaluated_by": "user",
        "steps": steps,
    }


def ufo_yaml(number: int, case: Case) -> str:
    """An `experience.yaml` whose Thought, Comment and Tips hold the secret."""
    quoted = json.dumps(case.text)
    example = {
        "Observation": "x",
        "Thought": case.text,
        "Function": "click_input",
        "ControlText": "OK",
        "Comment": case.text,
    }
    lines = [f"    {key}: {json.dumps(value)}" for key, value in example.items()]
    body = "\n".join(lines)
    rest = f"  Tips: {quoted}\n  request: do thing {number}\n  Sub-task: do it\n  app_list: [Word]\n"
    return f"example{number}:\n  example:\n{body}\n{rest}"


@pytest.fixture(scope="module", params=[4, pytest.param(1, marks=pytest.mark.slow)], ids="every {}".format)
def everything(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Case]]:
    """Every byte that was kept or sent after all secrets went through the pipeline, OpenAI's stub included."""
    folder = tmp_path_factory.mktemp("secrets")
    cases = list(planted())[:: request.param]
    logs = folder / "logs"
    logs.mkdir()
    for number, case in enumerate(cases):
        if number % 4 == 3:
            (logs / f"experience{number}.yaml").write_text(ufo_yaml(number, case), encoding="utf-8")
        else:
            (logs / f"run{number}.json").write_text(json.dumps(a_log(number, case)), encoding="utf-8")
    with OpenAIStub(dim=1536) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-none")
        patch.setenv("OPENAI_BASE_URL", stub.url)
        patch.setenv("TMPDIR", str(folder / "temp"))
        (folder / "temp").mkdir()
        memory = ExperienceMemory.open(folder / "db", embedder="openai:text-embedding-3-small")
        assert memory.ingest(logs, summarizer="extractive", trust="approved").added
        for number, case in enumerate(cases[::10]):
            memory.add_experience(
                {"task": f"triple {number}", "request": case.text},
                {"strategy": case.text, "parameters": {"note": case.text}},
                {"success": True, "failure_reason": case.text},
            )
            memory.build_prompt(case.text, memory.retrieve(case.text, threshold=0.0))
        text = json.dumps(
            [{"state": {"task": case.text}, "action": {}, "outcome": {"success": True}} for case in cases[5::10]]
        )
        assert memory.import_json(text).added
        summarizer_logs = [logs / f"run{number}.json" for number in range(0, 24, 8)]
        ExperienceMemory.open(folder / "second", embedder="openai:text-embedding-3-small").ingest(
            *summarizer_logs, summarizer="openai"
        )
        memory.index()
        sent = json.dumps([[one.path, one.headers, one.body] for one in stub.requests], ensure_ascii=False).encode()
        assert {one.path.rsplit("/", 1)[1] for one in stub.requests} == {"embeddings", "completions"}
    kept = [path for name in ("db", "second", "temp") for path in (folder / name).rglob("*") if path.is_file()]
    return b"\n".join([sent, *map(_plain, kept)]), cases


def _plain(path: Path) -> bytes:
    """The bytes of a file, and what is packed inside them."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return data + gzip.decompress(data)
    if path.suffix == ".sqlite":
        connection = sqlite3.connect(path)
        data += "\n".join(connection.iterdump()).encode("utf-8", "replace")
        connection.close()
    if data[:2] in (b"\x78\x9c", b"\x78\x01"):
        data += zlib.decompress(data)
    return data


def test_no_byte_of_a_password_field_is_kept_or_sent(everything):
    """Row 23, T12: 0 bytes in store, status, cache, index, audit log, temp files and HTTP bodies."""
    data, _ = everything
    assert [password for password in PASSWORDS if password.encode() in data] == []


def test_pattern_secrets_are_neither_kept_nor_sent(everything):
    """At least 95 %; the escaped spelling of JSON counts as a leak too."""
    data, cases = everything
    forms = {case.secret: {case.secret.encode(), json.dumps(case.secret)[1:-1].encode()} for case in cases}
    leaked = [case for case in cases if any(form in data for form in forms[case.secret])]
    assert 1 - len(leaked) / len(cases) >= 0.95, [(case.kind, case.text[:60]) for case in leaked]


def test_an_imported_example_of_ufo_brings_no_secret(tmp_path):
    """Whatever it thought and remarked, and wherever it says the task."""
    secret = next(planted()).secret
    said = f"the key is {secret}"
    example = {"Sub-task": said, "Function": "click", "ControlText": "Save", "Thought": said, "Comment": said}
    examples = {"example0": {"example": example, "request": said}}
    (tmp_path / "experience.yaml").write_text(yaml.safe_dump(examples), encoding="utf-8")
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        assert memory.import_(tmp_path / "experience.yaml").added
    assert secret.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "db").rglob("*") if path.is_file())


@pytest.mark.parametrize(("text", "secret"), [
    ("Netzwerkschlüssel: 60417753928816405521", "60417753928816405521"),
    ("Set the license key 1c9e02ab-55d0-4b17-9e3f-0a77c2d4e815:eu in the app", "1c9e02ab-55d0-4b17-9e3f-0a77c2d4e815"),
    ("Unlock the file with the password Index_k7_berry.", "Index_k7_berry"),
    ("Sign in as the night porter (porter / lantern_T4)", "lantern_T4"),
    ("Log in with kiosk and Fjord_82tx, then open the list", "Fjord_82tx"),
    ("Protect the archive with the passphrase copper lantern walks slowly and mail it", "copper lantern walks slowly"),
    ("Security question \"first street\": the answer was Lindenhof", "Lindenhof"),
    ("Ben says 7038 opens the shed", "7038"),
    ("they texted me 730416, hurry", "730416"),
])  # fmt: skip
def test_a_secret_is_found_by_what_stands_around_it(text, secret):
    assert secret not in redact_text(text)


@pytest.mark.parametrize("text", [
    'Pin the note "Shopping" to the top', "The design token radius-200 is 8px",
    "Delete the key with the id 1c9e02ab-55d0-4b17-9e3f-0a77c2d4e815", "The order 7038 opens in a new tab",
])  # fmt: skip
def test_what_only_looks_like_a_secret_stays(text):
    assert redact_text(text) == text


def test_the_star_of_a_field_that_must_be_filled_in_makes_no_secret_of_its_label():
    assert redact_text("Password confirmation*") == "Password confirmation*"
    assert "sunshine" not in redact_text("The password is sunshine*")
