"""The conductor: what runs when, on which model, and how clients reach it."""
