"""The PostgreSQL store: the same records in a database many agents share."""
