"""`Blackboard`: four memories, key-values, prompt, files, audit trail, and the pictures in it."""

from __future__ import annotations

import base64
import json
import logging
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience.errors import CorruptError, DataError, FormatVersionError, SchemaError, StorageError, UsageError
from ufo_experience.session import Blackboard, ImageMemoryItem, ImageMemoryItemNames, Memory, MemoryItem
from ufo_experience.session.images import check_data_url, encode_image, image_type


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\x00"))
    + _chunk(b"IEND", b"")
)
IMAGES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\x00" * 8,
    "image/gif": b"GIF89a\x01\x00\x01\x00\x00\x00\x00;",
    "image/webp": b"RIFF\x1a\x00\x00\x00WEBPVP8L" + b"\x00" * 8,
    "image/bmp": b"BM" + struct.pack("<IHHIIiiHHIIiiII", 58, 0, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0) + b"\x00" * 4,
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
item_lists = st.lists(st.dictionaries(st.text(max_size=6), json_values, max_size=3), max_size=3)
names = st.text("ab c:.é", min_size=1, max_size=3)
operations = st.lists(st.tuples(st.lists(names, min_size=1, max_size=3).map("/".join), json_values), max_size=8)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A small PNG file."""
    path = tmp_path / "step_5.png"
    path.write_bytes(PNG)
    return path


def trail(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def full_board(picture: Path) -> Blackboard:
    board = Blackboard()
    board.add_questions({"question": "Which Jane?", "answer": "Jane Doe"})
    board.add_requests({"request": "Email Jane"})
    board.add_trajectories({"step": 1, "action": "open"})
    board.add_trajectories("flow", {"step": 2, "action": "type"})
    board.add_image(str(picture), {"step": 5})
    board.add_key_value("devices/windows/ready", True)
    return board


# ---- the four memories


@pytest.mark.parametrize("name", ["questions", "requests", "trajectories"])
def test_each_memory_takes_a_dict_an_item_or_a_text(name: str) -> None:
    """A text becomes the field `text`; the JSON of the memory shows all three."""
    board = Blackboard()
    add = getattr(board, f"add_{name}")
    add({"step": 1})
    add(MemoryItem(step=2))
    add("third")
    expected = [{"step": 1}, {"step": 2}, {"text": "third"}]
    assert getattr(board, name).list_content == expected
    assert json.loads(getattr(board, f"{name}_to_json")()) == expected


def test_the_memories_are_apart() -> None:
    """What is added to one is in no other, nor in another blackboard."""
    board = Blackboard()
    board.add_requests("a")
    assert (board.questions.length, board.requests.length, board.trajectories.length) == (0, 1, 0)
    assert Blackboard().is_empty()


def test_add_data_adds_to_the_memory_named() -> None:
    """Also to one that is not the blackboard's own."""
    board, own = Blackboard(), Memory()
    board.add_data("x", board.questions)
    board.add_data({"y": 1}, own)
    assert (board.questions.length, own.list_content) == (1, [{"y": 1}])


@pytest.mark.parametrize("data", [None, 5, ["a"], b"bytes"])
def test_data_of_another_kind_is_refused(data: Any) -> None:
    """With a typed error, and nothing is added."""
    board = Blackboard()
    with pytest.raises(UsageError, match=type(data).__name__):
        board.add_requests(data)
    assert board.is_empty()


def test_trajectories_filed_under_a_key_come_back_by_it() -> None:
    """As they were put in, in order, whatever their kind."""
    board = Blackboard()
    board.add_trajectories({"step": 0})
    board.add_trajectories("flow", {"step": 1, "agent": "HostAgent"})
    board.add_trajectories("flow", value="noted")
    board.add_trajectories(key="flow", value=[1, None])
    board.add_trajectories("other", MemoryItem(step=9))
    board.add_trajectories("flow", {"text": "a dict"})
    expected = [{"step": 1, "agent": "HostAgent"}, "noted", [1, None], {"text": "a dict"}]
    assert board.get_trajectories("flow") == expected
    assert board.get_trajectories("other") == [{"step": 9}]
    assert board.get_trajectories("none") == []


