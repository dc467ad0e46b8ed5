"""Embedding by the Batch API: half the price, answers within a day, nothing paid twice."""
