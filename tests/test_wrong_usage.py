"""What wrong usage is answered with: `data/wrong_usage.md`, made by running it. UPDATE_DOCS=1 writes it anew."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import Cli
from tests.openai_stub import OpenAIStub
from ufo_experience import (
    ExperienceError,
    ExperienceMemory,
    Recorder,
    RecordFilter,
    Settings,
    build_experience_summary,
    build_prompt_with_memory,
    compare_with_without_memory,
    create_experience_index,
    inject,
    record_experience,
    redact_text,
    retrieve_relevant_experiences,
)
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.executor.drivers import PlaywrightDriver
from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.screen import read_screen
from ufo_experience.schema import Experience
from ufo_experience.settings import load_settings

PAGE = Path(__file__).resolve().parent / "data" / "wrong_usage.md"
HEAD = """# What wrong usage is answered with

Made by `tests/test_wrong_usage.py`, which runs every row and checks that it fails as told. Exit codes: 0 ok, 2 usage,
65 bad data, 69 service unavailable, 73 cannot write, 75 try again later, 77 refused for safety. With `--json` the
same message stands in `{"error": {"code", "message"}}` on stdout.

The store `experience_db` holds the sample sessions; `waiting_db` holds one of them, not judged by anybody.
"""
RUN = {"task": "Open the gate", "steps": [{"action": "click", "control": "Gate", "kind": "Button"}]}
STEP = '[{"action": "click", "control": "Send"}]'

# A command as it is typed (split at blanks that stand outside of quotes), and files it needs.
COMMANDS = [
    "retrieve",
    "nonsense",
    "list --nonsense",
    "ingest",
    "ingest nowhere",
    "ingest torn.json",
    "ingest other.json",
    "ingest empty.jsonl",
    "ingest . --format ufoo",
    "ingest logs.json --trust high",
    "ingest logs.json --summarizer poet",
    "ingest logs.json --summarizer openai",
    "ingest other.json --format ufo",
    "remember",
    "remember 'Send it'",
    "remember 'Send it' --steps nowhere.json",
    "remember 'Send it' --steps '[{]'",
    "remember 'Send it' --steps '[]'",
    """remember 'Send it' --steps '[{"control": "Send"}]'""",
    f"remember '' --steps '{STEP}'",
    "retrieve ''",
    "retrieve '!?'",
    "retrieve 'Turn on Bluetooth' --app Setings",
    "retrieve 'Turn on Bluetooth' -k 0",
    "retrieve 'Turn on Bluetooth' -k 500",
    "retrieve 'Turn on Bluetooth' -k two",
    "retrieve 'Turn on Bluetooth' --threshold high",
    "retrieve 'Turn on Bluetooth' --threshold 75",
    "retrieve 'Turn on Bluetooth' --treshold 0.5",
    "retrieve 'Turn on Bluetooth' --db nowhere_db",
    "retrieve 'Turn on Bluetooth' --db ''",
    "retrieve 'Turn on Bluetooth' --db redis://host/0",
    "retrieve 'Turn on Bluetooth in the settings' --db waiting_db",
    "retrieve 'Book a flight to Rome'",
    "prompt 'Turn on Bluetooth' --max-tokens 20",
    "prompt 'Turn on Bluetooth' --max-tokens -1",
    "prompt 'Turn on Bluetooth' --format xml",
    "report",
    "report 6935f48a",
    "report zzzz --success",
    "show",
    "show zzzz",
    "show 6",
    "judge 6935f48a",
    "judge zzzz --success",
    "approve",
    "approve zzzz",
    "approve --app Setings",
    "approve --trust high",
    "quarantine --since yesterday",
    "remove",
    "remove --undo zzzz",
    "purge",
    "purge --source typo",
    "import nowhere.json",
    "import other.json",
    "import torn.json",
    "export --format csv",
    "export -o nowhere/all.json",
    "export -o .",
    "recommend",
    """recommend --state '{"task"'""",
    "recommend --state '[]'",
    "recommend --state nowhere.json",
    "recommend --state '{}'",
    "calibrate",
    "calibrate --labels nowhere.jsonl",
    "index --embedder opnai",
    "ingest nowhere other.json logs.json --db part_db",
    "import other_version.json",
    "mcp --all",
    "index --embedder openai:text-embedding-3-small --rebuild",
]

CALLS: dict[str, Callable[[ExperienceMemory], object]] = {
    "memory.retrieve(None)": lambda m: m.retrieve(None),
    "memory.retrieve('x', top_k=0)": lambda m: m.retrieve("x", top_k=0),
    "memory.retrieve('x', threshold=2)": lambda m: m.retrieve("x", threshold=2),
    "memory.retrieve('x', near=-1)": lambda m: m.retrieve("x", near=-1),
    "memory.query('task')": lambda m: m.query("task"),
    "memory.query({})": lambda m: m.query({}),
    "memory.query({'task': 't'}, filters={'hue': 'red'})": lambda m: m.query({"task": "t"}, filters={"hue": "red"}),
    "memory.recommend('t')": lambda m: m.recommend("t"),
    "memory.report('zzzz', success=True)": lambda m: m.report("zzzz", success=True),
    "memory.report(['6935f48a'], success='yes')": lambda m: m.report(["6935f48a"], success="yes"),
    "memory.report([7], success=True)": lambda m: m.report([7], success=True),
    "memory.ingest(7)": lambda m: m.ingest(7),
    "memory.ingest(logs, trust='high')": lambda m: m.ingest(SAMPLES, trust="high"),
    "memory.ingest(logs, format='ufoo')": lambda m: m.ingest(SAMPLES, format="ufoo"),
    "memory.import_json({})": lambda m: m.import_json({}),
    "memory.import_json('{')": lambda m: m.import_json("{"),
    "memory.import_json('7')": lambda m: m.import_json("7"),
    "memory.import_('nowhere.json')": lambda m: m.import_("nowhere.json"),
    "memory.add_experience('t', 'click', True)": lambda m: m.add_experience("t", "click", True),
    "memory.add_experience({}, {}, {'success': True})": lambda m: m.add_experience({}, {}, {"success": True}),
    "memory.add_experience({'task': 't'}, {}, {})": lambda m: m.add_experience({"task": "t"}, {}, {}),
    "memory.add_experience({'task': 't', 'tags': 'nlp'}, {}, {'success': True})": lambda m: m.add_experience(
        {"task": "t", "tags": "nlp"}, {}, {"success": True}
    ),
    "memory.add_experience({'task': 't'}, {'steps': ['click']}, {'success': True})": lambda m: m.add_experience(
        {"task": "t"}, {"steps": ["click"]}, {"success": True}
    ),
    "memory.add_experience({'task': 't'}, {}, {'success': True, 'score': 2})": lambda m: m.add_experience(
        {"task": "t"}, {}, {"success": True, "score": 2}
    ),
    "memory.remember(None, [])": lambda m: m.remember(None, []),
    "memory.remember('t', 'click')": lambda m: m.remember("t", "click"),
    "memory.remember('t', [])": lambda m: m.remember("t", []),
    "memory.remember('t', [{'control': 'Send'}])": lambda m: m.remember("t", [{"control": "Send"}]),
    "memory.remember('t', steps, 'yes')": lambda m: m.remember("t", json.loads(STEP), "yes"),
    "memory.remember('t', steps, True, judge='me')": lambda m: m.remember("t", json.loads(STEP), True, judge="me"),
    "memory.remember('t', steps, True, costs=1)": lambda m: m.remember("t", json.loads(STEP), True, costs=1),
    "memory.judge('zzzz', success=True)": lambda m: m.judge("zzzz", success=True),
    "memory.judge('6935f48a', success=None)": lambda m: m.judge("6935f48a", success=None),
    "memory.get('zzzz')": lambda m: m.get("zzzz"),
    "memory.get(7)": lambda m: m.get(7),
    "memory.list(where=RecordFilter(success='yes'))": lambda m: m.list(where=RecordFilter(success="yes")),
    "memory.list(where=RecordFilter(trust='high'))": lambda m: m.list(where=RecordFilter(trust="high")),
    "memory.list(where=RecordFilter(ids='6935'))": lambda m: m.list(where=RecordFilter(ids="6935")),
    "memory.approve()": lambda m: m.approve(),
    "memory.approve(where=RecordFilter(expected={id: 'old'}, all=True))": lambda m: m.approve(
        where=RecordFilter(expected={m.list()[0].id: "old"}, all=True)
    ),
    "memory.purge('typo')": lambda m: m.purge("typo"),
    "memory.purge()": lambda m: m.purge(),
    "memory.undo_remove('zzzz')": lambda m: m.undo_remove("zzzz"),
    "memory.export('csv')": lambda m: m.export("csv"),
    "memory.build_prompt('x', format='xml')": lambda m: m.build_prompt("Turn Bluetooth on", format="xml"),
    "ExperienceMemory.open('nowhere', create=False)": lambda m: ExperienceMemory.open("nowhere", create=False),
    "ExperienceMemory.open(top_k=0)": lambda m: ExperienceMemory.open("db", top_k=0),
    "ExperienceMemory.open(embedder='opnai').index()": lambda m: ExperienceMemory.open("db", embedder="opnai").index(),
    "ExperienceMemory.open(settings={})": lambda m: ExperienceMemory.open(settings={}),
    "memory.retrieve('x', application=7)": lambda m: m.retrieve("x", application=7),
    "memory.retrieve('x', top_k='3')": lambda m: m.retrieve("x", top_k="3"),
    "memory.build_prompt('x', ['hit'])": lambda m: m.build_prompt("x", ["hit"]),
    "memory.build_prompt('x', max_tokens='many')": lambda m: m.build_prompt("x", max_tokens="many"),
    "guide.note('x')": lambda m: m.guide("Turn on Bluetooth").note("x"),
    "memory.report(None, success=True)": lambda m: m.report(None, success=True),
    "memory.list(limit=0)": lambda m: m.list(limit=0),
    "memory.list(where='x')": lambda m: m.list(where="x"),
    "memory.list(where=RecordFilter(since='x'))": lambda m: m.list(where=RecordFilter(since="x")),
    "memory.export(output=7)": lambda m: m.export(output=7),
    "memory.import_(7)": lambda m: m.import_(7),
    "memory.calibrate('labels.jsonl', precision=2)": lambda m: m.calibrate("labels.jsonl", precision=2),
    "memory.query({'task': 't'}, k=0)": lambda m: m.query({"task": "t"}, k=0),
    "memory.query({'task': 't'}, filters='x')": lambda m: m.query({"task": "t"}, filters="x"),
    "memory.recommend({'task': 't'}, k_actions=0)": lambda m: m.recommend({"task": "t"}, k_actions=0),
    "ExperienceMemory.open(7)": lambda m: ExperienceMemory.open(7),
    "inject([], 'x')": lambda m: inject([], "x"),
    "redact_text(7)": lambda m: redact_text(7),
    "compare_with_without_memory('t', 7)": lambda m: compare_with_without_memory("t", 7),
    "compare_with_without_memory('t', no_steps)": lambda m: compare_with_without_memory("t", lambda t, use_memory: {}),
    "build_experience_summary({})": lambda m: build_experience_summary({}),
    "retrieve_relevant_experiences('t', 'nowhere')": lambda m: retrieve_relevant_experiences("t", "nowhere"),
    "record_experience('t', [])": lambda m: record_experience("t", []),
    "create_experience_index('nowhere')": lambda m: create_experience_index("nowhere"),
}


def words(command: str) -> list[str]:
    """A command line as its arguments."""
    return [part[1:-1] if part[:1] == "'" else part for part in re.findall(r"'[^']*'|\S+", command)]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A folder with a store, one whose runs nobody judged, and files of several kinds."""
    cli = Cli(tmp_path_factory.mktemp("errors"))
    cli("ingest", SAMPLES, "--include-failures")
    cli("ingest", SAMPLES / "settings_bluetooth", "--trust", "observed", "--db", "waiting_db")
    for name, text in (("torn.json", '{"a": 1,\n "b": }'), ("other.json", '{"what": 1}'), ("empty.jsonl", "")):
        (cli.folder / name).write_text(text, encoding="utf-8")
    broken = {"cut.json": '{"task": "a",\n "steps": [{"action":', "steps.json": '{"task": "a", "steps": "click"}'}
    for name, text in (broken | {"cut_export.json": '{"experiences":\n [{"id":'}).items():
        (cli.folder / name).write_text(text, encoding="utf-8")
    outcome = {"success": "maybe", "evaluated_by": "me"}
    (cli.folder / "maybe.json").write_text(json.dumps(RUN | outcome), encoding="utf-8")
    (cli.folder / "broken.json").write_text('{"task": "Open",\n "steps": [}\n', encoding="utf-8")
    (cli.folder / "other_version.json").write_text('{"version": 99, "experiences": []}', encoding="utf-8")
    cli("ingest", SAMPLES / "settings_bluetooth", "--db", "quarantined_db")
    cli("quarantine", "6935f48a", "--db", "quarantined_db")
    (cli.folder / "rows.csv").write_text("task,action\n", encoding="utf-8")
    cli("remember", "Open the gate", "--steps", json.dumps(RUN["steps"]), "--db", "unjudged_db")
    cli("approve", "6935f48a")
    for format, name in (("json", "own.json"), ("skills", "own_skills")):
        cli("export", "--format", format, "-o", name)
    (skill,) = (cli.folder / "own_skills").glob("*/experience.json")
    (cli.folder / "own_record.json").write_bytes(skill.read_bytes())
    (cli.folder / "logs.json").write_text(json.dumps({"task": "t", "steps": json.loads(STEP)}), encoding="utf-8")
    return cli


