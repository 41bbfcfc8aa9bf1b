"""Training a decoder on the next token: what it reads, the loop, and what its curve comes to."""
