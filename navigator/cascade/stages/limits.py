"""When a failed call is the task's own fault and not the server's."""

FAILED_CALLS_A_ROUND = 3
"""Calls of one round that may break off (stalled, cut, timed out) before the task, not the server, is at fault."""

TASKS_OWN_FAULT = frozenset({400, 413, 422})
"""HTTP statuses that speak about this request; others (401, 404 …) are about the server and concern every task."""
