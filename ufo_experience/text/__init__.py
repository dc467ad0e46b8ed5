"""What a request says: its intent without values, its weighted terms, and what contradicts it."""
