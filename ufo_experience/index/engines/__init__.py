"""Vector engines side by side: FAISS kernels in process, pgvector, Milvus."""