def answers(cli: Cli) -> Iterator[tuple[str, str, str]]:
    """Each command and call with its exit code and what it says."""
    for command in COMMANDS:
        done = cli.try_(*words(command))
        yield f"`{command}`", str(done.exit_code), said(done.stderr or done.stdout, cli)
    before = Path.cwd()
    os.chdir(cli.folder)
    try:
        settings = Settings(db=str(cli.folder / "experience_db"), embedder="hashing", summarizer="extractive")
        memory = ExperienceMemory.open(settings=settings)
        for call, run in CALLS.items():
            with pytest.raises(ExperienceError) as caught:
                run(memory)
            yield f"`{call}`", type(caught.value).__name__, said(str(caught.value), cli)
    finally:
        os.chdir(before)


def said(text: str, cli: Cli) -> str:
    """The message without what differs from run to run, as one cell of a table."""
    if "Usage: " in text:  # in the words of the parser of options, which change with its version
        return "the usage line, and what is missing or nearest"
    shown = " ".join(text.replace(str(cli.folder), "…").replace(str(SAMPLES), "samples").split())
    shown = re.sub(r"needs \d+ tokens", "needs N tokens", shown)  # the frame's random digits weigh differently
    return re.sub(r"\b[0-9a-f]{32}\b", "ID", shown).replace("|", "\\|").replace("<", "&lt;").strip()


