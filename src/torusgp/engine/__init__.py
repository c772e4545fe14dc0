"""Columns, sums over rows, and what follows from the sums."""
