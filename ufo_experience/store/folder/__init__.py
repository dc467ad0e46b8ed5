"""The folder store: one immutable JSON file per record, readers without locks."""