def test_the_page_of_errors_tells_what_is_said(cli):
    """Every row is what the command or the call says; none is a traceback, none succeeds in silence."""
    rows = list(answers(cli))
    table = ["| wrong usage | exit code or class | what it says |", "| --- | --- | --- |"]
    table += [f"| {usage.replace('|', chr(92) + '|')} | {code} | {message} |" for usage, code, message in rows]
    text = HEAD + "\n" + "\n".join(table) + "\n"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(text, encoding="utf-8", newline="\n")
    assert [usage for usage, _, message in rows if "Traceback" in message] == []
    assert [usage for usage, code, _ in rows if code == "1"] == []
    assert _columns(PAGE.read_text(encoding="utf-8")) == _columns(text)


def _columns(page: str) -> list[list[str]]:
    """Usage and exit code of each row; how a message is worded may change between two writings of the page."""
    return [line.split(" | ")[:2] for line in page.splitlines() if line.startswith("| `")]


# What somebody new gets wrong: a command, and what its answer must name: what is wrong, or what would be right.
TYPED = [
    ("injest logs.json", "Did you mean ingest?"),
    ("learn logs.json", "Did you mean ingest or remember?"),
    ("ask Bluetooth", "Did you mean retrieve?"),
    ("explain Bluetooth", "Did you mean retrieve --explain?"),
    ("delete 6935f48a", "Did you mean remove or purge?"),
    ("guide Bluetooth", "Did you mean run --dry-run?"),
    ("settings", "Did you mean stats (docs/settings.md"),
    ("version", "Did you mean --version?"),
    ("help ingest", "Did you mean --help?"),
    ("edit 6935f48a", "Did you mean review?"),
    ("nonsense", "No such command 'nonsense'. There are"),
    ("retrieve Bluetooth --store nowhere_db", "did you mean --db?"),
    ("purge --person Jane", "did you mean --search?"),
    ("purge --nonsense Jane", "No such option: --nonsense. purge takes"),
    ("ingest cut.json", "line 2: not JSON"),
    ("ingest empty.jsonl", "the file is empty"),
    ("ingest steps.json", "steps is a list of steps, not 'click'"),
    ("import cut_export.json", "cut_export.json:2: not JSON"),
    ("ingest --path logs.json", "takes: PATHS"),
    ("ingest nowhere --db fresh_db", "there is no such file or folder"),
    ("ingest logs.json --db other.json", "it is a file, a store is a folder"),
    ("ingest other.json", '"steps": [{"action"'),
    ("remember 'Send it'", '"action": "click", "control"'),
    ("remember --task 'Send it'", "remember takes: TASK, --steps"),
    ('remember \'Send it\' --steps \'[{"action": "click", "label": "Send"}]\'', "never shown"),
    ("retrieve --query Bluetooth", "retrieve takes: TASK"),
    ("retrieve Bluetooth --topk 3", "--top-k"),
    ("retrieve Bluetooth --min-score .5", "--threshold"),
    ("retrieve Bluetooth --threshold 75", "did you mean 0.75"),
    ("retrieve Bluetooth -k 0", "top_k: must be greater than or equal to 1"),
    ("retrieve Bluetooth --db nowhere_db", "ufo-experience ingest PATH --db nowhere_db"),
    ("retrieve 'Turn on Bluetooth' --app Setings", "did you mean SystemSettings.exe"),
    ("list --since yesterday", "write 2025-11-12"),
    ("show 1", "ufo-experience list"),
    ("judge 6935f48a", "--success or --failure"),
    ("judge 6935f48a --success --failure", "give one"),
    ("report 6935f48a", "--success or --failure"),
    ("approve", "give ids"),
    ("import nowhere.yaml", "no such file"),
    ("export --format csv", "'json', 'ufo', 'skills'"),
    ("import nowhere.json --db fresh_db", "no such file"),
    ("list --risk high", "there are: address, asks first"),
    ("retrieve Bluetooth -k two", "must be a whole number"),
    ("judge 6935f48a --ok", "--success/--failure"),
    ("demo --task Bluetooth", "--db, --json"),
    ("approve", "--all"),
    ('recommend --state \'{"tsk": "Send it"}\'', "also wrong: tsk"),
    ("index --embedder openai", "openai:text-embedding-3-small"),
    ("run 'Turn on Bluetooth in the settings.' --browser example.com", "https://example.com"),
    ("export own.json", "export takes: --format, --output"),
    ("stats experience_db", "stats takes: --db"),
    ("recommend --task 'Send it'", "recommend takes: [TASK]..."),
    ("report --success", "report takes: ID..."),
    ("help", "each says more with --help"),
    ("prompt 'Book a flight to Rome'", "below the threshold of"),
    ("retrieve 'Open the gate' --db unjudged_db", "--success --db unjudged_db"),
    ("prompt 'Open the gate' --db unjudged_db", "--success --db unjudged_db"),
    ("ingest own.json --db own_db", "ufo-experience import FILE --db own_db"),
    ("ingest own_record.json --db own_db", "ufo-experience import FILE --db own_db"),
    ("ingest maybe.json --db own_db", "success is true or false, not 'maybe'"),
    ("ingest maybe.json --db own_db", "evaluated_by is evaluator, user, agent or none, not 'me'"),
    ("ingest rows.csv --db own_db", "one run a line"),
    ("remember --success yes 'Send it'", "--success takes no value: leave out yes"),
    ("judge 6935f48a --failure no", "--failure takes no value: leave out no"),
    ("retrieve Bluetooth --json true", "--json takes no value"),
    ("retrieve Bluetooth --app Settings true", "'true' stands apart from the task"),
    ("list --app Outlook --app Word", "--application is given twice"),
    ("mcp --all", "No such option: --all. mcp takes"),
    ("ingest broken.json", "broken.json: E_UNKNOWN_FORMAT: line 2: not JSON"),
    ("import other_version.json", "other_version.json [version]: unknown version 99: if a newer release"),
    ("judge 6935f48a --failure --db quarantined_db", "still quarantined; to release: ufo-experience approve 6935f48a"),
]
CALLED: dict[str, tuple[Callable[[ExperienceMemory], object], str]] = {
    "memory.retrieve(query=…)": (lambda m: m.retrieve(query="Bluetooth"), "it takes task"),
    "memory.remember(…, sucess=True)": (lambda m: m.remember("Save", [], sucess=True), "did you mean success?"),
    "memory.retrieve(…, app=…)": (lambda m: m.retrieve("Bluetooth", app="Settings"), "did you mean application?"),
    "memory.retrieve(…, k=3)": (lambda m: m.retrieve("Bluetooth", k=3), "did you mean top_k?"),
    "ExperienceMemory.open(…, treshold=.5)": (lambda m: ExperienceMemory.open("db", treshold=0.5), "threshold"),
    "ExperienceMemory.open(…, embedder='opneai')": (lambda m: ExperienceMemory("db", embedder="opneai"), "known are"),
    "memory.judge(…, judge='me')": (lambda m: m.judge("6935f48a", success=True, judge="me"), "user, program, model"),
    "memory.report(…, 'success')": (lambda m: m.report("6935f48a", "success"), "success"),
    "Recorder(…).start(…, app=…)": (lambda m: Recorder(m).start("Send it", app="Mail"), "application"),
    "Recorder(…).step({…})": (lambda m: begun(m).step({"action": "click"}), "action is a text"),
    "Recorder(…).step(…, type=…)": (
        lambda m: begun(m).step("click", "Send", type="Button"),
        "did you mean control_type?",
    ),
    "Recorder(…).step before start": (lambda m: Recorder(m).step("click", "Send"), "recorder.start(task)"),
    "Recorder(…).finish('done')": (lambda m: begun(m).finish("done"), "True or False"),
    "Recorder(…).finish(True, 'me')": (lambda m: begun(m).finish(True, "me"), "user, program, model"),
    "Recorder(7)": (lambda m: Recorder(7), "ExperienceMemory"),
    "memory.approve([7])": (lambda m: m.approve([7]), "id is a text"),
    "memory.approve(['6935f48a', …])": (lambda m: m.approve(["6935f48a", "7"]), "no record"),
    "memory.ingest(…, success='yes')": (lambda m: m.ingest(RUN, success="yes"), "success is True or False"),
    "memory.ingest(…, success=0)": (lambda m: m.ingest(RUN, success=0), "success is True or False"),
    "memory.ingest(…, aplication=…)": (lambda m: m.ingest(RUN, aplication="X"), "did you mean application?"),
    "memory.ingest(…, foo=1)": (lambda m: m.ingest(SAMPLES, foo=1), "it takes"),
    "memory.ingest(…, task=5)": (lambda m: m.ingest(RUN, task=5), "task is a text"),
    "memory.ingest('nowhere')": (lambda m: m.ingest("nowhere"), "no such file"),
    "memory.ingest(['nowhere'])": (lambda m: m.ingest(["nowhere"]), "no such file"),
    "memory.remember('  ', …)": (lambda m: m.remember("  ", RUN["steps"], True), "the task is empty"),
    "memory.remember(…, cost=-1)": (lambda m: m.remember("Save", RUN["steps"], True, cost=-1), "[cost]"),
    "memory.remember(…, cost='a')": (lambda m: m.remember("Save", RUN["steps"], True, cost="a"), "[cost]"),
    "memory.remember(…, score=7)": (lambda m: m.remember("Save", RUN["steps"], True, score=7), "[score]"),
    "Recorder(…).finish(…, score=7)": (lambda m: begun(m).finish(True, "user", score=7), "[score]"),
    "memory.remember(…, application=7)": (
        lambda m: m.remember("Save", RUN["steps"], True, application=7),
        "application is a text",
    ),
    "memory.build_prompt(…, max_tokens=0)": (lambda m: m.build_prompt("Save", max_tokens=0), "from 1, not 0"),
    "memory.build_prompt([], 'Save')": (lambda m: m.build_prompt([], "Save"), "task is a text"),
    "memory.build_prompt('Save', 7)": (lambda m: m.build_prompt("Save", 7), "hits is a list"),
    "build_prompt_with_memory(…, None)": (lambda m: build_prompt_with_memory("Save", "", [], None), "is a list"),
    "Settings(threshold=-1)": (lambda m: Settings(threshold=-1), "a number from 0 to 1"),
    "guide.next(None)": (lambda m: read_screen(None), "controls is a list"),
    "Recorder(…, logs=5)": (lambda m: Recorder(m, logs=5), "logs is a path"),
    "Recorder(…).step(…, control=…)": (lambda m: begun(m).step("click", control="Send"), "did you mean target?"),
    "ExperienceMemory.open(judge='off')": (lambda m: ExperienceMemory.open(judge="off"), "settings=Settings(judge=…)"),
    "ExperienceMemory.open(Settings())": (lambda m: ExperienceMemory.open(Settings()), "settings=…"),
    "RecordFilter(success=0)": (lambda m: RecordFilter(success=0), "success is True, False"),
    "RecordFilter(since='soon')": (lambda m: RecordFilter(since="soon"), "write 2025-11-12"),
    "memory.ingest()": (lambda m: m.ingest(), "ingest(path, …)"),
    "memory.get(hit)": (lambda m: m.get(m.retrieve), "id is a text"),
    "memory.run('Send it', None)": (lambda m: m.run("Send it", None), "controls() and do(act)"),
    "memory.purge()": (lambda m: m.purge(), "all=True"),
    "memory.purge(search=…)": (lambda m: m.purge(search="Jane"), "so: where=RecordFilter(search=…); it takes source"),
    "memory.list(search=…)": (lambda m: m.list(search="Jane"), "list() got an unexpected keyword"),
    "memory.list(where={…})": (lambda m: m.list(where={"app": "Word"}), "did you mean application?"),
    "memory.purge(RecordFilter(…))": (lambda m: m.purge(RecordFilter(search="Jane")), "called_db: no record fits"),
    "memory.purge(where={…})": (lambda m: m.purge(where={"search": "Jane"}), "called_db: no record fits"),
    "memory.export('f.json')": (lambda m: m.export("f.json"), "a file is named so: output=…"),
    "memory.export('skills', 'd')": (lambda m: m.export("skills", "d"), "skills.export_skills(memory, folder)"),
    "memory.export_json('f')": (lambda m: m.export_json("f"), "into a file: export(output=FILE)"),
    "memory.import_json('f.json')": (lambda m: m.import_json("f.json"), "a file: import_('f.json')"),
    "memory.retrieve(…, threshold='high')": (lambda m: m.retrieve("Save", threshold="high"), "lie in [0, 1]"),
    "recorder.step(…, 'Anna Berg')": (lambda m: begun(m).step("type", "To", "Anna Berg"), "so: text='Anna Berg'"),
    "build_prompt([…], hits)": (lambda m: m.build_prompt([{"role": "user"}], []), "inject(messages, block)"),
    "memory.search(…)": (lambda m: m.search("Save"), "did you mean retrieve? it has"),
    "memory.explain(…)": (lambda m: m.explain("Save"), "did you mean retrieve? it has"),
    "memory.delete(…)": (lambda m: m.delete("6935f48a"), "did you mean remove or purge? it has"),
    "block.mesages": (lambda m: m.build_prompt("Save").mesages, "did you mean messages? it has"),
    "inject(messages, prompt)": (lambda m: inject([], "Send it"), "what build_prompt gives"),
    "memory.report(…, True)": (lambda m: m.report("6935f48a", True), "success=…"),
    "Settings(topk=3)": (lambda m: Settings(topk=3), "did you mean 'top_k'"),
    "Settings(colour='red')": (lambda m: Settings(colour="red"), "there are: db, embedder"),
    "Settings(judge='gpt-4o')": (lambda m: Settings(judge="gpt-4o"), "auto, off, or openai:MODEL"),
    "Settings().from_env": (lambda m: Settings().from_env, "it has allow_http_service"),
    "ExperienceMemory.open(read_only=True)": (lambda m: ExperienceMemory.open("x", read_only=True), "'read_only'; it"),
    "memory.restore(…)": (lambda m: m.restore("6935f48a"), "did you mean undo_remove?"),
    "memory.remove(…, undo=True)": (lambda m: m.remove("6935f48a", undo=True), "did you mean undo_remove?"),
    "memory['zzzz']": (lambda m: m["zzzz"], "no record 'zzzz'"),
    "start.hits": (lambda m: Recorder(m).start("Send it").hits, "it has block, choices"),
    "with recorder": (lambda m: enter(Recorder(m)), "start(task) begins a run"),
    "with recorder.start(…)": (lambda m: enter(Recorder(m).start("Send it")), "finish(success, judge) ends it"),
    "recorder.call(…, ['Save'])": (lambda m: begun(m).call("click", ["Save"]), "arguments is a dict"),
    "recorder.step after close()": (lambda m: closed(m).step("click", "Save"), "the memory is closed"),
    "guide.steps": (lambda m: Guide(Procedure.of([known(m)], "Open the gate")).steps, "did you mean procedure.steps?"),
    "Act('click', 'Settings')": (lambda m: Act("click", "Settings"), "target is a Target"),
    "PlaywrightDriver(None)": (lambda m: PlaywrightDriver(None), "page is a page of Playwright"),
    "RecordFilter(app='Word')": (lambda m: RecordFilter(app="Word"), "did you mean application?"),
}


