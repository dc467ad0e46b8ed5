"""Factory, pool and task status: the right session for platform and mode, and a batch that nothing stops."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.session_parts import CONTINUE, Desktop, ScriptedAgent, act, assign, click, config, parts
from ufo_experience.errors import DataError, UsageError
from ufo_experience.session import (
    AgentError,
    Decision,
    LinuxBaseSession,
    SessionFactory,
    SessionPool,
    TaskStatus,
    WindowsBaseSession,
)


def write_plans(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        actions = [{"action": "click_input", "parameters": {}}]
        (folder / f"{name}.json").write_text(json.dumps({"request": name, "actions": actions}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("platform", "mode", "kind"),
    [
        ("windows", "normal", "Session"),
        ("windows", "normal_operator", "Session"),
        ("windows", "service", "ServiceSession"),
        ("windows", "follower", "FollowerSession"),
        ("windows", "batch_normal", "FromFileSession"),
        ("windows", "operator", "OpenAIOperatorSession"),
        ("linux", "normal", "LinuxSession"),
        ("linux", "normal_operator", "LinuxSession"),
        ("linux", "service", "LinuxServiceSession"),
    ],
)
def test_the_factory_makes_the_type_of_platform_and_mode(tmp_path, platform, mode, kind):
    """All seven types, over both platforms."""
    plan = write_plans(tmp_path / "plans", "a") / "a.json"
    factory = SessionFactory(lambda task: parts(tmp_path))
    extra = {"task_protocol": object()} if mode == "service" else {}
    [session] = factory.create_session("t", mode, plan, "Do it", platform=platform, id=3, **extra)
    assert (session.session_type, session.id, session.task) == (kind, 3, "t")
    bases = {"windows": WindowsBaseSession, "linux": LinuxBaseSession}
    assert [name for name, base in bases.items() if isinstance(session, base)] == [platform]


@pytest.mark.parametrize(
    ("platform", "mode", "message"),
    [
        ("linux", "follower", "no mode 'follower' on linux: modes are normal"),
        ("windows", "fast", "no mode 'fast'"),
        ("beos", "normal", "platforms are windows, linux"),
        ("windows", "service", "needs task_protocol"),
        ("windows", "follower", "no plan at ''"),
    ],
)
def test_what_the_factory_cannot_make_it_names(tmp_path, platform, mode, message):
    """With what there is instead."""
    with pytest.raises(UsageError, match=message):
        SessionFactory(lambda task: parts(tmp_path)).create_session("t", mode, platform=platform)


def test_a_folder_of_plans_is_a_session_each(tmp_path):
    """In order of name, each with parts of its own; a status file among them is none."""
    folder = write_plans(tmp_path / "plans", "b", "a")
    (folder / "tasks_status.json").write_text("{}", encoding="utf-8")
    asked = []

    def make(task):
        asked.append(task)
        return parts(tmp_path)

    sessions = SessionFactory(make).create_session("mail", "batch_normal", folder, platform="windows")
    assert [session.task for session in sessions] == asked == ["mail/a", "mail/b"]
    with pytest.raises(UsageError, match=r"no \.json file"):
        SessionFactory(make).create_session("mail", "batch_normal", tmp_path / "logs", platform="windows")


def test_one_bad_file_does_not_stop_a_batch(tmp_path):
    """It is a failed task; alone it is an error."""
    folder = write_plans(tmp_path / "plans", "a", "b")
    (folder / "a.json").write_text("{", encoding="utf-8")
    status = TaskStatus(tmp_path / "status.json")
    factory = SessionFactory(lambda task: parts(tmp_path), status=status)
    sessions = factory.create_session("t", "batch_normal", folder, platform="windows")
    assert [session.task for session in sessions] == ["t/b"]
    assert json.loads(status.path.read_text("utf-8")) == {"t/a": "failed"}
    with pytest.raises(DataError):
        factory.create_session("t", "batch_normal", folder / "a.json", platform="windows")


def test_one_failing_session_never_stops_the_others(tmp_path):
    """A session that raises, one in error, and two that work: four reports in order, and who is to be tried again."""
    folder = write_plans(tmp_path / "plans", "a", "b", "c", "d")
    status = TaskStatus(tmp_path / "status.json")

    def make(task):
        made = parts(tmp_path, [act(click("Go"))], [assign("go")])
        if task == "t/b":
            return replace(made, app_agent=ScriptedAgent([AgentError("down")] * 3))
        if task == "t/c":
            return replace(made, evaluator=Unprintable())
        return made

    class Unprintable:
        def evaluate(self, request, log_path, eva_all_screenshots, context):
            return {"complete": "yes"}, 0.0

        def print_response(self, result):
            raise ZeroDivisionError("no printer")

    factory = SessionFactory(make, status=status)
    pool = SessionPool(factory.create_session("t", "batch_normal", folder, platform="windows"), status=status)
    reports = asyncio.run(pool.run_all())
    assert [report.error is None for report in reports] == [True, False, False, True]
    assert "no printer" in reports[2].error
    assert status.failed() == ["t/b", "t/c"]
    again = SessionFactory(make, status=TaskStatus(tmp_path / "status.json"))
    assert [s.task for s in again.create_session("t", "batch_normal", folder, platform="windows")] == ["t/b", "t/c"]


def test_no_more_sessions_run_at_a_time_than_asked(tmp_path):
    """Two at a time: never three, and not one after the other."""
    now, most = 0, 0

    class Busy(ScriptedAgent):
        async def act(self, turn):
            nonlocal now, most
            now, most = now + 1, max(most, now + 1)
            await asyncio.sleep(0.01)
            now -= 1
            return await super().act(turn)

    def make(task):
        return replace(parts(tmp_path), app_agent=Busy([Decision(CONTINUE)]))

    factory = SessionFactory(make)
    sessions = [factory.create_session(f"t{n}", "normal", request="x", platform="linux")[0] for n in range(6)]
    asyncio.run(SessionPool(sessions, max_parallel=2).run_all())
    assert most == 2
    with pytest.raises(UsageError):
        SessionPool([], max_parallel=0)


def test_sessions_are_added_and_taken_in_order(tmp_path):
    """next_session takes the first out of the pool; an empty pool gives None."""
    factory = SessionFactory(lambda task: parts(tmp_path, desktop=Desktop()))
    one, two = (factory.create_session(name, request="x", platform="linux")[0] for name in "ab")
    pool = SessionPool([one])
    pool.add_session(two)
    assert pool.session_list == [one, two]
    assert [pool.next_session(), pool.next_session(), pool.next_session()] == [one, two, None]


def test_the_status_file_survives(tmp_path):
    """Read again it says the same; a task that was running when its process died is to be tried again."""
    status = TaskStatus(tmp_path / "s.json")
    for task, state in (("a", "running"), ("a", "failed"), ("a", "running"), ("a", "done"), ("b", "running")):
        status.set(task, state)
    again = TaskStatus(tmp_path / "s.json")
    assert (again.is_done("a"), again.is_done("b"), again.failed()) == (True, False, ["b"])


def test_the_status_file_is_safe_from_many_threads(tmp_path):
    """Forty tasks from eight threads are all in the file."""
    status = TaskStatus(tmp_path / "s.json")

    def work(start):
        for number in range(start, start + 5):
            status.set(str(number), "running")
            status.set(str(number), "done")

    threads = [threading.Thread(target=work, args=(start,)) for start in range(0, 40, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(TaskStatus(tmp_path / "s.json").is_done(str(number)) for number in range(40))


@pytest.mark.parametrize("text", ["[1]", '{"a": "fine"}'])
def test_a_file_that_is_no_status_is_refused(tmp_path, text):
    """And left as it is."""
    (tmp_path / "s.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="not a status file"):
        TaskStatus(tmp_path / "s.json")


def test_config_limits_reach_every_session(tmp_path):
    """What the parts say of steps holds for a session of a pool too."""
    settings = config(tmp_path, max_step=2)
    factory = SessionFactory(lambda task: parts(tmp_path, [act(click("A"))] * 9, config=settings))
    [session] = factory.create_session("t", request="x", platform="linux")
    asyncio.run(SessionPool([session]).run_all())
    assert session.step == 2