def test_keyed_and_plain_trajectories_are_one_memory() -> None:
    """So that the prompt shows both, and step filters work on both."""
    board = Blackboard()
    board.add_trajectories({"step": 1})
    board.add_trajectories("flow", {"step": 2})
    assert board.get_trajectories() == [{"step": 1}, {"trajectory_key": "flow", "step": 2}]
    assert board.trajectories.filter_memory_from_steps([2]) == [{"trajectory_key": "flow", "step": 2}]
    assert '"trajectory_key": "flow"' in board.blackboard_to_prompt()[3]["text"]


@pytest.mark.parametrize("arguments", [("", 1), (5, 1), ("k", {"trajectory_key": "x"}), ("k", {"trajectory_value": 1})])
def test_a_trajectory_that_could_not_come_back_is_refused(arguments: tuple[Any, Any]) -> None:
    """No text as the key, or a value that uses the fields of the filing itself."""
    with pytest.raises(UsageError, match="trajectory"):
        Blackboard().add_trajectories(*arguments)


def test_a_filed_item_is_not_changed() -> None:
    """The caller's item keeps its own fields."""
    item = MemoryItem(step=1)
    Blackboard().add_trajectories("flow", item)
    assert item.to_dict() == {"step": 1}


def test_memories_are_limited_and_keep_the_newest(picture: Path) -> None:
    """Screenshots have a limit of their own."""
    board = Blackboard(max_items=2, max_screenshots=1)
    for number in range(3):
        board.add_requests({"n": number})
        board.add_image(picture, {"n": number})
    assert board.requests.list_content == [{"n": 1}, {"n": 2}]
    assert [shot.get_value("metadata") for shot in board.screenshots.content] == [{"n": 2}]


# ---- key-values


def test_a_value_is_found_under_its_path() -> None:
    """Values, nested and not; a missing one is None or the default."""
    board = Blackboard()
    board.add_key_value("devices/windows/ready", True)
    board.add_key_value("selected_app", "Word")
    assert board.get_value("devices/windows/ready") is True
    assert board.get_value("selected_app") == "Word"
    assert board.get_value("devices/linux/ready") is None
    assert board.get_value("selected_app/x", default=0) == 0


def test_a_namespace_reads_as_a_nested_dict() -> None:
    """All values below the path, as a copy."""
    board = Blackboard()
    board.add_key_value("devices/windows/ready", True)
    board.add_key_value("devices/linux/state", {"load": [1]})
    devices = board.get_value("devices")
    assert devices == {"windows": {"ready": True}, "linux": {"state": {"load": [1]}}}
    devices["linux"]["state"]["load"].append(2)
    assert board.get_value("devices/linux/state/load") == [1]


def test_a_stored_dict_is_a_copy_that_paths_reach_into() -> None:
    """Reading, writing and deleting inside it works; the caller's dict is left alone."""
    board, session = Blackboard(), {"id": "s1", "devices": {"a": 1}}
    board.add_key_value("session", session)
    board.add_key_value("session/started", "10:00")
    board.update_value("session/devices/a", 2)
    board.delete_key("session/id")
    assert board.get_value("session") == {"devices": {"a": 2}, "started": "10:00"}
    assert session == {"id": "s1", "devices": {"a": 1}}


def test_any_object_is_kept_as_it_is() -> None:
    """A window handle or an agent's state is not copied or turned into text in memory."""
    board, handle = Blackboard(), object()
    board.add_key_value("app/handle", handle)
    assert board.get_value("app/handle") is handle
    assert json.loads(board.blackboard_to_json())["key_values"] == {"app/handle": str(handle)}


def test_adding_again_replaces_the_value() -> None:
    """As a checkpoint does, also from a dict to a plain value."""
    board = Blackboard()
    board.add_key_value("checkpoint/state", {"a": 1})
    board.add_key_value("checkpoint/state", None)
    assert board.get_value("checkpoint", "x") == {"state": None}


def test_a_path_is_a_value_or_a_namespace() -> None:
    """Neither replaces the other unawares, and a refused call changes nothing."""
    board = Blackboard()
    board.add_key_value("a/b", 1)
    before = board.blackboard_to_dict()
    with pytest.raises(UsageError, match="'a/b' holds a value"):
        board.add_key_value("a/b/c/d", 2)
    with pytest.raises(UsageError, match="namespace"):
        board.add_key_value("a", 2)
    with pytest.raises(UsageError, match="namespace"):
        board.update_value("a", 2)
    assert board.blackboard_to_dict() == before


