"""Reproduction of the paper's figures and table, and a check of its claims: ``python -m paper`` or ``make paper``."""
