"""The command line as a user and a program meet it: answers on stdout, problems on stderr, exit codes."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.builders import a_record_of, memory_of
from tests.cli_runner import ENV, Cli, commands
from ufo_experience import ExperienceMemory
from ufo_experience.cli.console import Console, Table
from ufo_experience.cli.learn import learning
from ufo_experience.cli.serve import SAMPLES
from ufo_experience.errors import RefusedError, quoted
from ufo_experience.procedure.cleaning import printable
from ufo_experience.retrieve.answer import SIGNALS
from ufo_experience.schema import Trust


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A folder with a store of the sample sessions, failures included; read only."""
    cli = Cli(tmp_path_factory.mktemp("filled"))
    cli("ingest", SAMPLES, "--include-failures")
    return cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """An empty folder."""
    return Cli(tmp_path)


@pytest.fixture(scope="module")
def samples_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `ingest` leaves of the sample sessions. Not to be changed: `samples` is a copy."""
    cli = Cli(tmp_path_factory.mktemp("samples"))
    cli("ingest", SAMPLES)
    return cli.folder


@pytest.fixture
def samples(samples_once: Path, cli: Cli) -> None:
    """The sample sessions are ingested in the folder of `cli`."""
    shutil.copytree(samples_once, cli.folder, dirs_exist_ok=True)


@pytest.fixture
def samples_with_failures(filled: Cli, cli: Cli) -> None:
    """The same with those that failed."""
    shutil.copytree(filled.folder, cli.folder, dirs_exist_ok=True)


def test_ingest_answers_what_was_added_skipped_and_failed(cli):
    """The contract of `ingest --json`; read again, nothing is added."""
    first = cli.json("ingest", SAMPLES)
    assert set(first) >= {"added", "skipped", "failed", "cost"}
    assert first["added"]
    assert cli.json("ingest", SAMPLES)["added"] == []


def test_one_broken_file_does_not_stop_the_others(cli):
    """It is named, and the rest is learned."""
    broken = cli.folder / "logs" / "broken"
    broken.mkdir(parents=True)
    (broken / "response.log").write_bytes(b"\x00\x01 not a log\n")
    good = cli.folder / "logs" / "good"
    good.mkdir()
    for name in ("response.log", "evaluation.log"):
        (good / name).write_bytes((SAMPLES / "settings_bluetooth" / name).read_bytes())
    answer = cli.json("ingest", cli.folder / "logs")
    assert answer["added"]
    assert "broken" in answer["failed"][0]["source"]


def test_ingesting_nothing_usable_exits_65(cli):
    """A typed error, not an empty success."""
    (cli.folder / "notes.txt").write_text("hello", encoding="utf-8")
    cli("ingest", cli.folder / "notes.txt", code=65)
    cli("ingest", cli.folder / "missing", code=65)


def test_retrieve_answers_hits_above_the_threshold(filled):
    """The contract of `retrieve --json`."""
    answer = filled.json("retrieve", "Turn Bluetooth on", "--application", "Settings")
    assert set(answer) >= {"hits", "degraded", "withheld", "embedder", "threshold"}
    hit = answer["hits"][0]
    assert set(hit) >= {"id", "score", "ranked_by", "task", "application", "steps", "success"}
    assert hit["score"] >= answer["threshold"]
    assert (answer["degraded"], answer["embedder"], hit["success"]) == (None, "hashing", True)


def test_explain_shows_the_parts_of_a_score(filled):
    """Each signal's part."""
    hit = filled.json("retrieve", "Turn Bluetooth on", "--explain")["hits"][0]
    assert {"masked", "record_coverage", "meaning_asked", "recency"} <= hit["explanation"].keys()


def test_prompt_prints_the_block_and_the_ids_in_it(filled):
    """The contract of `prompt --json`; without hits the prompt is the task."""
    answer = filled.json("prompt", "Turn Bluetooth on")
    assert answer["ids"]
    assert answer["tokens"] > 0
    assert 'click "Bluetooth" (Button)' in answer["prompt"]
    task = "Book a one-way flight to Rome"
    nothing = filled.json("prompt", task)
    assert (nothing["prompt"], nothing["ids"], nothing["tokens"]) == (task, [], 0)
    messages = filled.json("prompt", "Turn Bluetooth on", "--format", "messages")["prompt"]
    assert {message["role"] for message in messages} == {"user"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("retrieve", "x", "-k", "0"),
        ("retrieve", "x", "-k", "1000000000"),
        ("retrieve", "x", "-k", "2.5"),
        ("retrieve", "x", "--threshold", "nan"),
        ("retrieve", "x", "--threshold", "2"),
        ("retrieve", "x", "--threshold", "much"),
        ("index", "--embedder", "bert"),
        ("ingest", SAMPLES, "--format", "nonsense"),
        ("ingest", SAMPLES, "--summarizer", "poet"),
        ("nonsense",),
        ("report", "abcd"),
    ],
)
def test_usage_errors_exit_2(filled, arguments):
    """Wrong words or numbers: one line, exit code 2."""
    filled(*arguments, code=2)


def test_a_store_that_is_not_there_is_an_error_not_an_empty_answer(cli):
    """`retrieve` never makes a store."""
    done = cli("retrieve", "x", code=65)
    assert "experience_db" in done.stderr
    assert not (cli.folder / "experience_db").exists()


def test_the_store_is_named_by_option_and_by_environment(filled, cli):
    """--db, UFO_EXPERIENCE_DB, else experience_db."""
    store = filled.folder / "experience_db"
    assert cli.json("list", "--db", store)["experiences"]
    assert cli.json("list", UFO_EXPERIENCE_DB=str(store))["experiences"]


