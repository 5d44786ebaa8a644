"""What the review screen shows, as data: read in threads, drawn elsewhere."""
