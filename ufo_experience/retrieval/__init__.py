"""Stage 6, RETRIEVE: candidates by words and vectors, fused to one score; the structured ranker alongside."""
