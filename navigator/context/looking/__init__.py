"""Looking: a model asks for parts of the pinned base before it writes, and is answered within a budget."""
