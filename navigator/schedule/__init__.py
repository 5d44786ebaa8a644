"""When to swap, what to do next, how long it will take: pure functions over the domain's snapshot."""
