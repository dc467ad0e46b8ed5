"""What makes one candidate better than another: words, vectors, how both combine, and what became of it before."""