MISSPELT: dict[str, Callable[[ExperienceMemory], object]] = {
    "memory.search": lambda m: m.search("Bluetooth"),
    "memory.retreive": lambda m: m.retreive("Bluetooth"),
    "recorder.record": lambda m: Recorder(m).record("click"),
}


def enter(made: Any) -> None:
    with made:
        pass


def closed(memory: ExperienceMemory) -> Recorder:
    recorder = begun(memory)
    memory.close()
    return recorder


def known(memory: ExperienceMemory) -> Experience:
    return memory.remember("Open the gate", RUN["steps"], True)


def begun(memory: ExperienceMemory) -> Recorder:
    """A recorder with a run under way."""
    recorder = Recorder(memory)
    recorder.start("Send it")
    return recorder


@pytest.mark.parametrize(("command", "named"), TYPED)
def test_a_plausible_mistake_on_the_command_line_is_answered(cli, command, named):
    """The answer says what is wrong or what would be right; a path that is wrong makes no store."""
    done = cli.try_(*words(command))
    plain = re.sub(r"[\s│]+", " ", done.stderr)
    assert named in plain
    assert not (cli.folder / "fresh_db").exists()


@pytest.mark.parametrize("call", CALLED)
def test_a_plausible_mistake_in_python_is_answered(cli, call):
    """It raises, and the message names what would be right."""
    run, named = CALLED[call]
    memory = ExperienceMemory(cli.folder / "called_db", embedder="hashing")
    with pytest.raises((ExperienceError, TypeError, AttributeError)) as caught:
        run(memory)
    assert named in str(caught.value)