def test_records_are_looked_after_by_id(cli):
    """show, quarantine, approve, remove, with the beginning of an id."""
    identifier = cli.json("ingest", SAMPLES / "settings_bluetooth")["added"][0]
    assert cli.json("show", identifier[:8])["experiences"][0]["id"] == identifier
    assert cli.json("quarantine", identifier[:8])["experiences"][0]["trust"] == "quarantined"
    assert cli.json("approve", identifier)["experiences"][0]["trust"] == "approved"
    assert cli.json("remove", identifier)["experiences"][0]["id"] == identifier
    cli("show", identifier, code=65)
    assert identifier not in [one["id"] for one in cli.json("list")["experiences"]]
    assert identifier not in cli.json("ingest", SAMPLES / "settings_bluetooth")["added"]


@pytest.mark.usefixtures("samples_with_failures")
def test_a_purge_of_the_folder_that_was_read_deletes_what_lay_below_it(cli):
    """Other sources stay; a name that begins alike is another folder."""
    before = len(cli.json("list")["experiences"])
    gone = len(cli.json("purge", "--source", SAMPLES / "outlook_mail")["experiences"])
    assert 0 < gone < before
    assert len(cli.json("list")["experiences"]) == before - gone
    cli("purge", "--source", str(SAMPLES / "excel_filte"), code=65)
    assert len(cli.json("list")["experiences"]) == before - gone


@pytest.mark.usefixtures("samples")
def test_a_purge_that_finds_nothing_exits_65_and_names_what_is_near(cli):
    """An erasure that erased nothing is no success."""
    done = cli("purge", "--source", "samples/excel_filter/respnse.log", code=65)
    assert "no record comes from" in done.stderr
    assert "excel_filter" in done.stderr


@pytest.mark.usefixtures("samples")
def test_report_credits_what_was_injected(cli):
    """The contract of `report --json`."""
    ids = cli.json("prompt", "Turn Bluetooth on")["ids"]
    assert cli.json("report", *ids, "--success", "--session", "s-1")["updated"] == ids
    assert cli.json("show", ids[0])["experiences"][0]["usage"]["helped"] == 1


def test_export_and_import_carry_a_store(filled, cli):
    """Everything arrives, in quarantine."""
    file = cli.folder / "pack.json"
    filled("export", "-o", file)
    answer = cli.json("import", file)
    assert len(answer["added"]) == len(filled.json("list")["experiences"])
    assert {one["trust"] for one in cli.json("list")["experiences"]} == {"quarantined"}


def test_ufos_experience_yaml_goes_out_and_comes_in(filled, cli):
    """UFO's own file format, both ways."""
    file = cli.folder / "experience.yaml"
    filled("export", "--format", "ufo", "-o", file)
    assert cli.json("import", file)["added"]


@pytest.mark.usefixtures("samples")
def test_verify_finds_a_changed_record_and_exits_65(cli):
    """What is no record any more is named by its file."""
    assert cli.json("verify") == {"records": 10, "corrupt": [], "index": "ok"}
    record = next((cli.folder / "experience_db" / "records").rglob("*.json"))
    record.write_bytes(record.read_bytes()[:-20])
    answer = cli.json("verify", code=65)
    assert record.name in answer["corrupt"][0]["file"]


@pytest.mark.usefixtures("samples")
def test_index_reports_what_it_did_and_rebuilds_for_another_embedder(cli):
    """The contract of `index --json`; another embedder is refused without --rebuild."""
    answer = cli.json("index")
    assert set(answer) >= {"records", "embedded", "cached", "requests", "seconds"}
    assert (answer["embedded"], answer["requests"]) == (0, 0)
    assert "--rebuild" in cli("index", "--embedder", "hashing:512", code=65).stderr
    cli("index", "--rebuild", "--embedder", "hashing:512")
    cli("index", "--embedder", "hashing:512")


def test_openai_without_a_key_says_so_and_exits_69(cli):
    """A service that is not configured is no silent fallback when it was asked for."""
    cli("ingest", SAMPLES, "--summarizer", "openai", code=69)


def test_an_unknown_setting_names_the_nearest_one(cli):
    """Typos in the settings file are errors."""
    (cli.folder / "ufo_experience.yaml").write_text("top_kk: 4\n", encoding="utf-8")
    done = cli("list", code=2)
    assert "top_k" in done.stderr


def test_demo_prints_the_prompt_it_built_with_nothing_but_python(cli):
    """No key, no network, nothing left behind."""
    answer = cli.json("demo")
    assert answer["ids"]
    assert list(cli.folder.iterdir()) == []


STEP = '[{"action": "click", "control": "Send", "control_type": "Button"}]'


def test_options_stand_before_or_after_the_command(filled):
    """--db and --json in either place; -v, too."""
    store = filled.folder / "experience_db"
    before = json.loads(filled("--db", store, "--json", "list").stdout)
    assert before == filled.json("list", "--db", store)
    filled("list", "-v")
    filled("-v", "list")


def test_the_version_is_told(cli):
    """What is installed."""
    from ufo_experience import __version__

    assert cli("--version").stdout == f"ufo-experience {__version__}\n"


def test_help_shows_the_commands_in_panels_of_the_pipeline():
    """Every command has its panel, in the order of the pipeline."""
    group = commands()
    names = group.list_commands(None)
    panels = [group.get_command(None, name).rich_help_panel for name in names]
    assert list(dict.fromkeys(panels)) == ["Learn", "Ask", "Look after", "Measure"]
    assert names[:4] == ["ingest", "remember", "import", "index"]
    assert all("-v, --verbose" in group.get_command(None, name).epilog for name in names)


