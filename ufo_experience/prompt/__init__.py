"""Stage 8, inject: hits to a few-shot block, framed as data, with an audit of what was shown."""
