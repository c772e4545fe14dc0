"""Geometry of lattices: short bases, points in a ball, vectors folded into the cell around the origin.

A lattice is given by a basis, one vector a row.
"""

import numpy as np


def reduced_basis(basis):
    """Integer matrix U such that the rows of ``U @ basis`` are short (Lenstra, Lenstra and Lovasz)."""
    basis = np.array(basis, dtype=float)
    dimension = len(basis)
    change = np.eye(dimension, dtype=np.int64)
    row = 1
    while row < dimension:
        for other in range(row - 1, -1, -1):
            orthogonal, ratios = _gram_schmidt(basis)
            multiple = round(ratios[row, other])
            basis[row] -= multiple * basis[other]
            change[row] -= multiple * change[other]
        orthogonal, ratios = _gram_schmidt(basis)
        squares = (orthogonal**2).sum(axis=1)
        if squares[row] >= (0.99 - ratios[row, row - 1] ** 2) * squares[row - 1]:
            row += 1
        else:
            basis[[row - 1, row]], change[[row - 1, row]] = basis[[row, row - 1]], change[[row, row - 1]]
            row = max(row - 1, 1)
    return change


def _gram_schmidt(basis):
    orthogonal = basis.copy()
    ratios = np.eye(len(basis))
    for i in range(len(basis)):
        for j in range(i):
            ratios[i, j] = basis[i] @ orthogonal[j] / (orthogonal[j] @ orthogonal[j])
            orthogonal[i] -= ratios[i, j] * orthogonal[j]
    return orthogonal, ratios


def lattice_points(basis, radius, max_points=10**7):
    """Integer vectors n with ``|n @ basis| <= radius``, in no particular order (Fincke and Pohst)."""
    change = reduced_basis(basis)
    # rows of the reduced basis in an orthonormal frame: lower triangular
    triangle = np.linalg.cholesky((change @ basis) @ (change @ basis).T)
    dimension = len(basis)
    points = np.zeros((1, dimension), dtype=np.int64)
    shift = np.zeros((1, dimension))  # coordinates in the frame from the entries fixed so far
    room = np.full(1, radius**2)
    for axis in range(dimension - 1, -1, -1):
        length = triangle[axis, axis]
        reach = np.sqrt(np.maximum(room, 0))
        first = np.ceil((-reach - shift[:, axis]) / length).astype(np.int64)
        counts = np.maximum(np.floor((reach - shift[:, axis]) / length).astype(np.int64) - first + 1, 0)
        if counts.sum() > max_points:
            raise ValueError(f"More than {max_points} lattice points lie within {radius:g} of the origin.")
        parent = np.repeat(np.arange(len(counts)), counts)
        value = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[parent]
        points = points[parent]
        points[:, axis] = value
        shift = shift[parent] + value[:, None] * triangle[axis]
        room = room[parent] - shift[:, axis] ** 2
    return points @ change


def fold(fractional, cell):
    """Vectors congruent to ``fractional @ cell`` that lie in the parallelepiped of a reduced basis around 0."""
    change = reduced_basis(cell)
    local = fractional @ np.linalg.inv(change)
    return (local - np.rint(local)) @ (change @ cell)
