"""A server of scripted models for tests: edits and reviews by rule, over the rehearsal's wire format."""