def test_a_run_is_remembered_and_judged_later(cli):
    """One command stores a run; another says how it ended."""
    given = ("--steps", STEP, "--app", "Outlook", "--wording", "Mail the report off")
    stored = cli.json("remember", "Send the report", *given)["experiences"][0]
    assert (stored["success"], stored["trust"]) == (None, "observed")
    assert not cli.json("retrieve", "Send the report")["hits"]
    judged = cli.json("judge", stored["id"][:8], "--success")["experiences"][0]
    assert (judged["success"], judged["trust"]) == (True, "verified")
    assert cli.json("retrieve", "Send", "the", "report")["hits"]
    assert cli.json("retrieve", "Mail the report off")["hits"]
    cli("judge", stored["id"][:8], code=2)


@pytest.mark.parametrize(("steps", "code"), [("[{]", 65), ("[]", 65), ("nowhere.json", 65), ('[{"control": "x"}]', 65)])
def test_steps_that_are_none_are_an_error(cli, steps, code):
    """What is wrong is named."""
    assert cli("remember", "Send it", "--steps", steps, code=code).stderr.startswith("error: ")


@pytest.mark.usefixtures("samples_with_failures")
def test_many_records_are_changed_by_filter_after_a_look(cli):
    """--dry-run says which; without it they are changed."""
    everything = cli.json("list")["experiences"]
    looked = cli.json("quarantine", "--app", "Excel", "--dry-run")
    assert looked["dry_run"]
    assert {one["trust"] for one in cli.json("list")["experiences"]} == {one["trust"] for one in everything}
    done = cli.json("quarantine", "--app", "Excel")
    assert [one["id"] for one in done["experiences"]] == [one["id"] for one in looked["experiences"]]
    assert len(cli.json("list", "--trust", "quarantined")["experiences"]) == len(done["experiences"])
    assert cli.json("approve", "--all")["experiences"]
    assert cli.json("list", "--failure", "--limit", "1")["experiences"][0]["success"] is False
    cli("approve", code=2)
    assert "did you mean" in cli("quarantine", "--app", "Outlok", code=65).stderr


def test_a_removal_can_be_undone_until_it_is_purged(cli):
    """Removed records are out of use, not gone; purged ones are gone."""
    ids = cli.json("ingest", SAMPLES / "settings_bluetooth")["added"]
    cli("approve", *ids)
    cli("remove", "--all")
    assert not cli.json("list")["experiences"]
    back = cli.json("remove", "--undo", *(one[:8] for one in ids))["experiences"]
    assert [(one["id"], one["trust"]) for one in back] == [(one, "approved") for one in ids]
    assert cli.json("retrieve", "Turn on Bluetooth in the settings")["hits"]
    cli("remove", *ids)
    cli("purge", *ids)
    cli("remove", "--undo", ids[0], code=65)
    kept = b"".join(path.read_bytes() for path in (cli.folder / "experience_db").rglob("*") if path.is_file())
    assert b"Bluetooth & devices" not in kept


def test_many_logs_skipped_for_one_reason_are_one_line(cli):
    """A line each would push what matters off the screen."""
    runs = [
        {
            "task": f"Open {n}",
            "success": False,
            "evaluated_by": "user",
            "steps": [{"action": "click", "control": "Save"}],
        }
        for n in range(9)
    ]
    (cli.folder / "runs.json").write_text(json.dumps(runs), encoding="utf-8")
    lines = cli("ingest", "runs.json").stdout.splitlines()
    assert lines == ["0 added, 9 skipped, 0 failed", lines[1]]
    assert lines[1].startswith("  skipped: 9 × a failed run; --include-failures")


def test_no_file_of_a_folder_is_passed_over_in_silence(cli):
    """A log is read whatever its file is called; in what else there is nothing is recognised, and it is counted."""
    run = {"task": "Open it", "steps": [{"action": "click", "control": "Open"}]}
    (cli.folder / "logs").mkdir()
    (cli.folder / "logs" / "agent.txt").write_text(json.dumps(run), encoding="utf-8")
    (cli.folder / "logs" / "notes.txt").write_text("buy milk", encoding="utf-8")
    (cli.folder / "logs" / "screen.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    told = cli("ingest", "logs").stdout
    assert told.startswith("1 added, 0 skipped, 0 failed\nnot read: no log in 2 files (1 .png, 1 .txt)\n")
    (cli.folder / "logs" / "agent.txt").unlink()
    assert "no trace in this folder: no log in 2 files" in cli("ingest", "logs", code=65).stderr
    with zipfile.ZipFile(cli.folder / "logs.zip", "w") as archive:
        archive.writestr("agent.txt", json.dumps({**run, "task": "Open another"}))
        archive.writestr("screen.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert cli("ingest", "logs.zip").stdout.startswith(
        "1 added, 0 skipped, 0 failed\nnot read: no log in 1 file (1 .png)"
    )


def test_what_is_known_already_is_one_line_and_each_with_v(cli):
    """Six thousand lines of it would hide the one that counts."""
    steps = [{"action": "click", "control": "Save"}]
    runs = [{"task": f"Open {n}", "success": True, "evaluated_by": "user", "steps": steps} for n in range(9)]
    (cli.folder / "runs.json").write_text(json.dumps(runs), encoding="utf-8")
    cli("ingest", "runs.json")
    assert cli("ingest", "runs.json").stdout.splitlines()[1:] == ["  skipped: 9 × already stored"]
    assert cli("ingest", "runs.json", "-v").stdout.count("already stored as") == 9


def test_a_log_that_praises_itself_names_the_command_that_judges_it(cli):
    """The command is printed with its ids and works as it stands."""
    run = {"task": "Save it", "application": "Edge", "success": True, "steps": [{"action": "click", "control": "Save"}]}
    (cli.folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    said = cli("ingest", "run.json", "--db", "own").stdout
    command = said.partition("ufo-experience ")[2].split()
    assert command[:1] + command[2:] == ["judge", "--success", "--db", "own"]
    assert cli.json(*command)["experiences"][0]["trust"] == "verified"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"task": ""}, "the task is empty"),
        ({"steps": []}, "there are no steps"),
        ({"task": None, "steps": [], "goal": "x"}, "there are no steps"),
    ],
)
def test_a_run_of_the_plain_format_that_lacks_something_has_failed(cli, row, said):
    """Counted as failed, with its line and what it lacks, among others that are learned."""
    run = {"task": "Save", "application": "Edge", "success": True, "steps": [{"action": "click", "control": "Save"}]}
    (cli.folder / "runs.jsonl").write_text("\n".join(map(json.dumps, (run, {**run, **row}))), encoding="utf-8")
    answer = cli.json("ingest", "runs.jsonl")
    assert (len(answer["added"]), answer["failed"]) == (1, [{"source": "runs.jsonl:2", "error": said}])


