"""The blackboard: four memories for the prompt, key-values for coordination, and the file it is kept in."""

from __future__ import annotations

import base64
import json
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience import DataError, UsageError
from ufo_experience.errors import StorageError
from ufo_experience.session import Blackboard, ImageMemoryItem, ImageMemoryItemNames, Memory, MemoryItem


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\0"))
    + _chunk(b"IEND", b"")
)
PICTURES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 16,
    "image/gif": b"GIF89a" + b"\0" * 16,
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 ",
    "image/bmp": b"BM" + struct.pack("<IHHI", 60, 0, 0, 54) + b"\0" * 46,
}
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
MEMORIES = ("questions", "requests", "trajectories", "screenshots")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    file = tmp_path / "step_5.png"
    file.write_bytes(PNG)
    return file


def filled(picture: Path) -> Blackboard:
    board = Blackboard()
    board.add_questions({"question": "Which file?", "answer": "a.docx"})
    board.add_requests("Open Word")
    board.add_trajectories({"step": 1, "action": "click"})
    board.add_image(picture, {"metadata": "the form"})
    board.add_key_value("agents/AppAgent/task_progress", 0.6)
    return board


# ---- the four memories


@pytest.mark.parametrize("name", ["questions", "requests", "trajectories"])
def test_each_memory_takes_a_dict_an_item_or_a_text(name):
    """A text becomes the field `text`; the other memories stay as they are."""
    board = Blackboard()
    for data in ({"a": 1}, MemoryItem(b=2), "words"):
        getattr(board, f"add_{name}")(data)
    assert getattr(board, name).list_content == [{"a": 1}, {"b": 2}, {"text": "words"}]
    assert json.loads(getattr(board, f"{name}_to_json")()) == getattr(board, name).list_content
    assert all(getattr(board, other).is_empty() for other in MEMORIES if other != name)


def test_data_of_another_kind_is_refused_and_any_memory_may_be_added_to():
    """`add_data` names it."""
    board, own = Blackboard(), Memory()
    board.add_data("words", own)
    assert own.list_content == [{"text": "words"}]
    with pytest.raises(UsageError, match="not int"):
        board.add_data(7, own)


def test_trajectories_filed_under_a_key_come_back_by_it():
    """A value, a dict or an item; all are steps of the one memory too."""
    board = Blackboard()
    board.add_trajectories("flow", {"step": 1})
    board.add_trajectories(key="flow", value=7)
    board.add_trajectories({"step": 2})
    assert board.get_trajectories("flow") == [{"step": 1}, 7]
    assert board.get_trajectories("none") == []
    assert [step.get("step") for step in board.get_trajectories()] == [1, None, 2]


@pytest.mark.parametrize("key", ["", 7])
def test_a_trajectory_without_a_key_is_refused(key):
    """It could not come back."""
    with pytest.raises(UsageError):
        Blackboard().add_trajectories(key, 1)


def test_the_last_questions_of_a_file_are_loaded(tmp_path, caplog):
    """A line that is none is left out and named; a file not there yet has none."""
    file = tmp_path / "qa.jsonl"
    file.write_text('{"q": 1}\n\n[1]\n{"q": \n"text"\n{"q": 2}\n', encoding="utf-8")
    assert Blackboard(questions_file=file).questions.list_content == [{"q": 1}, {"text": "text"}, {"q": 2}]
    assert "qa.jsonl:3" in caplog.text
    assert "qa.jsonl:4" in caplog.text
    assert Blackboard.read_json_file(file, 1) == [{"q": 2}]
    assert Blackboard.read_json_file(file, 0) == Blackboard.read_json_file(tmp_path / "none") == []
    with pytest.raises(UsageError, match="last_k"):
        Blackboard.read_json_file(file, -2)


# ---- key-values


def test_a_value_is_found_under_its_path_and_a_namespace_is_a_nested_dict():
    """Paths reach into stored dicts, which are copies."""
    board, state = Blackboard(), {"page": {"number": 3}}
    board.add_key_value("agents/AppAgent/task_progress", 0.6)
    board.add_key_value("agents/state", state)
    state["page"]["number"] = 4
    assert board.get_value("agents/AppAgent/task_progress") == 0.6
    assert board.get_value("agents/state/page/number") == 3
    assert board.get_value("agents") == {"AppAgent": {"task_progress": 0.6}, "state": {"page": {"number": 3}}}
    assert (board.get_value("none/there"), board.get_value("none", 5)) == (None, 5)


