"""Stage 6, index: rows by words and vectors (`sqlite.py` for a folder, `postgres.py` on a server)."""