@pytest.mark.parametrize("key", ["", "/", "a//b", "/a", "a/", "/".join("x" * 65), 5, None])
def test_a_malformed_key_is_refused(key: Any) -> None:
    """By every method that takes one."""
    board = Blackboard()
    for call in (board.get_value, board.delete_key):
        with pytest.raises(UsageError, match="names joined"):
            call(key)
    for change in (board.add_key_value, board.update_value):
        with pytest.raises(UsageError, match="names joined"):
            change(key, 1)


def test_update_value_needs_a_value_to_update() -> None:
    """A misspelt key is an error, not a new value."""
    board = Blackboard()
    board.add_key_value("progress", 0.5)
    board.update_value("progress", 1.0)
    with pytest.raises(UsageError, match="progres"):
        board.update_value("progres", 1.0)
    assert board.get_value("progress") == 1.0


def test_delete_key_removes_a_value_or_a_namespace() -> None:
    """It tells whether there was one, and leaves no empty namespaces behind."""
    board = Blackboard()
    board.add_key_value("temp/a/b", 1)
    board.add_key_value("temp/c", 1)
    assert board.delete_key("temp/a/b")
    assert board.get_value("temp") == {"c": 1}
    assert not board.delete_key("temp/a/b")
    assert board.delete_key("temp")
    assert board.is_empty()


def test_a_value_that_contains_itself_is_refused() -> None:
    """With a typed error, when it is put in."""
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(DataError, match="contains itself"):
        Blackboard().add_key_value("loop", loop)


# ---- images


@pytest.mark.parametrize("media_type", IMAGES)
def test_add_image_takes_every_kind_by_its_bytes(media_type: str, tmp_path: Path) -> None:
    """The name of the file does not matter, and the data URL decodes to its bytes."""
    path = tmp_path / "shot.dat"
    path.write_bytes(IMAGES[media_type])
    board = Blackboard()
    board.add_image(str(path))
    url = board.screenshots.content[0].get_value("image_str")
    head, _, body = url.partition(",")
    assert head == f"data:{media_type};base64"
    assert base64.b64decode(body) == IMAGES[media_type]


def test_a_screenshot_has_the_documented_fields(picture: Path) -> None:
    """metadata, image_path and image_str, in an ImageMemoryItem."""
    board = Blackboard()
    board.add_image(screenshot_path=str(picture), metadata={"step": 5, "description": "Before"})
    shot = board.screenshots.content[0]
    assert isinstance(shot, ImageMemoryItem)
    assert shot.attributes == ["metadata", "image_path", "image_str"]
    assert shot.get_value(ImageMemoryItemNames.METADATA) == {"step": 5, "description": "Before"}
    assert shot.get_value(ImageMemoryItemNames.IMAGE_PATH) == str(picture)


def test_metadata_may_be_wrapped_or_absent(picture: Path) -> None:
    """The seed reads the key `metadata`; none at all is an empty dict."""
    board = Blackboard()
    board.add_image(picture, {"metadata": "step 5"})
    board.add_image(picture)
    assert [shot.get_value("metadata") for shot in board.screenshots.content] == ["step 5", {}]


@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG", b"BMW is a car, and this is a text", b"<svg/>", b"GIF88a", b"RIFF\0\0\0\0WAVE", b"MZ"]
)
def test_a_file_that_is_no_image_is_refused(content: bytes, tmp_path: Path) -> None:
    """Whatever its name says, with the file named, and nothing is added."""
    path, board = tmp_path / "shot.png", Blackboard()
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"not a PNG") as caught:
        board.add_image(path)
    assert caught.value.file == str(path)
    assert board.is_empty()