def test_values_are_replaced_updated_and_deleted():
    """An update needs a value; a deleted one takes the levels with it that it leaves empty."""
    board = Blackboard()
    board.add_key_value("a/b/c", 1)
    board.add_key_value("a/b/c", 2)
    board.update_value("a/b/c", 3)
    assert board.get_value("a/b/c") == 3
    with pytest.raises(UsageError, match="no key"):
        board.update_value("a/x", 1)
    assert (board.delete_key("a/b/c"), board.delete_key("a/b/c")) == (True, False)
    assert board.is_empty()


@pytest.mark.parametrize("key", ["", "/", "a//b", "a/", 7, None, "/".join("a" * 100)])
def test_a_malformed_key_is_refused(key):
    """1 or more names, none of them empty."""
    with pytest.raises(UsageError, match="a key is"):
        Blackboard().add_key_value(key, 1)


def test_nothing_lies_below_a_value():
    """A path is a value or a namespace."""
    board = Blackboard()
    board.add_key_value("a", 1)
    with pytest.raises(UsageError, match="'a' holds a value"):
        board.add_key_value("a/b", 2)


# ---- screenshots


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_of_picture_is_known_by_its_bytes(kind, tmp_path):
    """Whatever its name says; the fields are those of the documents."""
    file = tmp_path / "picture.txt"
    file.write_bytes(PICTURES[kind])
    board = Blackboard()
    board.add_image(file, {ImageMemoryItemNames.METADATA: "the form"})
    shot = board.screenshots.get_latest_item()
    assert isinstance(shot, ImageMemoryItem)
    assert (shot.metadata, shot.image_path) == ("the form", str(file))
    assert shot.image_str.startswith(f"data:{kind};base64,")


@pytest.mark.parametrize("content", [b"", b"text", b"BM is a text", b"\x89PN"])
def test_what_is_no_picture_is_refused(content, tmp_path):
    """So is one that is not there."""
    file = tmp_path / "picture.png"
    file.write_bytes(content)
    with pytest.raises(DataError):
        Blackboard().add_image(file)
    with pytest.raises(DataError):
        Blackboard().add_image(tmp_path / "none.png")


@pytest.mark.parametrize(
    "url", ["http://evil/x.png", "data:text/html;base64,YQ==", URL.replace("png", "gif", 1), URL[:-1]]
)
def test_no_other_address_gets_into_the_prompt(url):
    """Neither from a screenshot added by hand, nor from a file."""
    board = Blackboard()
    board.screenshots.add_memory_item(ImageMemoryItem(image_str=url))
    with pytest.raises(DataError, match=r"screenshots\[0\]"):
        board.blackboard_to_prompt()
    board.blackboard_from_dict({"screenshots": [{"image_str": url}]})
    with pytest.raises(DataError, match=r"screenshots\[0\]"):
        board.screenshots_to_prompt()


# ---- prompt


def test_the_prompt_has_the_four_headings_and_real_pictures(picture):
    """A screenshot is two parts; without a picture it is its metadata only. Key-values are between agents."""
    parts = filled(picture).blackboard_to_prompt()
    assert [part.get("text", "").split("\n")[0] for part in parts[:4]] == [
        *("[Blackboard:]", "[Questions & Answers:]", "[Request History:]"),
        "[Step Trajectories Completed Previously:]",
    ]
    assert parts[2]["text"] == '[Request History:]\n [{"text": "Open Word"}]'
    assert parts[4:] == [{"type": "text", "text": '"the form"'}, {"type": "image_url", "image_url": {"url": URL}}]
    assert "task_progress" not in json.dumps(parts)
    board = Blackboard()
    board.screenshots.add_memory_item(ImageMemoryItem(metadata="gone", image_str=""))
    assert board.blackboard_to_prompt()[4:] == [{"type": "text", "text": '"gone"'}]


# ---- as a dict, as a file


def test_a_file_restores_everything(picture, tmp_path):
    """As the dict and the JSON do; what the dict holds is shared with nobody."""
    board, file = filled(picture), tmp_path / "deep" / "board.json"
    board.save_to_file(file)
    loaded, copied = Blackboard(), Blackboard()
    loaded.load_from_file(file)
    form = board.blackboard_to_dict()
    copied.blackboard_from_dict(json.loads(board.blackboard_to_json()))
    assert loaded.blackboard_to_dict() == copied.blackboard_to_dict() == form
    assert isinstance(loaded.screenshots.get_latest_item(), ImageMemoryItem)
    form["requests"].clear()
    assert board.requests.length == 1
    assert set(Blackboard().blackboard_to_dict()) == set(MEMORIES)


KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(KEYS, st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2), max_size=4))
def test_key_values_come_back_from_the_dict(values: dict[str, Any]):
    """Whatever paths there are."""
    board, again = Blackboard(), Blackboard()
    for path, value in values.items():
        if not any(path.startswith(f"{other}/") for other in values):
            board.add_key_value(path, value)
    again.blackboard_from_dict(board.blackboard_to_dict())
    assert again.blackboard_to_dict() == board.blackboard_to_dict()


def test_the_structure_of_the_documents_is_read_as_key_values():
    """`{"session": …, "agents": {…}}` as they draw it, and full paths as earlier files have them."""
    board = Blackboard()
    drawn = {"agents": {"AppAgent": {"task_progress": 0.6}}, "global_memory": [{"step": 1}]}
    board.blackboard_from_dict({**drawn, "key_values": {"devices/linux/ready": True}})
    assert board.get_value("agents/AppAgent/task_progress") == 0.6
    assert board.get_value("devices") == {"linux": {"ready": True}}
    assert board.get_value("global_memory") == [{"step": 1}]


@pytest.mark.parametrize(
    ("text", "error", "field"),
    [
        ("", DataError, None),
        ('{"requests": [', DataError, None),
        ("[]", DataError, None),
        ('{"format_version": 99}', DataError, None),
        ('{"requests": {}}', DataError, "requests"),
        ('{"requests": [1]}', DataError, "requests[0]"),
        ('{"key_values": []}', DataError, "key_values"),
        ('{"key_values": {"a": 1, "a/b": 2}}', DataError, "key_values"),
        ('{"a//b": 1}', DataError, "a//b"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_place_and_changes_nothing(text, error, field, picture, tmp_path):
    """The content stays as it was."""
    board, file = filled(picture), tmp_path / "board.json"
    before = board.blackboard_to_dict()
    file.write_text(text, encoding="utf-8")
    with pytest.raises(error) as raised:
        board.load_from_file(file)
    assert (raised.value.file, raised.value.field) == (str(file), field)
    assert board.blackboard_to_dict() == before


def test_a_refused_save_is_a_typed_error(tmp_path):
    """A file stands where the folder should be; loading what is not there is one, too."""
    (tmp_path / "in the way").write_text("")
    with pytest.raises(StorageError):
        Blackboard().save_to_file(tmp_path / "in the way" / "board.json")
    with pytest.raises(DataError):
        Blackboard().load_from_file(tmp_path / "none.json")


def test_clear_forgets_both_faces(picture):
    """And is_empty looks at both."""
    board = filled(picture)
    assert not board.is_empty()
    board.clear()
    assert board.is_empty()
    board.add_key_value("a", 1)
    assert not board.is_empty()


def test_memories_keep_the_newest(picture):
    """Of screenshots a hundred."""
    board = Blackboard()
    for step in range(102):
        board.add_image(picture, {"step": step})
    assert [one["metadata"]["step"] for one in board.screenshots.list_content] == list(range(2, 102))


# ---- the trail, and threads


def test_every_change_is_a_line_of_the_trail(picture, tmp_path):
    """With its time and without the picture; a line torn by a crash spoils only itself."""
    trail = tmp_path / "trail.jsonl"
    trail.write_text('{"torn": ')
    board = Blackboard(audit_file=trail)
    board.add_requests("Open Word")
    board.add_image(picture)
    board.add_key_value("a", 1)
    board.update_value("a", 2)
    board.delete_key("a")
    board.clear()
    lines = [json.loads(line) for line in trail.read_text("utf-8").splitlines()[1:]]
    operations = ["add", "add", "add_key_value", "update_value", "delete_key", "clear"]
    assert [line["operation"] for line in lines] == operations
    assert all(line["at"] for line in lines)
    assert "image_str" not in lines[1]["item"]


def test_a_trail_that_cannot_be_written_is_a_typed_error(tmp_path):
    """The change stands in memory."""
    (tmp_path / "in the way").write_text("")
    board = Blackboard(audit_file=tmp_path / "in the way" / "trail.jsonl")
    with pytest.raises(StorageError):
        board.add_requests("Open Word")
    assert board.requests.length == 1


def test_eight_threads_lose_nothing(tmp_path):
    """Each adds and counts under the lock, while others save."""
    board = Blackboard()
    board.add_key_value("count", 0)

    def work() -> None:
        for _ in range(50):
            with board.lock:
                board.update_value("count", board.get_value("count") + 1)
            board.add_trajectories({"step": 1})
        board.save_to_file(tmp_path / "board.json")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (board.get_value("count"), board.trajectories.length) == (400, 400)
