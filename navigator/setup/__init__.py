"""Examining and setting up this machine: doctor, profiles, units, what fits into memory, and taking it all away again."""