def test_a_picture_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A missing file, a folder, and the empty default."""
    board = Blackboard()
    with pytest.raises(DataError, match="no such file"):
        board.add_image(str(tmp_path / "none.png"))
    for folder in (tmp_path, ""):
        with pytest.raises(DataError, match="not a regular file"):
            board.add_image(folder)


def test_a_picture_may_have_the_size_limit_and_not_a_byte_more(picture: Path) -> None:
    """The limit is in bytes of the file."""
    assert encode_image(picture, len(PNG)).startswith("data:image/png;base64,")
    with pytest.raises(DataError, match=f"larger than {len(PNG) - 1} bytes"):
        Blackboard(max_image_bytes=len(PNG) - 1).add_image(picture)


def test_check_data_url_passes_only_real_pictures(picture: Path) -> None:
    """Other addresses, other types, broken base64 and too much are refused."""
    url = encode_image(picture)
    assert check_data_url(url, len(PNG)) == url
    wrong = ["https://example.org/a.png", "", None, url.replace("png", "gif"), url[:-1], url + "x", url[:22] + "QUJD"]
    for bad in wrong:
        with pytest.raises(DataError):
            check_data_url(bad)
    with pytest.raises(DataError, match="larger"):
        check_data_url(url, len(PNG) - 1)
    with pytest.raises(DataError, match="larger"):
        check_data_url(url, 10)


@given(st.binary(max_size=64))
def test_random_bytes_are_hardly_ever_an_image(data: bytes) -> None:
    """No input breaks the check, and what it names starts as that kind does."""
    kind = image_type(data)
    assert kind is None or data[:2] == IMAGES[kind][:2]


# ---- prompt


def test_an_empty_blackboard_makes_the_documented_prompt() -> None:
    """A heading and three text parts."""
    texts = [part["text"] for part in Blackboard().blackboard_to_prompt()]
    assert texts == [
        "[Blackboard:]",
        "[Questions & Answers:]\n []",
        "[Request History:]\n []",
        "[Step Trajectories Completed Previously:]\n []",
    ]


def test_the_prompt_carries_texts_and_real_pictures(picture: Path) -> None:
    """Each screenshot is its metadata, then the picture as a data URL; key-values stay out."""
    prompt = full_board(picture).blackboard_to_prompt()
    assert [part["type"] for part in prompt] == ["text"] * 5 + ["image_url"]
    assert json.loads(prompt[1]["text"].partition("\n ")[2]) == [{"question": "Which Jane?", "answer": "Jane Doe"}]
    assert json.loads(prompt[4]["text"]) == {"step": 5}
    assert base64.b64decode(prompt[5]["image_url"]["url"].partition(",")[2]) == PNG
    assert "devices" not in json.dumps(prompt[:5])


def test_texts_to_prompt_takes_any_memory_and_prefix() -> None:
    """One text part: prefix, line break, space, JSON; other scripts stay readable."""
    memory = Memory()
    memory.add_memory_item(MemoryItem(request="发送"))
    assert Blackboard().texts_to_prompt(memory, "[P:]") == [{"type": "text", "text": '[P:]\n [{"request": "发送"}]'}]


def test_a_screenshot_without_a_picture_is_only_its_metadata() -> None:
    """An API refuses an empty address, so none is sent."""
    board = Blackboard()
    board.blackboard_from_dict({"screenshots": [{"metadata": "gone", "image_path": "x.png", "image_str": ""}]})
    assert board.screenshots_to_prompt() == [{"type": "text", "text": '"gone"'}]


def test_no_other_address_gets_into_the_prompt() -> None:
    """Neither from a file nor added by hand; the error names the screenshot."""
    shot = {"image_str": "https://example.org/track.png"}
    board = Blackboard()
    with pytest.raises(DataError, match=r"screenshots\[0\]\.image_str"):
        board.blackboard_from_dict({"screenshots": [shot]})
    board.add_data(shot, board.screenshots)
    with pytest.raises(DataError, match=r"screenshots\[0\]\.image_str"):
        board.screenshots_to_prompt()


# ---- dict, JSON, files


def test_the_dict_has_the_four_lists_and_key_values_only_if_any(picture: Path) -> None:
    """So that a reader of the seed's form finds what it knows."""
    board = full_board(picture)
    memories = ["questions", "requests", "trajectories", "screenshots"]
    assert list(Blackboard().blackboard_to_dict()) == memories
    assert list(board.blackboard_to_dict()) == [*memories, "key_values"]
    assert json.loads(board.blackboard_to_json()) == board.blackboard_to_dict()
    assert json.loads(board.screenshots_to_json()) == board.blackboard_to_dict()["screenshots"]


