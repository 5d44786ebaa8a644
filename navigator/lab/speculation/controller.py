"""Choosing the draft length by its utility: the control loop of Cascade (arXiv 2506.20675)."""

from __future__ import annotations


def slowdown_of_tests(test: int, hold: int, cost: float) -> float:
    """Time of a test and the plain phase after it, relative to plain decoding throughout; a tested iteration takes `cost`."""
    return (hold + test * cost) / (hold + test)


def test_iterations(iterations: int, test: int, hold: int) -> float:
    """Iterations spent in tests, on average, when every phase has the same length."""
    return iterations / (test + hold) * test


def test_iterations_backing_off(iterations: int, test: int, hold: int) -> int:
    """The same when each test ends in switching off, and the phase after it is twice as long as the one before."""
    spent = tested = 0
    while spent < iterations:
        tested += min(test, iterations - spent)
        spent += test + hold
        hold *= 2
    return tested
