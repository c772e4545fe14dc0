"""
Strain and defects in an image of a lattice
===========================================

An image that repeats has a cell, and where the cell changes slowly, a strain. Both are found with their errors, first
in a made-up micrograph whose strain and missing atom are known, then in a photograph.
"""

# %%
# A made-up micrograph
# --------------------
# Atoms on an oblique lattice, stretched along the rows by 1 % from top to bottom; one atom is missing.

import os

import matplotlib.pyplot as plt
import numpy as np

from torusgp import find_lattice
from torusgp.data.datasets import load_texture
from torusgp.views.plotting import LatticeDisplay

shape, cell = (110, 110), np.array([[12.3, 1.1], [-2.0, 10.4]])  # (row, column) in pixels
points = np.argwhere(np.ones(shape)).astype(float)
before = points.copy()
before[:, 0] -= 0.01 * (points[:, 0] - 54.5) ** 2 / (2 * shape[0])
fractions = before @ np.linalg.inv(cell)
atoms = np.exp(2 * (np.cos(2 * np.pi * fractions) - 1).sum(axis=1))
atoms[np.abs(fractions - [5, 6]).max(axis=1) < 0.5] = 0.0
image = (atoms + 0.03 * np.random.default_rng(0).normal(size=len(atoms))).reshape(shape)

found = find_lattice(image, n_components=201)
print(f"lengths {found.lengths.round(3)} +- {found.lengths_std.round(3)} pixels")
print(f"angle {found.angle:.2f} +- {found.angle_std:.2f} degrees")
strain, std = found.strain([[0, 55], [109, 55]])
print(
    f"strain along rows: {100 * strain[0, 0]:.2f} % at the top, {100 * strain[1, 0]:.2f} % at the bottom, "
    f"+- {100 * std[0, 0]:.2f} %"
)
print(f"missing atom at {([5, 6] @ cell).round(1)}, largest residual at {found.defects()[0].position}")

# %%
# The image with its cell, the average cell drawn finer than the pixels, what differs from it, and the strain:

LatticeDisplay.from_result(found).plot()

# %%
# A photograph
# ------------
# Pores in a plate, from the textures of a paper, if they are at hand. What does not repeat here is the light, and the
# camera; the residuals are no white noise, which makes the errors larger.

if os.environ.get("TORUSGP_DATA"):
    photograph = load_texture("pores").image
    found = find_lattice(photograph, n_components=201)
    print(f"lengths {found.lengths.round(3)} +- {found.lengths_std.round(3)} pixels")
    strain, std = found.strain()
    print(f"strain from {100 * strain[..., :2].min():.2f} to {100 * strain[..., :2].max():.2f} %")
    LatticeDisplay.from_result(found).plot()
plt.show()