def test_the_dict_shares_nothing_with_the_blackboard() -> None:
    """Changing it later changes nothing here."""
    board = Blackboard()
    board.add_requests({"tags": ["a"]})
    board.blackboard_to_dict()["requests"][0]["tags"].append("b")
    assert board.requests.list_content == [{"tags": ["a"]}]


@given(item_lists, item_lists, item_lists, operations)
def test_a_blackboard_comes_back_from_its_dict_and_json(
    questions: list[dict[str, Any]],
    requests: list[dict[str, Any]],
    trajectories: list[dict[str, Any]],
    values: list[tuple[str, Any]],
) -> None:
    """Through blackboard_from_dict, directly or by way of JSON, with values below namespaces where they were."""
    board, twin, third = Blackboard(), Blackboard(), Blackboard()
    for memory, items in (
        (board.questions, questions),
        (board.requests, requests),
        (board.trajectories, trajectories),
    ):
        for item in items:
            board.add_data(item, memory)
    for path, value in values:
        try:
            board.add_key_value(path, value)
        except UsageError:
            continue
        assert board.get_value(path) == value
    twin.blackboard_from_dict(board.blackboard_to_dict())
    third.blackboard_from_dict(json.loads(board.blackboard_to_json()))
    assert twin.blackboard_to_dict() == third.blackboard_to_dict() == board.blackboard_to_dict()
    for path, _ in values:
        assert third.get_value(path) == board.get_value(path)


def test_a_file_restores_everything(picture: Path, tmp_path: Path) -> None:
    """Memories, filed trajectories, pictures and key-values; what was there before is replaced."""
    path, board, twin = tmp_path / "deep" / "global_memory.json", full_board(picture), Blackboard()
    twin.add_requests("old")
    twin.add_key_value("old", 1)
    board.save_to_file(path)
    twin.load_from_file(path)
    assert twin.blackboard_to_dict() == board.blackboard_to_dict()
    assert twin.get_trajectories("flow")[-1]["step"] == 2
    assert twin.blackboard_to_prompt() == board.blackboard_to_prompt()
    assert isinstance(twin.screenshots.content[0], ImageMemoryItem)


def test_a_file_made_from_the_dict_by_hand_is_read(tmp_path: Path) -> None:
    """The seed shows json.dump of blackboard_to_dict; it has no format version."""
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"requests": [{"request": "Create chart"}]}), encoding="utf-8-sig")
    board = Blackboard()
    board.load_from_file(path)
    assert board.requests.list_content == [{"request": "Create chart"}]


def test_a_file_torn_anywhere_is_a_typed_error_and_changes_nothing(picture: Path, tmp_path: Path) -> None:
    """The current content survives every cut."""
    path, board = tmp_path / "board.json", full_board(picture)
    board.save_to_file(path)
    whole, before = path.read_bytes(), board.blackboard_to_dict()
    for cut in range(0, len(whole), 29):
        path.write_bytes(whole[:cut])
        with pytest.raises(CorruptError) as caught:
            board.load_from_file(path)
        assert caught.value.file == str(path)
    assert board.blackboard_to_dict() == before


@pytest.mark.parametrize(
    ("content", "error", "place"),
    [
        ("[]", SchemaError, "must be an object"),
        ('{"questions": {}}', SchemaError, "[questions]"),
        ('{"requests": [{}, 5]}', SchemaError, "[requests[1]]"),
        ('{"screenshots": [{"image_str": 5}]}', SchemaError, "[screenshots[0].image_str]"),
        ('{"key_values": []}', SchemaError, "[key_values]"),
        ('{"key_values": {"a": 1, "a/b": 2}}', SchemaError, "[key_values]"),
        ('{"key_values": {"a//b": 2}}', SchemaError, "[key_values]"),
        ('{"format_version": 2}', FormatVersionError, "version 2"),
        ('{"requests": [{"cost": NaN}]}', SchemaError, "NaN"),
        ("[" * 100_000, SchemaError, "nested"),
        ("\udcff", CorruptError, "UTF-8"),
    ],
)
def test_a_file_of_the_wrong_shape_names_the_place_and_changes_nothing(
    content: str, error: type[DataError], place: str, tmp_path: Path
) -> None:
    """Checked as a whole before anything is taken over."""
    path, board = tmp_path / "board.json", Blackboard()
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    board.add_requests("kept")
    with pytest.raises(error) as caught:
        board.load_from_file(path)
    assert place in str(caught.value)
    assert caught.value.file == str(path)
    assert board.requests.list_content == [{"text": "kept"}]


