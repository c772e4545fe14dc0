"""Hyperparameters, periods and lattices, learned from rows."""