def test_a_change_says_what_was_done_and_how_to_take_it_back(cli):
    """On stderr, with the store that was named."""
    cli("ingest", SAMPLES / "settings_bluetooth", "--db", "mine")
    done = cli("remove", "--all", "--db", "mine").stderr
    assert "2 records removed; to bring back: ufo-experience remove --undo 458a381a 6935f48a" in done
    assert done.rstrip().endswith("--db mine")


@pytest.mark.parametrize(("width", "shown"), [(24, "id task"), (60, "id outcome application task"), (200, "all")])
def test_a_narrow_terminal_keeps_the_id_and_the_task(monkeypatch, width, shown):
    """Columns go, the least telling first, instead of being cut away at the left."""
    headers = ("id", "date", "outcome", "trust", "steps", "application", "task")
    row = ("6935f48a", "2026-11-24", "success", "verified", 5, "Outlook.exe", "Send it " * 10)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout", Terminal())
    Console().answer({}, Table(headers, [row]))
    first, second = re.sub(r"\x1b\[[\d;]*m", "", sys.stdout.getvalue()).splitlines()
    assert first.split() == (list(headers) if shown == "all" else shown.split())
    assert second.startswith("6935f48a ")


def test_records_are_listed_by_id_and_by_a_moment_of_any_time_zone(filled):
    """`list` takes ids as the commands that change records do; the hour of a time zone is not taken for UTC."""
    (one,) = filled.json("list", "6935f48a")["experiences"]
    made = datetime.fromisoformat(one["created_at"])
    east = timezone(timedelta(hours=9))
    for moment, found in ((made.astimezone(east), 1), (made.astimezone(east) + timedelta(minutes=1), 0)):
        assert len(filled.json("list", "6935f48a", "--since", moment.isoformat())["experiences"]) == found


def test_show_tells_people_what_was_done(filled):
    """Task, outcome, source, steps; JSON with --json."""
    one = filled.json("list", "--search", "bluetooth")["experiences"][0]
    text = filled("show", one["id"][:8]).stdout
    assert text.startswith(one["request"])
    assert "trust:       verified" in text
    assert '2. click_input "Bluetooth & devices" (ListItem)' in text


def test_stats_and_sources_count_what_is_there(filled):
    """Records by trust, outcome, application; where they came from."""
    told = filled.json("stats")
    assert (
        told["records"]
        == sum(told["outcome"].values())
        == sum(one["records"] for one in filled.json("sources")["sources"])
    )
    assert "helped" in filled("stats").stdout
    assert "response.log" in filled("sources").stdout


@pytest.mark.usefixtures("samples")
def test_verify_says_what_helps(cli):
    """The cure is named, and works."""
    record = next((cli.folder / "experience_db" / "records").rglob("*.json"))
    record.write_bytes(b"rot")
    assert "delete the file" in cli("verify", code=65).stderr
    record.unlink()
    assert cli.json("verify")["corrupt"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retrieve", ""), "the task is empty"),
        (("retrieve", "x", "--threshold", "75"), "did you mean 0.75"),
        (("list", "--db", ""), "db"),
        (("retrieve", "x", "--trust", "high"), "No such option"),
        (("list", "--ap", "Word"), "did you mean --app?"),
        (("list", "--jsn"), "did you mean --json?"),
        (("recommend",), "say the task, or --state"),
    ],
)
def test_usage_errors_say_what_was_meant(filled, arguments, said):
    """Exit code 2 and the likely cure."""
    assert said in filled(*arguments, code=2).stderr


def test_a_variable_that_is_spelled_wrong_is_named(cli):
    """It would be ignored in silence otherwise."""
    assert "UFO_EXPERIENCE_THRESHOLD" in cli("list", code=2, UFO_EXPERIENCE_THRESHHOLD="0.5").stderr