def test_a_missing_file_is_a_typed_error(tmp_path: Path) -> None:
    """A checkpoint that is not there must not look like an empty one."""
    with pytest.raises(DataError, match="no such file"):
        Blackboard().load_from_file(tmp_path / "none.json")


def test_a_refused_save_is_a_typed_error_and_leaves_no_rubbish(tmp_path: Path) -> None:
    """The target is a folder here; the temporary file is gone."""
    target = tmp_path / "board.json"
    target.mkdir()
    with pytest.raises(StorageError, match=r"board\.json: "):
        Blackboard().save_to_file(target)
    assert list(tmp_path.iterdir()) == [target]


def test_whoever_reads_while_another_saves_finds_a_whole_file(tmp_path: Path) -> None:
    """A process saves without pause and is killed in the middle: every read gives one content or the other."""
    path = tmp_path / "board.json"
    program = (
        "import sys\n"
        "from ufo_experience.session import Blackboard\n"
        "boards = [Blackboard(), Blackboard()]\n"
        "for size, board in zip((10, 200_000), boards):\n"
        "    board.add_requests('x' * size)\n"
        "    board.save_to_file(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for board in boards:\n"
        "        board.save_to_file(sys.argv[1])\n"
    )
    board, sizes = Blackboard(), set()
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            for _ in range(150):
                board.load_from_file(path)
                sizes.add(len(board.requests.list_content[0]["text"]))
        finally:
            process.kill()
    board.load_from_file(path)
    sizes.add(len(board.requests.list_content[0]["text"]))
    assert sizes <= {10, 200_000}


def test_is_empty_and_clear_cover_both_faces(picture: Path) -> None:
    """A blackboard with nothing but a key-value is not empty."""
    board = Blackboard()
    board.add_key_value("a", None)
    assert not board.is_empty()
    board = full_board(picture)
    board.clear()
    assert board.is_empty()
    assert board.get_value("devices") is None


# ---- questions of earlier sessions


def test_load_questions_reads_the_last_lines(tmp_path: Path) -> None:
    """-1 reads all, 0 none, more than there are all; blank lines do not count."""
    path = tmp_path / "qa.jsonl"
    path.write_text('{"n": 1}\n\n{"n": 2}\r\n"three"\n\n', encoding="utf-8")
    expected = [{"n": 1}, {"n": 2}, {"text": "three"}]
    for last_k, count in ((-1, 3), (0, 0), (2, 2), (9, 3)):
        board = Blackboard()
        board.load_questions(str(path), last_k=last_k)
        assert board.questions.list_content == expected[3 - count :]
    assert Blackboard(questions_file=path, questions_last_k=1).questions.length == 1
    with pytest.raises(UsageError, match="-2"):
        Blackboard().load_questions(path, -2)