@pytest.mark.parametrize("name", ["app.py", "torn.json", "torn_record.json", "lines.jsonl"])
def test_a_file_that_cannot_be_read_is_no_import(tmp_path, name):
    """It raises, whether it is taken for an export, for a record or for a log."""
    texts = {"app.py": "x = 1\n", "torn.json": "{", "torn_record.json": '{\n "id": "', "lines.jsonl": "{\n"}
    (tmp_path / name).write_text(texts[name], encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(name)):
        ExperienceMemory(tmp_path / "db", embedder="hashing").import_(tmp_path / name)


@pytest.mark.parametrize("call", MISSPELT)
def test_a_method_that_is_not_there_is_answered_with_those_that_are(cli, call):
    """As a misspelt argument is."""
    memory = ExperienceMemory(cli.folder / "called_db", embedder="hashing")
    with pytest.raises(AttributeError, match=r"it has .*(retrieve|finish)"):
        MISSPELT[call](memory)


def test_what_is_plainly_meant_is_taken(tmp_path):
    """Paths and ids in a list, one id to purge, a date as text, a control's type under another name."""
    memory = ExperienceMemory(tmp_path / "db", embedder="hashing")
    learned = memory.ingest([str(SAMPLES)], include_failures=True).added
    assert memory.approve(learned[:2]).ids == tuple(learned[:2])
    assert [one.id for one in memory.purge(learned[0])] == [learned[0]]
    assert [one.id for one in memory.purge(learned[1][:8])] == [learned[1]]
    assert len(memory.list(where=RecordFilter(since="2026-01-01"))) == len(learned) - 2
    (made,) = memory.ingest(RUN, success=True).added
    assert memory.get(made).action.steps[0].target_control.type == "Button"
    assert [one.id for one in memory] == [one.id for one in memory.list()]
    assert memory.approve(memory.list(where={"search": "gate"})).ids == (made,)
    assert memory.retrieve(RUN["task"], threshold="auto").hits[0].id == made
    assert [one.id for one in memory.purge(RecordFilter(search="gate"))] == [made]