def test_nothing_found_explains_itself(filled, cli):
    """A name spelled wrong, what is held back with the command that releases it, the nearest on request."""
    assert "did you mean" in filled("retrieve", "Turn Bluetooth on", "--app", "SystemSetings").stderr
    assert (
        filled.json("retrieve", "Turn the bluetooth radio of this laptop off and on again", "--near", "3")["near"] != []
    )
    store = cli.folder / "other"
    cli("ingest", SAMPLES / "settings_bluetooth", "--trust", "observed", "--db", store)
    released = cli("retrieve", "Turn on Bluetooth in the settings", "--db", store).stderr
    assert f"--db {store}" in released
    (held, *_) = cli.json("retrieve", "Turn on Bluetooth in the settings", "--db", store)["withheld_records"]
    assert (held["why"], held["application"]) == ("unproven", "SystemSettings.exe")
    assert "would show it" in filled("prompt", "Turn Bluetooth on", "--max-tokens", "20").stderr
    assert "ufo-experience ingest PATH --db nowhere" in cli("list", "--db", "nowhere", code=65).stderr


def test_json_is_whole_in_every_encoding(monkeypatch):
    """Windows gives a pipe the code page of the country; what reads it need not know which."""
    said = {"task": "Zoë, 中文, 😀, Привет"}
    for encoding, as_it_is in (("utf-8", True), ("cp1251", False), ("ascii", False)):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr("sys.stdout", out)
        Console(as_json=True).answer(said, "")
        written = out.detach().getvalue()
        assert (json.loads(written), "Zoë".encode() in written) == (said, as_it_is)


def test_a_reader_that_has_gone_is_no_error(filled):
    """Such as `| more` that was left; all that the program says is what it warns of."""
    command, env = [sys.executable, "-m", "ufo_experience", "list"], ENV | {"UFO_EXPERIENCE_COLOUR_OF_PAGES": "red"}
    with subprocess.Popen(command, cwd=filled.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
        done.stdout.close()
        (warning,) = done.stderr.read().splitlines()
        assert (b"COLOUR_OF_PAGES is no setting" in warning, done.wait()) == (True, 0)


@pytest.mark.parametrize(
    ("system", "location", "shown"),
    [
        ("posix", "/home/me/my db", "'/home/me/my db'"),
        ("nt", r"C:\Users\me\db", r"C:\Users\me\db"),
        ("nt", r"C:\my db", r'"C:\my db"'),
        ("nt", "C:\\my db\\", r'"C:\my db\\"'),
        ("nt", "postgresql://me@db/x?a=1&b=2", '"postgresql://me@db/x?a=1&b=2"'),
    ],
)
def test_a_location_is_quoted_for_the_shell_of_the_system(monkeypatch, system, location, shown):
    """What is copied is what was meant; the shells of Windows know no apostrophes, or keep them."""
    monkeypatch.setattr("ufo_experience.store.files.os.name", system)
    quoted_so = quoted(location)
    monkeypatch.undo()
    assert quoted_so == shown


def test_commands_to_copy_name_the_store_that_was_named(filled):
    """Of `verify`, where the file of vectors is damaged; the command mends it."""
    store = filled.folder / "experience_db"
    filled("index", "--db", store)
    (store / ".index" / "vectors.faiss").write_bytes(b"rot")
    assert f"ufo-experience index --rebuild --db {store}" in filled("verify", "--db", store, code=65).stderr
    filled("index", "--rebuild", "--db", store)
    filled("verify", "--db", store)


def test_what_no_command_releases_is_named_with_the_reason(filled):
    """The opposite of a task is another task: its id is told, and that approval would not change it."""
    done = filled("retrieve", "Turn off Bluetooth in the settings")
    assert "6935f48a 'Turn on Bluetooth in the settings.': another task: nothing to release" in done.stderr
    answer = filled.json("retrieve", "Turn off Bluetooth in the settings")
    assert answer["withheld_records"][0]["remedy"] == "another task: nothing to release"


def test_text_of_a_record_cannot_steer_a_terminal(cli):
    """Escape sequences are shown, not obeyed."""
    steps = json.dumps([{"action": "click", "control": "\x1b]0;owned\x07Send\x9b2J"}])
    cli("remember", "Press \x1b[2J it", "--steps", steps, "--success")
    for shown in (cli("list").stdout, cli("show", cli.json("list")["experiences"][0]["id"]).stdout):
        assert not set("\x1b\x07\x9b") & set(shown)


def test_a_second_import_with_approval_says_what_it_approved(filled, cli):
    """Skipped with a reason, approved with a count."""
    filled("export", "-o", cli.folder / "all.json")
    assert "quarantined until you approve" in cli("import", "all.json").stdout
    again = cli("import", "all.json", "--approve").stdout
    assert again.splitlines() == ["0 added, 12 skipped, 0 failed", "  skipped: 12 × stored already", "12 approved"]


def test_ones_own_export_comes_back_as_it_was(filled, cli):
    """With --restore nothing waits for approval, and the answer does not say so."""
    filled("export", "-o", cli.folder / "all.json")
    assert "quarantined" not in cli("import", "all.json", "--restore").stdout
    assert cli.json("stats")["trust"] == filled.json("stats")["trust"]


@pytest.mark.parametrize("setting", [{}, {"UFO_EXPERIENCE_SUMMARIZER": "extractive"}])
def test_what_a_key_sends_is_said_to_a_person_who_did_not_choose(cli, setting, monkeypatch):
    """At a terminal, of the first `ingest` with a key: what went where, and how to have a model word the logs."""
    monkeypatch.setattr(Console, "is_terminal", True)
    key = {
        "OPENAI_API_KEY": "sk-none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "UFO_EXPERIENCE_EMBEDDER": "hashing",
    }
    said = cli("ingest", SAMPLES / "settings_bluetooth", **key, **setting).stderr
    assert ("sent to http://127.0.0.1:9/v1: nothing" in said) is not bool(setting)


def test_a_store_inside_a_folder_of_logs_is_not_read_as_logs(cli):
    """The records of a store are no traces."""
    cli("ingest", SAMPLES / "settings_bluetooth", "--db", cli.folder / "logs" / "db")
    (cli.folder / "logs" / "note.json").write_text("{}", encoding="utf-8")
    answer = cli.json("ingest", cli.folder / "logs", code=65)
    assert any("an experience store" in one["reason"] for one in answer["skipped"])


@pytest.mark.parametrize(("text", "said"), [('{"a": 1,\n "b": }', "not JSON"), ('{"what": 1}', "it holds what")])
def test_a_file_of_no_known_format_says_what_it_is(cli, text, said):
    """Torn JSON with its line, another shape with its keys and the plain format."""
    (cli.folder / "x.json").write_text(text, encoding="utf-8")
    assert said in cli("ingest", "x.json", code=65).stderr


HOSTILE = "a\x1b[2J\x07\x9b31m\u202eb"


@pytest.mark.parametrize(
    "command",
    [
        ["list"], ["list", "--app", HOSTILE], ["list", HOSTILE], ["list", f"--{HOSTILE}"], [HOSTILE],
        ["retrieve", "open", "--explain", "--near", "3"], ["export"], ["export", "-o", f"no{HOSTILE}/x"], ["sources"],
        ["ingest", HOSTILE], ["purge", "--source", HOSTILE], ["show", HOSTILE], ["index", "--index", HOSTILE],
    ],
)  # fmt: skip
def test_no_text_of_a_record_or_an_argument_moves_the_cursor(command, tmp_path):
    """Control and direction characters are written as escapes, in answers, errors and usage alike."""
    hostile = a_record_of(f"open {HOSTILE}", session=HOSTILE, application=HOSTILE, trust=Trust.APPROVED)
    memory_of(tmp_path / "db", hostile).close()
    done = Cli(tmp_path).try_("--db", tmp_path / "db", *command)
    assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")


def test_what_stands_anywhere_is_told_in_the_help_of_every_command():
    """--db and --json, before or after."""
    group = commands()
    assert all("--db STORE" in group.get_command(None, name).epilog for name in group.commands)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "--since", "yesterday"], "'yesterday' is no date; write 2025-11-12"),
        (["retrieve", "x", "--near", "few"], "must be a whole number"),
        (["report", "6935f48a"], "--success or --failure"),
        (["list", "--db"], "needs the place of a store"),
    ],
)
def test_wrong_words_are_answered_in_ours(filled, arguments, said):
    """What would do is named."""
    assert said in " ".join(filled(*arguments, code=2).stderr.replace("│", " ").split())