def test_a_line_that_is_no_question_is_left_out_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The warning has file and line; the other lines are read."""
    path = tmp_path / "qa.jsonl"
    path.write_bytes(b'{"n": 1}\n[1]\n{"n": NaN}\n\xff\n{"n": 2}\n{"torn": ')
    with caplog.at_level(logging.WARNING):
        assert Blackboard.read_json_file(str(path)) == [{"n": 1}, {"n": 2}]
    assert [record.getMessage().split(": ")[0] for record in caplog.records] == [f"{path}:{n}" for n in (2, 3, 4, 6)]


def test_a_question_file_not_there_yet_has_no_questions(tmp_path: Path) -> None:
    """The first session starts without one."""
    board = Blackboard(questions_file=tmp_path / "none.jsonl")
    assert board.is_empty()


# ---- audit trail


def test_every_change_is_a_line_of_the_trail(picture: Path, tmp_path: Path) -> None:
    """In order, with what was changed; reads and refused changes leave none; a picture is not repeated in it."""
    path, saved = tmp_path / "logs" / "trail.jsonl", tmp_path / "board.json"
    board = Blackboard(audit_file=path)
    board.add_requests("go")
    board.add_trajectories("flow", {"step": 1})
    board.add_image(picture, {"step": 5})
    board.add_key_value("a/b", 1)
    board.update_value("a/b", 2)
    board.get_value("a/b")
    with pytest.raises(UsageError):
        board.add_key_value("a", 1)
    board.delete_key("a/b")
    board.delete_key("a/b")
    board.save_to_file(saved)
    board.load_from_file(saved)
    board.clear()
    events = [{key: value for key, value in event.items() if key != "at"} for event in trail(path)]
    assert events == [
        {"operation": "add", "memory": "requests", "item": {"text": "go"}},
        {"operation": "add", "memory": "trajectories", "item": {"trajectory_key": "flow", "step": 1}},
        {
            "operation": "add",
            "memory": "screenshots",
            "item": {"metadata": {"step": 5}, "image_path": str(picture)},
        },
        {"operation": "add_key_value", "key": "a/b", "value": 1},
        {"operation": "update_value", "key": "a/b", "value": 2},
        {"operation": "delete_key", "key": "a/b"},
        {"operation": "load_from_file", "file": str(saved)},
        {"operation": "clear"},
    ]
    assert all(event["at"].endswith("+00:00") for event in trail(path))


def test_a_torn_line_of_the_trail_spoils_only_itself(tmp_path: Path) -> None:
    """The next session begins on a line of its own."""
    path = tmp_path / "trail.jsonl"
    path.write_bytes(b'{"operation": "clear"}\n{"opera')
    Blackboard(audit_file=path).add_requests("next")
    lines = path.read_bytes().split(b"\n")
    assert lines[1] == b'{"opera'
    assert json.loads(lines[2])["item"] == {"text": "next"}


def test_a_trail_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    """And the change stands in memory."""
    board = Blackboard(audit_file=tmp_path)
    with pytest.raises(StorageError, match="appended"):
        board.add_requests("go")
    assert board.requests.length == 1


# ---- threads


def test_eight_threads_lose_nothing(tmp_path: Path) -> None:
    """8 × 200 adds and counted updates while the board is saved: nothing lost, no line torn, every file whole."""
    board = Blackboard(audit_file=tmp_path / "trail.jsonl")
    board.add_key_value("count", 0)
    errors: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for number in range(200):
                board.add_trajectories({"worker": worker, "number": number})
                board.add_key_value(f"agents/{worker}/{number}", number)
                with board.lock:
                    board.update_value("count", board.get_value("count") + 1)
        except Exception as error:  # noqa: BLE001 (a thread's error is reported by the test)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        board.save_to_file(tmp_path / "board.json")
        Blackboard().load_from_file(tmp_path / "board.json")
    for thread in threads:
        thread.join()
    assert errors == []
    assert (board.get_value("count"), board.trajectories.length) == (1600, 1600)
    assert all(len(numbers) == 200 for numbers in board.get_value("agents").values())
    assert len(trail(tmp_path / "trail.jsonl")) == 1 + 3 * 1600


def test_the_internal_structure_of_the_documents_is_read_as_key_values(tmp_path):
    """Session, agents, devices, global memory: nothing is dropped, and the next save keeps it."""
    file = tmp_path / "board.json"
    drawn = {
        "session": {"session_id": "sess_12345", "devices": ["Windows-Desktop"]},
        "agents": {"AppAgent": {"task_progress": 0.6}},
        "global_memory": [{"step": 1, "agent": "HostAgent"}],
    }
    file.write_text(json.dumps(drawn), encoding="utf-8")
    board = Blackboard()
    board.load_from_file(file)
    assert board.get_value("agents/AppAgent/task_progress") == 0.6
    assert board.get_value("global_memory") == [{"step": 1, "agent": "HostAgent"}]
    board.save_to_file(file)
    again = Blackboard()
    again.load_from_file(file)
    assert again.get_value("session/session_id") == "sess_12345"
