"""Edit blocks: read from an answer, matched against a pinned tree, applied in memory, all or nothing."""
