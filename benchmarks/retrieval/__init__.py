"""`bench retrieval`: does it find what it should?"""
