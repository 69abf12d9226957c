"""What a secret can look like in bytes: the encodings of a known one, and the shapes of those that nobody told us."""
