"""The session's classes beside UFO's own, read from its source: the same names, and where both can run, the same
answers. Needs UFO's archive and none of its packages: `pytest -m ufo tests/ufo/test_names.py`.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tarfile
from types import ModuleType
from typing import Any

import pytest

from tests.ufo.test_session import THIRD_PARTY
from ufo_experience import session as ours

pytestmark = pytest.mark.ufo

# Where UFO's classes stand, by the names they have here too.
CLASSES = {
    "ufo/agents/memory/memory.py": ("Memory", "MemoryItem"),
    "ufo/agents/memory/blackboard.py": ("Blackboard", "ImageMemoryItem", "ImageMemoryItemNames"),
    "ufo/module/basic.py": ("BaseRound", "BaseSession"),
    "ufo/module/context.py": ("Context",),
    "ufo/module/dispatcher.py": ("LocalCommandDispatcher", "WebSocketCommandDispatcher"),
    "ufo/module/session_pool.py": ("SessionFactory", "SessionPool"),
    "ufo/module/sessions/platform_session.py": ("LinuxBaseSession", "WindowsBaseSession"),
    "ufo/module/sessions/session.py": ("FollowerSession", "FromFileSession", "OpenAIOperatorSession", "Session"),
    "ufo/module/sessions/service_session.py": ("ServiceSession",),
    "ufo/module/sessions/linux_session.py": ("LinuxServiceSession", "LinuxSession"),
}
# What UFO has and its documents do not name: Windows itself, its own files, sockets and agents.
NOT_HERE = {
    "BaseRound": {
        *("application_window", "application_window_info", "capture_last_snapshot", "evaluation", "log_path"),
        *("print_cost", "save_ui_tree", "subtask_amount"),
    },
    "Context": {
        *("add_to_structural_logs", "filter_structural_logs", "from_dict", "to_dict", "update_dict"),
        *("current_round_cost", "current_round_step", "current_round_subtask_amount"),
    },
    "FromFileSession": {
        *("get_app_com", "get_app_name", "record_task_done", "setup_application_environment"),
        "terminate_application_processes",
    },
    "OpenAIOperatorSession": {"refine_request"},
    "LocalCommandDispatcher": {"generate_error_results"},
    "WebSocketCommandDispatcher": {"make_server_response", "register_observer", "set_result"},
    "SessionFactory": {
        *("create_follower_session_in_batch", "create_service_session", "create_sessions_in_batch"),
        *("get_file_name_without_extension", "get_plan_files", "is_folder"),
    },
}
# Arguments that are given otherwise here, each with its reason in docs/names.md.
OTHER_ARGUMENTS = {
    ("BaseRound", "__init__"),
    ("LocalCommandDispatcher", "__init__"),
    ("WebSocketCommandDispatcher", "__init__"),
    ("SessionFactory", "create_session"),
}


@pytest.fixture(scope="module")
def source() -> dict[str, str]:
    """UFO's files by their paths."""
    archives = sorted(THIRD_PARTY.glob("microsoft-UFO-*.tar.gz"))
    if not archives:
        pytest.skip(f"no microsoft-UFO-*.tar.gz in {THIRD_PARTY}")
    with tarfile.open(archives[-1]) as archive:
        files = {one.name.partition("/")[2]: archive.extractfile(one) for one in archive if one.isfile()}
        return {name: file.read().decode("utf-8") for name, file in files.items() if file and name in CLASSES}


def public_methods(text: str, name: str) -> dict[str, list[str]]:
    """The public methods and properties of a class in a source, and what they take."""
    [found] = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name]
    methods = [node for node in found.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    shown = [one for one in methods if not one.name.startswith("_") or one.name == "__init__"]
    return {one.name: [argument.arg for argument in one.args.args if argument.arg != "self"] for one in shown}


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in CLASSES.items() for name in names])
def test_a_class_of_ufo_has_its_names_here(source, file, name):
    """Each public method and property, with the arguments UFO gives it, in UFO's order."""
    here = getattr(ours, name)
    made = {*dir(here), *made_attributes(here)}
    wanted = public_methods(source[file], name)
    assert {one for one in wanted if one not in made} - NOT_HERE.get(name, set()) == set()
    for method, arguments in wanted.items():
        mine = getattr(here, method, None)
        if callable(mine) and (name, method) not in OTHER_ARGUMENTS and method not in NOT_HERE.get(name, ()):
            assert [one for one in inspect.signature(mine).parameters if one in arguments] == arguments, method


