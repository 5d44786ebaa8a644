"""Coding agents as writers: a program that speaks the Agent Client Protocol, in a sandbox, on a throw-away copy."""
