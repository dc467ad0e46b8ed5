"""The local page where people see, correct and approve what was learned: `ufo-experience review`.

`guard.py` says who may talk to it, `rows.py` what it shows of every record, `actions.py` what a person can do,
`pages.py` has a function for each page, `app.py` routes and the server. Pages work without JavaScript;
`static/review.js` adds keys.
"""
