"""The end state of an application, fetched through the dispatcher. What cannot be had is logged, never fatal."""

from __future__ import annotations

import base64
import binascii
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from ufo_experience.errors import ConnectionLostError, StorageError
from ufo_experience.session.context import Context
from ufo_experience.session.files import write_atomic
from ufo_experience.session.images import MAX_IMAGE_BYTES, image_type
from ufo_experience.session.jsonform import dump
from ufo_experience.session.protocols import DATA_COLLECTION, Command
from ufo_experience.session.recovery import RecoveryPolicy, execute

_log = logging.getLogger(__name__)


async def capture_screenshot(context: Context, save_path: Path, full_screen: bool, policy: RecoveryPolicy) -> None:
    """Save a screenshot of the window, or of all screens."""
    tool, parameters = (
        ("capture_desktop_screenshot", {"all_screens": True}) if full_screen else ("capture_window_screenshot", {})
    )
    found = await _collect(context, Command(tool, parameters, DATA_COLLECTION), policy)
    if found is None:
        return
    image = decode_image(found)
    if image is None:
        _log.warning("no last screenshot: %s gave no image", tool)
        return
    try:
        save_path.parent.mkdir(parents=True, exist_ok=True)
        save_path.write_bytes(image)
    except OSError as error:
        raise StorageError(f"{save_path}: cannot be written: {error.strerror or error}") from error


async def capture_ui_tree(context: Context, save_path: Path, policy: RecoveryPolicy) -> None:
    """Save the UI tree as JSON."""
    tree = await _collect(context, Command("get_ui_tree", {}, DATA_COLLECTION), policy)
    if tree:
        write_atomic(save_path, dump(tree))


def decode_image(value: Any) -> bytes | None:
    """The bytes of an image given as bytes, base64 or a data URL; None for anything else."""
    data = value
    if isinstance(value, str):
        text = value.partition(";base64,")[2] if value.startswith("data:image/") else value
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
    usable = isinstance(data, bytes) and len(data) <= MAX_IMAGE_BYTES and image_type(data) is not None
    return data if usable else None


async def _collect(context: Context, command: Command, policy: RecoveryPolicy) -> Any:
    try:  # a client that is gone is not waited for again
        [(_, result)] = await execute(context.command_dispatcher, [command], replace(policy, reconnects=0))
    except ConnectionLostError as error:
        _log.warning("%s: %s", command.tool_name, error)
        return None
    if not result.ok:
        _log.warning("%s: %s", command.tool_name, result.error)
    return result.result if result.ok else None
