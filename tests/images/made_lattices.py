"""Images of atoms on a known lattice, strained, with a missing atom or without."""

import numpy as np

CELL = np.array([[12.3, 1.1], [-2.0, 10.4]])


def atoms(shape=(100, 100), cell=CELL, *, strain=0.0, noise=0.05, missing=None, seed=0):
    """Atoms of height one; strain along rows rises by so much from the first row to the last.

    Returns
    -------
    image, strain : ndarray of that shape
    """
    points = np.argwhere(np.ones(shape)).astype(float)
    below = points[:, 0] - (shape[0] - 1) / 2
    before = points.copy()
    before[:, 0] -= strain * below**2 / (2 * shape[0])
    fractions = before @ np.linalg.inv(cell)
    image = np.exp(2 * (np.cos(2 * np.pi * fractions) - 1).sum(axis=1))
    if missing is not None:
        site = np.rint(np.asarray(missing) @ np.linalg.inv(cell))
        image = image * (np.abs(fractions - site).max(axis=1) > 0.5)
    image = image + noise * np.random.default_rng(seed).normal(size=len(points))
    return image.reshape(shape), (strain * below / shape[0]).reshape(shape)


def in_basis(found, cell):
    """The true cell in the basis of one that was found."""
    return np.rint(found @ np.linalg.inv(cell)) @ cell
