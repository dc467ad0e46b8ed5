"""Drop-ins for other programs: UFO, agent frameworks, OSWorld, MCP, and a recorder for any loop."""

from ufo_experience.integrations.recorder import Recorder

__all__ = ["Recorder"]
