"""Small programs that show how the parts are put together; each can be run with `python -m`."""
