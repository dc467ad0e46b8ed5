"""Two hundred hostile names as ids, sessions, sources and screenshots; none ever becomes a path."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.builders import a_record, open_memory
from ufo_experience import ExperienceError, ExperienceMemory

UPS = ["../", "../../", "..\\", "..\\..\\", "./../", ".//..//", "%2e%2e/", "%2e%2e%2f", "..%2f", "..%5c",
       "%252e%252e%252f",
       "..\u2215", "..\uff0f", "\uff0e\uff0e/", "....//", "..;/", "..\x00/", "../\u202e", "~/", "~root/"]  # fmt: skip
TARGETS = ["canary", "etc/passwd", "records/x.json", "store.json", "canary/deep.json"]
DEVICES = "CON PRN AUX NUL COM1 COM9 LPT1 LPT9 CONIN$ CLOCK$".split()
OTHERS = [
    "", " ", ".", "..", "...", "/", "\\", "//", "\\\\", "-rf", "--help", "a\nb", "a\rb", "a\tb", "a\0b",
    "\ud800", "x" * 300,
    "é" * 200, "e\u0301" * 100, "a.", "a ", ".hidden", ".tmp", ".x.tmp", "*.json", "?", "<a>", "a|b", 'a"b',
    "a:b", "a::$DATA",
    "C:", "C:\\x", "C:x", "c:/x", "\\\\host\\share\\x", "//host/share/x", "\\\\?\\C:\\x", "\\\\.\\pipe\\x",
    "file:///etc/passwd",
    "http://evil.test/x", "data:,x", "$HOME/x", "${HOME}", "%APPDATA%\\x", "`id`", "$(id)", ";id", "|id",
    "&&id", "{{x}}", "{0}",
    "%s", "%00", "\x1b[31m", "\u200b", "\ufeff", "／etc／passwd", "0" * 32 + "/", "../" * 50 + "etc/passwd",
    "lock", ".lock",
    "a/b", "a\\b", "a/../b", "a/./b", "/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/fd/0",
    "CURRENT", "index",
    "records", "tombstones", "\u2025/", "canary\\..\\x"
]  # fmt: skip


def names(folder: Path) -> list[str]:
    """The list; `folder` is what the absolute ones aim at."""
    climbing = [up + target for up in UPS for target in TARGETS]
    absolute = [str(folder / target) for target in TARGETS] + [f"file://{folder}/canary"]
    devices = [form for one in DEVICES for form in (one, f"{one.lower()}.txt")]
    return [*climbing, *absolute, *devices, *OTHERS]


LOG = re.compile(r"run\d+\.json")


class Watch:
    """Every path this process asks the system to open, make, move, list or remove, while it is on."""

    EVENTS = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.listdir",
                        "os.scandir", "os.truncate", "os.utime", "os.chmod", "shutil.rmtree"})  # fmt: skip

    def __init__(self) -> None:
        self.on, self.paths = False, set[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.on and event in self.EVENTS:
            self.paths |= {os.fsdecode(one) for one in arguments if isinstance(one, str | bytes | os.PathLike)}

    @contextmanager
    def listening(self) -> Iterator[None]:
        self.on = True
        try:
            yield
        finally:
            self.on = False


@pytest.fixture(scope="session")
def watch() -> Watch:
    """Made when it is needed: what hears of audit events is there, and called at each, until the process ends."""
    return Watch()


def calls(memory: ExperienceMemory, name: str) -> tuple[Callable[[], object], ...]:
    """What takes the id of a record or the name of a session."""
    return (
        lambda: memory.store.get(name),
        lambda: memory.store.set_status(name),
        lambda: memory.store.remove([name]),
        lambda: memory.purge(name),
        lambda: memory.report([name], success=True, session=name),
        lambda: memory.retrieve(name, application=name, env=name, exclude_session=name, only=[name]),
    )


def use(memory: ExperienceMemory, folder: Path, names: list[str]) -> None:
    """Hand names in everywhere a name is taken; refusing them is fine."""
    entries, logs = [], []
    for place, name in enumerate(names):
        source = {"source": name, "session": name, "origin": "log"}
        entries.append({**a_record(100 + place).model_dump(mode="json"), "id": name, "provenance": source})
        step = {"action": "click", "control": name[:400], "screenshot": name, "image": name}
        run = {"task": f"Save page {place}", "task_id": name, "session_id": name, "id": name, "screenshot": name}
        logs.append(folder / f"run{place}.json")
        logs[-1].write_text(json.dumps({**run, "steps": [step]}), encoding="utf-8")
    memory.import_json(json.dumps({"experiences": entries}))
    memory.ingest(*logs, force=True)
    for name in names:
        for call in calls(memory, name):
            with suppress(ExperienceError):
                call()


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_no_foreign_name_becomes_a_path(every, tmp_path, watch):
    """200 names, Windows' rules among them: nothing outside is opened, and all files of the store have our names."""
    (tmp_path / "canary").write_text("do not touch", encoding="utf-8")
    inside = tmp_path / "work" / "db"
    inside.parent.mkdir()
    memory = open_memory(inside)
    memory.store.add([a_record(7)])
    memory.index()
    use(memory, inside.parent, ["first"])  # imports and reads what belongs to the package itself
    hostile = names(tmp_path)
    assert len(hostile) >= 200
    watch.paths.clear()
    with watch.listening():
        use(memory, inside.parent, hostile[::every])
    package = {Path(sys.prefix).resolve(), Path(__file__).resolve().parents[1], Path(os.__file__).resolve().parent}
    mine = {inside.resolve(), *package, *(Path(one).resolve() for one in sys.path)}
    foreign = [
        path
        for path in (Path(os.path.abspath(one)) for one in watch.paths)
        if not LOG.fullmatch(path.name)
        and path != inside.parent
        and not any(path.is_relative_to(root) for root in mine)
    ]
    assert foreign == []
    assert any(path.endswith(".json") for path in watch.paths)
    known = re.compile(
        r"(?:records|removed)/[a-z0-9-]+/[a-z0-9-]+-[0-9a-f]{8}\.json|store\.json|events\.jsonl|\.key|\.lock|\.gitignore"
        r"|experience\.yaml|audit\.jsonl|\.audit\.lock|\.index/[\w.-]+"
    )
    written = [path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file()]
    assert [path for path in written if not known.fullmatch(path)] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["canary", "work"]
    assert (tmp_path / "canary").read_text(encoding="utf-8") == "do not touch"
    assert memory.get(a_record(7).id).state == a_record(7).state


def test_the_watch_hears_what_it_watches_for(tmp_path, watch):
    """It is no watch that hears nothing."""
    watch.paths.clear()
    with watch.listening():
        (tmp_path / "x").write_text("1", encoding="utf-8")
        (tmp_path / "x").unlink()
        os.listdir(tmp_path)
        with pytest.raises(FileNotFoundError):
            (tmp_path / "nothing").read_bytes()
    assert {str(tmp_path / "x"), str(tmp_path), str(tmp_path / "nothing")} <= watch.paths
