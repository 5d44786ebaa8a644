"""What is known of a proposal and of what waits for the developer, assembled once, with its words."""
