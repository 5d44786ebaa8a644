"""Measuring speculation on real servers: a plan, its order, the servers' own counters, and a file that goes on after a crash."""
