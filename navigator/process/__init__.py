"""Other programs: one way to start them, one way to end them."""