def test_the_nearest_are_asked_for_by_their_number(filled):
    """The number is no part of the task."""
    answer = filled.json("retrieve", "Turn the bluetooth radio of this laptop off and on again", "--near", "2")
    assert len(answer["near"]) == 2


def test_a_path_that_is_spelled_wrong_leaves_no_store(cli):
    """An empty store would look like one that learned nothing."""
    assert "no such file or folder" in cli("ingest", "lgos", code=65).stderr
    assert list(cli.folder.iterdir()) == []


def test_demo_keeps_what_it_learned_where_it_is_told_to(cli):
    """To be asked further; without --db nothing is left."""
    cli("demo")
    assert list(cli.folder.iterdir()) == []
    cli("demo", "--db", "kept")
    assert cli.json("retrieve", "Turn on Bluetooth", "--db", "kept")["hits"]


def test_everything_is_erased_only_for_who_says_so(cli):
    """Where nobody can be asked, --yes says it; a dry run asks nobody."""
    cli("ingest", SAMPLES / "settings_bluetooth")
    assert "Erase 2 records of" in cli("purge", "--all", code=77).stderr
    assert len(cli.json("purge", "--all", "--dry-run")["experiences"]) == 2
    assert len(cli.json("purge", "--all", "--yes")["experiences"]) == 2


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "refused"), [("y\n", False), ("\n", True), ("no\n", True)])
def test_at_a_terminal_the_person_is_asked(monkeypatch, answer, refused):
    """Only a yes is one."""
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    asked = Terminal()
    monkeypatch.setattr("sys.stderr", asked)
    with pytest.raises(RefusedError, match="nothing was changed") if refused else nullcontext():
        Console().confirm("Erase 2 records?")
    assert asked.getvalue() == "Erase 2 records? [y/N] "


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ingest", SAMPLES, "--success", "--failure"], "contrary"),
        (["judge", "6935", "--failure", "--success"], "contrary"),
        (["retrieve", "Turn on Bluetooth", "--app", ""], "is a variable not set?"),
        (["prompt", "Turn on Bluetooth", "--env", " "], "is a variable not set?"),
        (["remove", "--source", ""], "is a variable not set?"),
        (["ingest", SAMPLES, "--app", ""], "is a variable not set?"),
        (["remember", "Send it", "--steps", "[]", "--app", ""], "is a variable not set?"),
        (["report", "6935f48a", "--success", "--session", ""], "is a variable not set?"),
        (["show", "6935f48a3e7f3f16f49b2993cde6d011"[:3]], "too short: give at least 4 digits"),
    ],
)
def test_what_says_nothing_or_the_contrary_is_refused(filled, arguments, said):
    """An empty option is a variable that is not set, never a filter."""
    assert said in " ".join(filled(*arguments, code=2).stderr.replace("│", " ").split())


