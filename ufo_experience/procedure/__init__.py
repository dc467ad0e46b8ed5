"""The known way of a task: made of its runs, bound to a request (`retrieve.pairing`), told as one text, followed.

    runs         which runs are of one task, which went one way, and what they agree on
    steps        a recorded step, and what may be told of it
    values       the new values in the texts of an old run
    binding      what is the task's own, what belongs to the application, what is left open
    procedure    all of it as one object with its text; `render` writes a step
    screen       the controls in view; `matching` finds the one that a step means
    guide        a place in the way: `acts.Act` or `acts.Stop`
    offer        which way is followed, and what is told where none is known
    cleaning     text of a record made harmless in a prompt

Pure data in, data out: no model, no browser, no clock.
"""
