"""A project's own test command, run on a proposal's tree where it can harm nothing.

`probe` says whether bubblewrap works here and how to get it; `suite.run_suite` writes a tree out and runs the command in it.
"""
