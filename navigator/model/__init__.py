"""The vocabulary of Navigator as frozen models and pure rules. No file, socket or process is touched here."""