def test_a_block_goes_into_messages_of_a_chat_as_it_is_at_hand(tmp_path):
    """The block of a prompt, its text, or that of a recorder's start; a typed text may be given by its name."""
    recorder = Recorder(tmp_path / "db")
    for number in ("ME51", "ME52"):
        task = f'Open "{number}"'
        start = recorder.start(task)
        recorder.step("type", "Code", text=number, control_type="Edit")
        recorder.finish(True, "user")
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": task}]
    block = recorder.memory.build_prompt(task)
    assert [one["content"] for one in inject(said, start.block)] == ["Be brief.", start.block, task]
    assert inject(said, block) == inject(said, block.text) == [said[0], *block.messages]
    assert 'type "ME52" in "Code"' in start.block
    assert inject(said, "") == said
    assert import_module("ufo_experience.integrations").Recorder is Recorder


@pytest.mark.parametrize(("command", "needs"), [("review --no-open", "starlette"), ("mcp --http", "mcp")])
def test_a_port_that_is_taken_is_named(cli, command, needs):
    """In one line, with the way out and an exit code of the table."""
    pytest.importorskip(needs, reason="the extra is not installed")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = cli.try_(*words(command), "--port", port)
    assert (done.exit_code, done.stderr.count("\n")) == (69, 1)
    assert f"port {port} of 127.0.0.1" in done.stderr
    assert "--port 0" in done.stderr


