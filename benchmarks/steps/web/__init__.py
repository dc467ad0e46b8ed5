"""Web applications that we did not write, each a process of its own on the loopback with a throw-away database."""

from benchmarks.steps.web.web_task import WebTask, web_families

__all__ = ["WebTask", "web_families"]
