"""`navigator lab`: experiments on your own card."""