def test_the_server_over_http_says_where_it_is(cli, monkeypatch):
    """On stderr, before it begins."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    monkeypatch.setattr("ufo_experience.integrations.mcp_server.serve_http", lambda *given: None)
    assert re.search(r"at http://127\.0\.0\.1:\d+/mcp\n", cli("mcp", "--http", "--port", "0").stderr)


def test_a_prompt_says_how_to_report_on_it(cli):
    """By ids; the code in its markers is none."""
    asked = cli("prompt", "Turn on Bluetooth in the settings.")
    command = re.search(r"ufo-experience report (\w+) --success", asked.stderr)
    assert cli("report", command[1], "--success", "--db", "experience_db").stdout == "updated 1\n"


def test_a_failed_run_is_not_approved_in_silence(cli):
    """What is signed off is shown, also as tried and failed."""
    steps = STEP.replace("Send", "Gate")
    cli("remember", "Open the gate", "--steps", steps, "--failure", "--db", "failed_db")
    assert "1 of them failed" in cli("approve", "--trust", "verified", "--db", "failed_db").stderr


def test_why_a_known_way_is_not_followed_is_said(cli):
    """Its last report was a failure: the command line, Python and a recorder's start tell it."""
    cli("remember", "Open the gate", "--steps", STEP.replace("Send", "Gate"), "--success", "--db", "misled_db")
    memory = ExperienceMemory(cli.folder / "misled_db", embedder="hashing")
    memory.report(memory.list(), success=False)
    assert (
        "last report: failed. Once it worked again: ufo-experience report"
        in cli("run", "Open the gate", "--dry-run", "--db", "misled_db", code=77).stdout
    )
    assert Recorder(memory).start("Close the valve").reason


@pytest.mark.parametrize(
    ("name", "said"),
    [("STORE", "did you mean UFO_EXPERIENCE_DB?"), ("MODEL", "UFO_EXPERIENCE_JUDGE or UFO_EXPERIENCE_SUMMARIZER?")],
)
def test_a_variable_of_another_name_is_answered_with_ours(name, said):
    """By what it means; of one that is near none, the warning lists those there are."""
    with pytest.raises(UsageError, match=re.escape(said)):
        load_settings(environment={f"UFO_EXPERIENCE_{name}": "x"})


