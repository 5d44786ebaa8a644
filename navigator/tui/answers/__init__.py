"""Words that models wrote, drawn to be read: no link is opened, no image fetched, no character trusted."""
