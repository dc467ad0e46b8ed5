"""Stage 7, retrieve: candidates by words and vectors, fused to one score; the structured ranker alongside."""
