"""Kernels on the torus: families, sets of frequencies, and the errors of leaving the others out."""
