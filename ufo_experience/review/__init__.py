"""The local page where people see, correct and approve what was learned: `ufo-experience review`.

    guard.py      who may talk to the page at all: host, token, origin, size, headers
    rows.py       what pages show of every record, kept in line with the store; how the list is searched
    actions.py    approve, quarantine, remove, edit, merge, undo; each bound to what the person saw
    pages.py      one function a page
    app.py        routes, templates, and the server

Needs `pip install "ufo-experience[web]"`. Pages work without JavaScript; `static/review.js` adds keys.
"""
