"""Other people's shapes of an experience, one file a shape."""