def test_what_is_no_setting_is_told(tmp_path, monkeypatch, caplog):
    """A variable that is near none, and a settings file under another ending."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ufo_experience.yml").write_text("top_k: 5\n", encoding="utf-8")
    assert load_settings(environment={"UFO_EXPERIENCE_DEBUG": "1"}).top_k == 3
    assert "there are UFO_EXPERIENCE_ and: DB, EMBEDDER" in caplog.text
    assert "ufo_experience.yml is not read: settings stand in ufo_experience.yaml" in caplog.text


@pytest.mark.parametrize(
    ("setting", "said"),
    [("AUDIT", "must be true or false, not 'none.yaml'"), ("CONFIG", "settings file none.yaml: no such file")],
)
def test_a_wrong_value_of_a_variable_is_told_plainly(setting, said):
    """Without words of a parser."""
    with pytest.raises(UsageError, match=re.escape(said)):
        load_settings(environment={f"UFO_EXPERIENCE_{setting}": "none.yaml"})


@pytest.mark.parametrize(
    "control",
    [
        {"text": "Gate", "role": "button"},
        {"label": "Gate", "role": "Button"},
        {"title": "Gate", "kind": "Button"},
        {"label": "7", "control_text": "Gate", "control_type": "Button"},
    ],
)
def test_a_control_is_read_by_the_names_others_give_its_parts(tmp_path, control):
    """The text of a field is its value, of a button its name; a label that is a number is an id."""
    memory = ExperienceMemory(tmp_path / "db", embedder="hashing")
    memory.remember(RUN["task"], RUN["steps"], True)
    assert memory.guide(RUN["task"]).next([control]).target.name == "Gate"


@pytest.mark.parametrize("text", ["off", "no", "false", "'off'"])
def test_a_judge_that_is_off_is_off_however_yaml_reads_it(tmp_path, text):
    """For some readers a bare `off` is the truth value False."""
    (tmp_path / "own.yaml").write_text(f"judge: {text}\n", encoding="utf-8")
    read = load_settings(file=tmp_path / "own.yaml", environment={})
    assert read.judge == "off"


@pytest.mark.parametrize(
    ("words", "found"),
    [("anna", 2), ("ann", 0), ("Anna Friday", 1), ("savannah", 1), ("report", 1), ("\u5b89\u5a1c", 1)],
)
def test_a_search_finds_whole_words(tmp_path, words, found):
    """`purge --search Anna` leaves the savannah alone; a script without blanks has no words to tell apart."""
    memory = ExperienceMemory(tmp_path / "db", embedder="hashing")
    tasks = [
        "Book the savannah trip",
        "Write to Anna on Friday",
        "Open anna_report.docx",
        "\u6253\u5f00\u5b89\u5a1c\u7684\u6587\u4ef6",
    ]
    for task in tasks:
        memory.remember(task, RUN["steps"], True)
    assert len(memory.list(where=RecordFilter(search=words))) == found


NEEDING = {
    "ufo_experience.integrations.langchain": ("langchain", "langchain"),
    "ufo_experience.integrations.openai_agents": ("agents", "openai-agents"),
    "ufo_experience.integrations.browser_use": ("browser_use", "browser-use"),
    "ufo_experience.integrations.pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "ufo_experience.integrations.agent_framework": ("agent_framework", "agent-framework"),
}


@pytest.mark.parametrize("module", NEEDING)
def test_an_adapter_without_its_package_names_the_extra(monkeypatch, module):
    """The package of one of them is called `agents`: by that name nobody would find it."""
    package, extra = NEEDING[module]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ServiceError, match=re.escape(f'pip install "ufo-experience[{extra}]"')):
        import_module(module)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
@pytest.mark.parametrize("package", ["platformdirs", "psycopg"])
def test_a_database_without_its_package_names_the_extra(monkeypatch, package, scheme):
    """Not a traceback, whichever of the two packages is missing."""
    for module in [one for one in sys.modules if one.startswith((package, "ufo_experience.store.postgres"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ServiceError, match=re.escape('pip install "ufo-experience[postgres]"')):
        ExperienceMemory(f"{scheme}://nobody@127.0.0.1:1/none")


def test_the_folder_of_a_store_is_imported_with_what_it_holds(cli):
    """Not by the view of it that UFO reads, which lacks half; into itself it brings nothing."""
    stored = [(one["id"], one["trust"]) for one in cli.json("list")["experiences"]]
    into_itself = cli.json("import", "experience_db")
    assert (into_itself["added"], len(into_itself["skipped"])) == ([], len(stored))
    cli("import", "experience_db", "--restore", "--db", "restored_db")
    restored = cli.json("list", "--db", "restored_db")["experiences"]
    assert [(one["id"], one["trust"]) for one in restored] == stored


@pytest.mark.parametrize("part", ["all", "a record"])
def test_records_of_a_store_are_imported(cli, tmp_path, part):
    """As records: read as logs they would be torn. Into an empty store, quarantined."""
    records = cli.folder / "experience_db" / "records"
    file = next(records.rglob("*.json")) if part == "a record" else records.parent
    count = 1 if part == "a record" else len(list(records.rglob("*.json")))
    done = cli.json("import", file, "--db", tmp_path / "db")
    assert (len(done["added"]), done["skipped"], done["failed"]) == (count, [], [])
    listed = cli.json("list", "--db", tmp_path / "db")["experiences"]
    assert {one["trust"] for one in listed} == {"quarantined"}
    assert {one["id"] for one in listed} <= {one["id"] for one in cli.json("list")["experiences"]}


def test_a_model_that_answers_in_another_form_is_named_in_our_words(cli):
    """Small local models do; the answer says which it was, and comes by words alone."""
    with OpenAIStub(chat=lambda body: {}) as stub:
        env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": stub.url, "UFO_EXPERIENCE_JUDGE": "openai:small"}
        found = cli.json("retrieve", "Turn on Bluetooth in the settings", **env)
    assert found["degraded"] == "the judge could not be asked: small answered in another form than asked"
    assert found["hits"]


def test_a_rebuild_that_cannot_be_made_changes_nothing(cli):
    """Another embedder without its key: the index stays as it was, and answers."""
    cli("ingest", SAMPLES / "settings_bluetooth", "--db", "kept_db")
    cli("index", "--rebuild", "--embedder", "openai:text-embedding-3-small", "--db", "kept_db", code=69)
    found = cli.json("retrieve", "Turn on Bluetooth in the settings", "--db", "kept_db")
    assert (len(found["hits"]), found["degraded"], found["embedder"]) == (1, None, "hashing")
