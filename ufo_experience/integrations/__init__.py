"""Drop-ins for other programs: UFO, agent frameworks, OSWorld, MCP, and a recorder for any loop."""
