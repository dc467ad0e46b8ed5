"""UFO's own Session, run on this package."""