def made_attributes(kind: type) -> set[str]:
    """The attributes that the constructors and `reset` of a class and its bases here assign."""
    found = set()
    for one in (base for base in kind.__mro__ if base.__module__.startswith(ours.__name__)):
        tree = ast.walk(ast.parse(inspect.getsource(one)))
        nodes = (node for node in tree if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        found |= {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == "self"}
    return found


@pytest.fixture
def theirs(source, monkeypatch) -> ModuleType:
    """UFO's module of Memory, and its Blackboard without the configuration it reads."""

    class Nothing(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return Nothing(name)

        def __call__(self, *args: Any) -> Any:
            return self

        def __bool__(self) -> bool:
            return False

    memory = ModuleType("ufo.agents.memory.memory")
    for name in ("ufo", "ufo.utils", "ufo.agents", "ufo.agents.memory", "config", "config.config_loader"):
        monkeypatch.setitem(sys.modules, name, Nothing(name))
    monkeypatch.setitem(sys.modules, memory.__name__, memory)
    board = ModuleType("ufo.agents.memory.blackboard")
    monkeypatch.setitem(sys.modules, board.__name__, board)
    exec(source["ufo/agents/memory/memory.py"], vars(memory))
    exec(source["ufo/agents/memory/blackboard.py"], vars(board))
    board.MemoryItem, board.Memory = memory.MemoryItem, memory.Memory
    return board


def remembered(module: Any) -> list[Any]:
    """What a memory of this module answers after a few steps."""
    memory, item = module.Memory(), module.MemoryItem()
    item.from_dict({"step": 1, "action": "click", "cost": 0.5})
    item.set_value("result", "ok")
    item.add_values_from_dict({"note": "é", "step": 2})
    memory.add_memory_item(item)
    answers: list[Any] = [item.to_dict(), item.get_values(["step", "none"]), item.filter(["action"]), memory.is_empty()]
    memory.from_list_of_dicts([*memory.to_list_of_dicts(), {"step": 3, "action": "type"}, {"step": 4}])
    memory.delete_memory_item(3)
    answers += [memory.length, memory.list_content, memory.get_latest_item().to_dict()]
    answers += [memory.filter_memory_from_steps([4, 9]), memory.filter_memory_from_keys(["action"])]
    memory.load(memory.content[:1])
    answers.append(memory.to_list_of_dicts())
    memory.clear()
    return [*answers, memory.is_empty(), memory.get_latest_item(), memory.to_json()]


def shared(module: Any) -> list[Any]:
    """What a blackboard of this module answers after a few notes."""
    board = module.Blackboard()
    answers: list[Any] = [board.is_empty()]
    board.add_questions({"question": "Which?", "answer": "This"})
    board.add_requests("Open Word")
    board.add_trajectories({"step": 1, "action": "click"})
    answers += [board.blackboard_to_dict(), board.blackboard_to_prompt(), board.requests_to_json()]
    answers += [board.blackboard_to_json(), board.questions_to_json(), board.trajectories_to_json()]
    again = module.Blackboard()
    again.blackboard_from_dict(board.blackboard_to_dict())
    answers += [again.blackboard_to_dict(), again.screenshots_to_json(), again.screenshots_to_prompt()]
    again.clear()
    return [*answers, again.is_empty()]


@pytest.mark.parametrize("script", [remembered, shared])
def test_memory_and_blackboard_answer_as_ufos_do(theirs, script):
    """The same calls on UFO's class and on ours."""
    assert script(ours) == script(theirs)