def test_work_that_was_stopped_says_what_was_kept_and_how_to_go_on(filled, capsys):
    """Ctrl-C ends with 130, as ever."""
    memory = ExperienceMemory.open(filled.folder / "experience_db")
    with pytest.raises(SystemExit, match="130"), learning(Console(), memory):
        raise KeyboardInterrupt
    memory.close()
    said = capsys.readouterr().err
    assert "stopped: 0 records of this run kept. The same command again goes on" in said
    assert "ufo-experience index" in said


def test_what_was_learned_before_a_service_without_tls_was_refused_is_told(cli):
    """And the option that allows it may stand after the command, too."""
    service = {"OPENAI_BASE_URL": "http://models.internal:9", "UFO_EXPERIENCE_EMBEDDER": "openai:minilm"}
    refused = cli("ingest", SAMPLES / "word_table", "--summarizer", "extractive", code=77, **service).stderr
    assert "--allow-http-service" in refused
    allowed = cli.try_(
        "ingest", SAMPLES / "word_table", "--summarizer", "extractive", "--allow-http-service", **service
    )
    assert allowed.exit_code != 77
    assert "--allow-http-service" not in allowed.stderr


def test_an_application_that_nobody_knows_is_told(filled):
    assert "did you mean SystemSettings.exe?" in filled("list", "--app", "Setings").stderr


def test_a_second_report_of_a_session_says_that_the_first_counts(cli):
    """It changes nothing, and does not keep that to itself."""
    cli("ingest", SAMPLES / "settings_bluetooth")
    first = ["report", "6935f48a", "--session", "s1"]
    cli(*first, "--success")
    done = cli(*first, "--failure")
    assert (done.stdout, "session 's1' was reported before; the first" in done.stderr) == ("updated 0\n", True)
    assert cli.json(*first, "--failure")["left_out"][0]["id"].startswith("6935f48a")


def test_a_tilde_is_the_home_folder_wherever_it_stands(cli):
    """A shell leaves it alone in quotes, and nobody else reads a settings file."""
    home = str(cli.folder / "home")
    (cli.folder / "ufo_experience.yaml").write_text("db: ~/mem\n", encoding="utf-8")
    cli("ingest", SAMPLES / "settings_bluetooth", HOME=home, USERPROFILE=home)
    assert cli.json("stats", "--db", "~/mem", HOME=home, USERPROFILE=home)["records"] == 2
    assert not (cli.folder / "~").exists()


@pytest.mark.usefixtures("samples")
def test_a_damaged_record_is_told_of_by_every_command_that_leaves_it_out(cli):
    """Each time, not only the first."""
    torn = next((cli.folder / "experience_db" / "records").glob("*/*.json"))
    torn.write_bytes(torn.read_bytes()[:300])
    for command in (
        ["list"],
        ["stats"],
        ["retrieve", "Turn on Bluetooth"],
        ["export", "--output", "e.json"],
        ["index"],
    ):
        assert torn.name in cli(*command).stderr, command


@pytest.mark.usefixtures("samples")
def test_damaged_events_are_told_of_by_every_command(cli):
    """Each time, not only the first."""
    (cli.folder / "experience_db" / "events.jsonl").write_text("gar{bage\n")
    for command in (["list"], ["stats"], ["retrieve", "Turn on Bluetooth"], ["export", "--output", "e.json"]):
        assert "events.jsonl:1" in cli(*command).stderr, command


@pytest.mark.usefixtures("samples")
def test_a_record_edited_by_hand_is_for_a_person(cli):
    """`verify` names what to do, and it is not to be deleted."""
    record = next((cli.folder / "experience_db" / "records").glob("*/*.json"))
    record.write_text(record.read_text(encoding="utf-8").replace('"click', '"press', 1), encoding="utf-8")
    said = cli("verify", code=65).stderr
    assert ("ufo-experience approve " in said, "delete" in said) == (True, False)


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(filled):
    """Not the temporary one beside it."""
    done = filled("export", "-o", filled.folder / "nowhere" / "x.json", code=73)
    assert ("x.json" in done.stderr, ".tmp" in done.stderr) == (True, False)


def test_a_settings_file_that_is_no_yaml_is_answered_in_our_words(cli):
    """File and line."""
    (cli.folder / "ufo_experience.yaml").write_text("top_k: 3\ndb: [a\n")
    assert "ufo_experience.yaml:3: lines of `name: value` are expected" in cli("list", code=2).stderr


def test_a_variable_that_is_no_setting_is_named(filled):
    """It is ignored, and not in silence."""
    said = filled("stats", UFO_EXPERIENCE_MIN_TRUST_IMPORTED="approved").stderr
    assert said.count("UFO_EXPERIENCE_MIN_TRUST_IMPORTED is no setting") == 1


def test_other_wordings_of_a_task_are_shown(cli):
    """As the page and the question before an approval show them."""
    steps = '[{"action": "click", "control": "Rotate"}]'
    cli("remember", "Rotate the photo", "--steps", steps, "--wording", "Turn the photo", "--success")
    (one,) = cli.json("list")["experiences"]
    assert "Turn the photo" in cli("show", one["id"]).stdout


def test_look_again_says_why_and_what_to_do(cli):
    """In the list; `stats` leads there."""
    cli("ingest", SAMPLES / "settings_bluetooth")
    cli("report", "6935f48a", "--failure", "--session", "s1")
    said = cli("list").stderr
    assert "look again: 6935f48a did not work when it was last followed" in said
    assert "ufo-experience show ID" in said
    assert "that last did not work; which, and what to do: ufo-experience list" in cli("stats").stdout


def test_a_port_without_http_is_refused(filled):
    """It would be ignored otherwise."""
    assert "--http" in filled("mcp", "--port", "8100", code=2).stderr


