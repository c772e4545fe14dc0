"""Files as they were written by each layout, and what they said then; kept for as long as they have to be read."""
