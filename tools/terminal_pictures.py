"""Pictures of the command line in a terminal, light and dark: `python -m tools.terminal_pictures [FOLDER]`.

The commands run in a pseudo terminal on a store of the sample sessions; what they print is drawn as SVG.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

SAMPLES = Path(__file__).resolve().parents[1] / "ufo_experience" / "samples"
WIDTH = 110
_PALETTE = "24292f b3282d 116329 7d5800 0969da 8250df 1b7c83 57606a".split()
_BRIGHT = "57606a cf222e 1a7f37 9a6700 218bff a475f9 3192aa 8c959f".split()
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [tuple(bytes.fromhex(one)) for one in _PALETTE],
    [tuple(bytes.fromhex(one)) for one in _BRIGHT],
)
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture asks no server for letters
COMMANDS = (
    "ufo-experience list --limit 8",
    'ufo-experience retrieve "Turn on Bluetooth" --near',
    "ufo-experience show {id}",
    "ufo-experience stats",
)


def main() -> None:
    """Draw `terminal-light.svg` and `terminal-dark.svg` into a folder (default: docs)."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SAMPLES, Path(folder) / "logs")
        run(["ufo-experience", "ingest", "logs", "--include-failures"], folder)
        listed = run(["ufo-experience", "list", "--search", "bluetooth", "--json"], folder)
        id = listed.split('"id": "')[1][:8]
        shown = [(line, run(line.format(id=id).replace('"', "").split(" "), folder)) for line in COMMANDS]
    for name, theme in (("light", LIGHT), ("dark", DIMMED_MONOKAI)):
        console = Console(record=True, width=WIDTH, file=io.StringIO())
        for line, output in shown:
            console.print(Text(f"$ {line.format(id=id)}", style="bold"))
            console.print(Text.from_ansi(output.replace("\r\n", "\n").rstrip("\n") + "\n"))
        path = target / f"terminal-{name}.svg"
        picture = _FONTS.sub("", console.export_svg(title="ufo-experience", theme=theme))
        path.write_text(picture, encoding="utf-8", newline="\n")
        print(path)


def run(command: list[str], folder: str) -> str:
    """What a command writes to a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
        os.execvpe(sys.executable, [sys.executable, "-m", "ufo_experience", *command[1:]], environment)
    parts = []
    while True:
        try:
            data = os.read(terminal, 65_536)
        except OSError:  # how Linux ends a terminal whose program is gone
            break
        if not data:
            break
        parts.append(data)
    os.waitpid(child, 0)
    return b"".join(parts).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