@pytest.mark.usefixtures("samples")
def test_a_threshold_of_variable_or_file_counts(cli):
    """As the option does; `stats` tells it."""
    assert "Turn on" in cli("retrieve", "Turn on Bluetooth").stdout
    (cli.folder / "ufo_experience.yaml").write_text("threshold: 0.999\n")
    assert "threshold of 0.999" in cli.try_("retrieve", "Turn on Bluetooth").output
    assert "threshold 0.999" in cli("stats").stdout


def test_hidden_characters_read_back_from_json_as_they_were():
    """Also those behind the first 65,536: shown as escapes, never as others."""
    hidden = "Save\U000e0041 the\u202e file"
    assert printable(json.dumps(hidden, ensure_ascii=False)).isascii()
    assert json.loads(printable(json.dumps(hidden, ensure_ascii=False))) == hidden


@pytest.mark.usefixtures("samples")
def test_what_was_removed_is_listed(cli):
    """Where an id of it is wrong, that list is named."""
    (first, *_) = cli.json("list")["experiences"]
    cli("remove", first["id"])
    assert [one["id"] for one in cli.json("list", "--removed")["experiences"]] == [first["id"]]
    assert "ufo-experience list --removed" in cli("remove", "--undo", "feedfeed", code=65).stderr


def test_a_format_is_named_in_any_case(cli):
    (cli.folder / "run.json").write_text(
        json.dumps({"task": "Open it", "steps": [{"action": "click", "control": "Open"}]})
    )
    assert cli.json("ingest", "run.json", "--format", "Plain")["added"]


def test_actions_are_recommended_for_a_task_alone(filled):
    """The state is an object where it says more."""
    (by_task,) = filled.json("recommend", "Turn on Bluetooth in the settings")["actions"]
    (by_state,) = filled.json("recommend", "--state", '{"task": "Turn on Bluetooth in the settings"}')["actions"]
    assert by_task["signature"] == by_state["signature"]


def test_a_folder_in_which_nothing_can_be_read_fails_as_one_file_does(cli):
    """Beside a log that is read, what is none is passed over."""
    (cli.folder / "logs").mkdir()
    (cli.folder / "logs" / "own.json").write_text('{"what": 1}', encoding="utf-8")
    assert len(cli.json("ingest", "logs", code=65)["failed"]) == 1
    run = {"task": "Open it", "steps": [{"action": "click", "control": "Open"}]}
    (cli.folder / "logs" / "run.json").write_text(json.dumps(run), encoding="utf-8")
    done = cli.json("ingest", "logs")
    assert (len(done["added"]), len(done["skipped"])) == (1, 1)


def test_a_task_without_a_known_way_ends_a_run_as_a_stop_does(filled):
    """Exit code 77, with or without steps to be shown."""
    assert filled.json("run", "Fly to Mars", code=77)["known"] is False
    filled("run", "Fly to Mars", "--dry-run", code=77)


@pytest.mark.usefixtures("samples")
def test_why_a_record_was_set_aside_is_shown(cli):
    """Without secrets."""
    (first, *_) = cli.json("list")["experiences"]
    cli("quarantine", first["id"], "--reason", "it clicked the wrong row")
    assert "quarantined (it clicked the wrong row)" in cli("show", first["id"]).stdout


@pytest.mark.usefixtures("samples")
def test_deleted_events_are_told_of(cli):
    """By the next command once, and by `verify` until they are back or others are written."""
    cli("approve", "--all")
    events = cli.folder / "experience_db" / "events.jsonl"
    kept = events.read_bytes()
    events.unlink()
    assert "events.jsonl: deleted since it was read" in cli("list").stderr
    assert "deleted" not in cli("list").stderr
    assert "deleted since it was read" in cli("verify", code=65).stderr
    events.write_bytes(kept)
    cli("verify")
    assert {one["trust"] for one in cli.json("list")["experiences"]} >= {"approved"}
    events.unlink()
    cli("approve", "--all")
    cli("verify")


@pytest.mark.usefixtures("samples")
def test_a_torn_record_does_not_stop_the_import_of_the_others(cli):
    """It is named."""
    torn, *others = sorted((cli.folder / "experience_db" / "records").rglob("*.json"))
    torn.write_bytes(torn.read_bytes()[:300])
    done = cli.json("import", "experience_db", "--db", "new", code=65)
    assert len(done["added"]) == len(others)
    assert torn.name in done["failed"][0]["source"]


def test_an_import_that_knows_all_says_what_still_waits(filled, cli):
    """And how it is approved."""
    filled("export", "--output", cli.folder / "all.json")
    cli("import", "all.json")
    assert "quarantined until you approve them" in cli("import", "all.json", "--restore").stdout


def test_every_signal_is_explained(filled):
    """`--explain` says in words what each number is."""
    for asked in (["Turn Bluetooth on"], ["Book a flight", "--near", "2"]):
        answer = filled.json("retrieve", *asked, "--explain")
        for hit in [*answer["hits"], *answer["near"]]:
            assert hit["explanation"].keys() <= SIGNALS.keys()
    assert "how much of the record's task is asked for" in filled("retrieve", "Turn Bluetooth on", "--explain").stderr


@pytest.mark.usefixtures("samples")
def test_a_store_without_an_index_says_that_a_question_makes_it(cli):
    """Nothing is wrong with a clone, which brings none."""
    shutil.rmtree(cli.folder / "experience_db" / ".index")
    assert "not made yet: the next question makes it" in cli("stats").stdout
    cli("retrieve", "Turn on Bluetooth")
    assert "records embedded" in cli("stats").stdout
