"""UFO's session logs, every release from v0.0.1 to v3."""
