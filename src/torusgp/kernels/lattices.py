"""Geometry of lattices: short bases, points in a ball, vectors folded into the cell around the origin.

A lattice is given by a basis, one vector a row.
"""

from itertools import combinations, product

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
    if len(basis) == 1 and radius < max_points * abs(basis[0, 0]) / 2:
        most = int(radius / abs(basis[0, 0]))
        return np.arange(-most, most + 1)[:, None]
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


def shortest_basis(basis):
    """Basis of the same lattice made of its shortest vectors, shortest first, right-handed; for up to three dimensions.

    Signs: the first non-zero entry of every vector but the last is positive.
    """
    basis = np.asarray(basis, dtype=float)
    reduced = reduced_basis(basis) @ basis
    dimension = len(basis)
    radius = np.linalg.norm(reduced, axis=1).max()
    points = lattice_points(reduced, radius * (1 + 1e-9))
    lengths = (np.linalg.norm(points @ reduced, axis=1) / radius).round(9)
    # of equally long vectors, those along the first inputs come first
    directions = -np.abs(points @ reduced / radius).round(9)
    points = points[np.lexsort([*directions.T[::-1], lengths])]
    points = points[points.any(axis=1)]
    chosen = np.empty((0, dimension), dtype=np.int64)
    for point in points:
        trial = np.vstack([chosen, point])
        if np.linalg.matrix_rank(trial) == len(trial):
            chosen = trial
        if len(chosen) == dimension:
            break
    return canonical_signs(chosen @ reduced)


def canonical_signs(basis):
    """The vectors in the same order, with the first non-zero entry of all but the last positive, right-handed."""
    basis = np.array(basis, dtype=float)
    for row in basis[:-1]:
        leading = row[np.abs(row) > 1e-9 * np.abs(row).max()][0]
        if leading < 0:
            row *= -1
    if np.linalg.det(basis) < 0:
        basis[-1] *= -1
    return basis


def short_bases(basis, most=16):
    """Bases of the lattice whose vectors are short, shortest in total first, and in two dimensions a centred cell.

    A product kernel depends on the basis: these are the ones worth trying. In two dimensions they are the three made
    of the shortest vectors, and of their sums and differences the pair that is most nearly a rectangle.

    Parameters
    ----------
    basis : array-like of shape (dimension, dimension)
        Any basis.
    most : int, default=16
        Largest number of primitive bases.

    Returns
    -------
    list of ndarray
        In canonical form: shortest vectors first, right-handed.
    """
    shortest = shortest_basis(basis)
    dimension = len(shortest)
    grid = np.stack(np.meshgrid(*[np.arange(-1, 2)] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    half = grid[len(grid) // 2 + 1 :]
    length = np.linalg.norm(half @ shortest, axis=1)
    half = half[np.argsort(length, kind="stable")][:7]  # a Voronoi cell has at most 7 pairs of faces in 3-D, 3 in 2-D
    half = half[:3] if dimension == 2 else half
    changes = [np.array(rows) for rows in combinations(half, dimension)]
    changes = [change for change in changes if abs(round(np.linalg.det(change))) == 1]
    changes.sort(key=lambda change: np.linalg.norm(change @ shortest, axis=1).sum())
    changes = changes[:most]
    if dimension == 2:
        centred = [np.array([[1, 1], [1, -1]]) @ change for change in changes]
        angles = [abs(_cosine(change @ shortest)) for change in centred]
        changes.append(centred[int(np.argmin(angles))])  # the one that is most nearly a rectangle
    return [by_length(change @ shortest) for change in changes]


def _cosine(basis):
    """Cosine of the angle between two vectors."""
    return basis[0] @ basis[1] / np.prod(np.linalg.norm(basis, axis=1))


def by_length(basis):
    """The same vectors, shortest first, with canonical signs."""
    basis = np.asarray(basis, dtype=float)
    lengths = np.linalg.norm(basis, axis=1)
    return canonical_signs(basis[np.argsort((lengths / lengths.max()).round(9), kind="stable")])


def cell_errors(cell, changes, covariance):
    """Standard errors of the entries of a cell, from those of its inverse.

    Parameters
    ----------
    cell : ndarray of shape (dimension, dimension)
        The cell.
    changes : ndarray of shape (n_parameters, dimension, dimension)
        Derivatives of the inverse cell in some parameters.
    covariance : ndarray of shape (n_parameters, n_parameters)
        Covariance of these.

    Returns
    -------
    ndarray of shape (dimension, dimension)
    """
    slopes = -cell @ changes @ cell
    return np.sqrt(np.maximum(np.einsum("iab,ij,jab->ab", slopes, covariance, slopes), 0.0))


def sublattice_changes(dimension, index):
    """Integer matrices whose rows span every sublattice of this index, in Hermite normal form."""
    diagonals = [d for d in product(range(1, index + 1), repeat=dimension) if np.prod(d) == index]
    matrices = []
    for diagonal in diagonals:
        places = [(i, j) for i in range(dimension) for j in range(i + 1, dimension)]
        for entries in product(*[range(diagonal[j]) for _, j in places]):
            matrix = np.diag(diagonal)
            for (i, j), entry in zip(places, entries, strict=True):
                matrix[i, j] = entry
            matrices.append(matrix)
    return matrices
