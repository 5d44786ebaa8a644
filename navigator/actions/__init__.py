"""What a client may ask for. The same functions serve the conductor's socket and a command that found no conductor."""
