"""One name per application: UFO logs `OUTLOOK.EXE` or `olk.exe`, people say "Outlook".

Filters compare `application_key`: exact, after case folding and these process names. Nothing fuzzy.
"""

from __future__ import annotations

import unicodedata

from ufo_experience.text.remembered import remembered

_PROCESS_NAMES = {
    "winword": "word",
    "powerpnt": "powerpoint",
    "olk": "outlook",
    "msedge": "edge",
    "msedgewebview2": "edge",
    "ms-teams": "teams",
    "msteams": "teams",
    "onenoteim": "onenote",
    "systemsettings": "settings",
}


@remembered(4_096)
def application_key(name: str | None) -> str:
    """The form in which application names are compared; empty when there is none.

    >>> application_key("OUTLOOK.EXE") == application_key("Outlook")
    True
    """
    key = unicodedata.normalize("NFC", name or "").strip().casefold()
    key = key.removesuffix(".exe").removeprefix("microsoft ")
    return _PROCESS_NAMES.get(key, key)


def process_names(key: str) -> list[str]:
    """The Windows processes an application key may stand for.

    >>> process_names("outlook")
    ['outlook.exe', 'olk.exe']
    """
    others = [process for process, known in _PROCESS_NAMES.items() if known == key]
    return [f"{name}.exe" for name in (key, *others) if name]
