"""Navigator: a fast local model writes, a strong one reviews, the developer decides.

Importing this package does no work; each room is imported by whoever needs it.
"""

__version__ = "0.1.0"
