"""
Electron density in a crystal whose cell is not rectangular
===========================================================

A crystal repeats with three lattice vectors that need not be at right angles. Give them as the rows of a matrix, and
the torus is that of the crystal. Here the density of the valence electrons of body-centred cubic lithium is learned
from 1500 noisy values, and predicted everywhere, with its uncertainty. Two kinds of kernels are compared: one that is
a function of the lattice alone, and a product kernel, which depends on the basis that was chosen for it.
"""

# %%
# Data
# ----
# A density calculated with VASP if it is at hand; otherwise one that is made up: an electron cloud around every atom
# of the same lattice, with a dip at the nucleus. Lengths are in Angstrom.

import os

import matplotlib.pyplot as plt
import numpy as np

from torusgp import TorusGPRegressor
from torusgp.data.datasets import LithiumDensity, load_lithium_density
from torusgp.kernels.spectra import Heat


def make_density(lattice_constant=3.43, n_grid=32):
    """A made-up density on the primitive cell of a body-centred cubic lattice, of one electron."""
    cell = lattice_constant / 2 * np.array([[1.0, 1, -1], [-1, 1, 1], [1, -1, 1]])
    points = np.argwhere(np.ones((n_grid,) * 3)) / n_grid @ cell
    images = np.argwhere(np.ones((7, 7, 7))) - 3
    density = np.zeros(len(points))
    for image in images @ cell:
        squares = ((points - image) ** 2).sum(axis=1)
        density += np.exp(-squares / (2 * 0.8**2)) - 0.6 * np.exp(-squares / (2 * 0.4**2))
    volume = abs(np.linalg.det(cell))
    return LithiumDensity(cell, (density / density.mean() / volume).reshape((n_grid,) * 3))


crystal = load_lithium_density() if os.environ.get("TORUSGP_DATA") else make_density()
rng = np.random.default_rng(0)
X, y = crystal.positions, crystal.density.ravel()
train = rng.choice(len(y), 1500, replace=False)
test = np.setdiff1d(np.arange(len(y)), train)
observed = y[train] + rng.normal(0, 0.02 * y.std(), len(train))
directions = crystal.cell / np.linalg.norm(crystal.cell, axis=1, keepdims=True)
angles = np.degrees(np.arccos((directions @ directions.T)[np.triu_indices(3, 1)]))
print(f"lattice vectors (Angstrom):\n{crystal.cell.round(2)}\nangles between them (degrees): {angles.round(1)}")

# %%
# Two kernels, two bases
# ----------------------
# Any lattice has many bases. The second one here has a sum of vectors in place of the third. The heat kernel in
# Cartesian coordinates has a single length scale in Angstrom and is the same for both; so are its fits, to the
# precision of learning. A product over lattice directions differs between bases, and the evidence prefers one of them.
# Here it prefers the heat kernel to both. The last column is below 95 %: a stationary kernel expects the same
# roughness everywhere, but near the nucleus the density is sharper than elsewhere.

other_basis = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1]]) @ crystal.cell
print(f"{'kernel':10}{'basis':10}{'columns':>8}{'log evidence':>14}{'error / std':>13}{'in 95 % intervals':>19}")
models = {}
for name, kernel in (("heat", Heat(metric="cartesian")), ("product", "squared_exponential")):
    for basis, cell in (("given", crystal.cell), ("other", other_basis)):
        model = TorusGPRegressor(kernel, period=cell, n_components=501).fit(X[train], observed)
        mean, std = model.predict(X[test], return_std=True, include_noise=False)
        error = np.sqrt(np.mean((mean - y[test]) ** 2)) / y.std()
        inside = np.mean(abs(mean - y[test]) < 1.96 * std)
        evidence = model.log_marginal_likelihood_
        print(f"{name:10}{basis:10}{model.index_set_.n_components:8}{evidence:14.1f}{error:13.4f}{inside:19.1%}")
        models[name, basis] = model

# %%
# The density in a plane
# ----------------------
# The plane holds an edge of the cubic cell (horizontal) and a diagonal of its face (vertical). The prediction goes on
# through as many cells as one likes.

model = models["heat", "given"]
first, second, third = crystal.cell
edge, diagonal = first + second, first + second + 2 * third  # two directions at right angles
lengths = np.linalg.norm([edge, diagonal], axis=1)
s, t = np.linspace(0, 2 * lengths[0], 120), np.linspace(0, 1.4 * lengths[1], 120)
plane = (s[:, None, None] * edge / lengths[0] + t[:, None] * diagonal / lengths[1]).reshape(-1, 3)
mean, std = (values.reshape(120, 120) for values in model.predict(plane, return_std=True, include_noise=False))

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
units = ("electrons per cubic Angstrom", "thousandths of that")
titles = ("density", "its standard deviation")
for ax, values, title, unit, colours in zip(
    axes, (mean, 1000 * std), titles, units, ("viridis", "cividis"), strict=True
):
    picture = ax.pcolormesh(s, t, values.T, cmap=colours, shading="gouraud", rasterized=True)
    figure.colorbar(picture, ax=ax, shrink=0.9, label=unit)
    ax.set(title=title, xlabel="along the edge (Angstrom)", ylabel="along the diagonal (Angstrom)", aspect="equal")

# %%
# Predictions for the grid points that were not used, all of them:

figure, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.plot(y[test], model.predict(X[test]), ".", color="#0072B2", markersize=2, alpha=0.3, rasterized=True)
ax.axline((y.mean(), y.mean()), slope=1, color="0.3", linewidth=0.8)
ax.set(title="density (electrons per cubic Angstrom)", xlabel="given", ylabel="predicted", aspect="equal")
ax.grid(alpha=0.3)
