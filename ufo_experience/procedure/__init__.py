"""A known way, carried out: an experience becomes a procedure, and a guide keeps its place in it.

    experience ──▶ procedure ──bind to the new task──▶ guide ──▶ Act | Stop, checked against the controls in view

Pure data in, data out: no model, no browser, no clock.
"""
