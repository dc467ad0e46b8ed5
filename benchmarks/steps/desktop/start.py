"""How the desktop looks before a task: people, messages, files, settings. Every call gives a fresh copy."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

State = dict[str, Any]

# What a task's slots are filled from, by the name `tasks.yaml` uses.
POOLS: dict[str, tuple[str, ...]] = {
    "person": ("Jane Miller", "Omar Haddad", "Lena Vogel", "Tom Becker", "Priya Nair"),
    "subject": ("Quarterly report", "Flight to Lisbon", "Team lunch", "Invoice 4471", "Server downtime"),
    "mail_folder": ("Archive", "Projects", "Receipts", "Travel", "Family"),
    "category": ("Red", "Green", "Blue", "Orange"),
    "file": ("budget.xlsx", "thesis.docx", "logo.png", "minutes.txt", "survey.csv"),
    "place": ("Documents", "Pictures", "Downloads", "Projects"),
    "alert_app": ("Calendar", "Chat", "Weather", "Podcasts", "Maps", "Music"),
    "access_app": ("Video call", "Scanner", "Browser", "Recorder", "Photo booth"),
    "sensor": ("Camera", "Microphone", "Location", "Contacts", "Screen"),
    "network": ("Blue Fern", "Cafe Sol", "Hotel Nord", "Library 2", "Airport Lounge"),
    "device": ("Wave headset", "Slim keyboard", "Trackball M4", "Pen tablet", "Desk speaker"),
    "language": ("German", "Spanish", "French", "Italian", "Polish"),
    "feature": ("Sticky keys", "Slow keys", "Toggle keys", "Mouse keys", "Bounce keys"),
    "role": ("Member", "Editor", "Administrator", "Auditor", "Operator"),
    "column": ("Region", "Product", "Units", "Price", "Margin", "Quarter"),
    "sheet": ("Sales", "Costs", "Staff", "Stock", "Plan"),
    "number": ("Currency", "Percent", "Date", "Plain text"),
    "chart": ("Line", "Pie", "Area", "Scatter"),
    "export": ("PDF", "CSV", "ODS", "HTML"),
    "freeze": ("First row", "First column", "First two rows", "First two columns"),
    "every": ("daily", "weekly", "monthly", "hourly", "yearly"),
    "answer": ("Always", "Never", "Weekdays only", "Later"),
    "address": ("jane@corp.example", "omar@corp.example", "lena@lab.example", "tom@shop.example", "priya@city.example"),
    "about": ("Budget draft", "Site visit", "New badge", "Spring fair", "Test results"),
    "saying": (
        "Please have a look.",
        "See you at noon.",
        "It is on your desk.",
        "Thanks for your help.",
        "All went well.",
    ),
    "signature": ("Kind regards, Ada", "Ada Lorenz, Purchasing", "Best, A.L.", "Ada, Room 214", "Sent from the lab"),
    "away": (
        "I am back on Monday.",
        "Please ask Omar.",
        "On leave until May.",
        "In workshops today.",
        "Back after lunch.",
    ),
    "time": ("21:30", "06:45", "18:15", "23:00", "19:20"),
    "title": ("Alpha 2", "Autumn list", "Final cut", "Harbour", "Notes B"),
    "host": ("proxy.corp.example", "10.0.0.7", "gate.lab.example", "relay.city.example", "cache.shop.example"),
    "port": ("8080", "3128", "8888", "1080", "9050"),
    "user": ("bruno", "carla", "dmitri", "elif", "farid"),
    "secret": ("Kestrel9", "blue-door", "m00nlight", "Tango77", "q1w2e3"),
}

_BIN = "Recycle bin"
_OTHER_FEATURES = ("High contrast", "Magnifier", "Large pointer", "Mono audio", "Live captions")


def start_state(seed: str) -> State:
    """The state every task begins with; the seed deals out messages, files and rows."""
    deal = random.Random(seed)
    return {"settings": _settings(), "mail": _mail(deal), "sheet": _sheet(deal), "files": _files(deal)}


def derived(values: Mapping[str, str], state: State) -> dict[str, str]:
    """What follows from the values of a task and the state at its start: `home`, the folder a file starts in."""
    return {"home": state["files"]["files"][values["file"]]["folder"]} if "file" in values else {}


def _settings() -> State:
    return {
        "update_checks": 0,
        "night_light": False,
        "night_from": "20:00",
        "language": "English",
        "networks": list(POOLS["network"]),
        "proxy": {"host": "", "port": "", "except": ""},
        "devices": list(POOLS["device"]),
        "alerts": {name: {"mute": False} for name in POOLS["alert_app"]},
        "access": {sensor: dict.fromkeys(POOLS["access_app"], False) for sensor in POOLS["sensor"]},
        "users": {"Ada": "Administrator"},
        "features": dict.fromkeys((*POOLS["feature"], *_OTHER_FEATURES), False),
        "backup": {"every": "never", "at": ""},
    }


def _mail(deal: random.Random) -> State:
    people = deal.sample(POOLS["person"], len(POOLS["person"]))
    subjects = deal.sample(POOLS["subject"], len(POOLS["subject"]))
    message = {"folder": "Inbox", "flag": False, "category": "None"}
    return {
        "folders": ["Inbox", *POOLS["mail_folder"], "Junk"],
        "messages": {
            subject: {**message, "from": sender, "text": f"More about: {subject}."}
            for subject, sender in zip(subjects, people, strict=True)
        },
        "sent": [],
        "blocked": [],
        "signature": "",
        "receipts": "Ask",
        "away": {"on": False, "text": ""},
        "rules": {},
        "refreshed": 0,
    }


def _sheet(deal: random.Random) -> State:
    rows = [
        [deal.choice("NESW"), f"P{at}", deal.randint(1, 90), deal.randint(5, 60), deal.randint(1, 40), f"Q{at % 4 + 1}"]
        for at in range(8)
    ]
    sheets = {
        name: {"hidden": [], "sort": "", "filter": "", "formats": {}, "charts": {}, "password": "", "frozen": ""}
        for name in POOLS["sheet"]
    }
    return {"columns": list(POOLS["column"]), "rows": rows, "sheets": sheets, "exports": {}, "recalculated": 0}


def _files(deal: random.Random) -> State:
    files = {
        name: {"name": name, "folder": deal.choice(POOLS["place"]), "shared": "", "tags": "", "locked": False}
        for name in deal.sample(POOLS["file"], len(POOLS["file"]))
    }
    return {"folders": [*POOLS["place"], _BIN], "files": files, "archives": {}, "created": {}, "synced": 0}
