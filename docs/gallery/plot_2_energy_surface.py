"""
An energy surface over two dihedral angles, with forces
=======================================================

The energy of a molecule as a function of two dihedral angles lives on a torus: turn either angle by 360 degrees and the
molecule is the same. From noisy energies at scattered angles we learn the surface, and from the surface the forces,
which were never observed. Both come with standard deviations, and the forces are checked against analytic ones.
"""

# %%
# Data
# ----
# The surface is a short cosine series, as force fields have them, so that its derivatives are known. 600 energies
# with an error of 1 kJ/mol are given.

import matplotlib.pyplot as plt
import numpy as np

from torusgp import TorusGPRegressor
from torusgp.views.plotting import PredictionDisplay

NOISE_STD = 1.0  # kJ/mol
amplitudes = np.array([6.0, 8.0, 5.0, 4.0, 7.0, 3.0, 2.0])  # kJ/mol
multiples = np.array([[1, 0], [0, 1], [3, 0], [0, 3], [1, -1], [2, 1], [2, -3]])
offsets = np.array([30.0, -60.0, 0.0, 180.0, 40.0, 100.0, -20.0])  # degrees


def energy(angles):
    """Energies in kJ/mol at angles in degrees, shape (n, 2)."""
    return np.cos(np.radians(angles @ multiples.T - offsets)) @ amplitudes


def force(angles):
    """Minus the derivatives of the energy, in kJ/mol per degree, shape (n, 2)."""
    return np.sin(np.radians(angles @ multiples.T - offsets)) @ (amplitudes[:, None] * np.radians(multiples))


rng = np.random.default_rng(0)
angles = rng.uniform(-180, 180, (600, 2))
observed = energy(angles) + rng.normal(0, NOISE_STD, len(angles))

# %%
# Fit
# ---
# Both inputs have period 360. All else is learned: a length scale for each angle, the variance of the surface, that of
# the noise, and how many components are needed for what the noise lets one see.

model = TorusGPRegressor(period=360).fit(angles, observed)
print(f"length scales {model.kernel_.length_scale.round(2)}, {model.index_set_.n_components} columns")
print(f"noise: {np.sqrt(model.noise_variance_):.2f} kJ/mol learned, {NOISE_STD:.2f} true")

# %%
# The surface
# -----------
# On the left the energy, with arrows for the force; on the right its standard deviation, with the angles that were
# observed. It is small near them, and joins up across the edges of the picture, where there is none for the model.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
display = PredictionDisplay.from_estimator(model, angles, observed, include_noise=False, limits=(-180, 180))
display.plot(axes)
for ax, title in zip(axes, ("energy (kJ/mol)", "its standard deviation (kJ/mol)"), strict=True):
    ticks = np.arange(-180, 181, 60)
    ax.set(title=title, xlabel="first angle (degrees)", ylabel="second angle (degrees)", xticks=ticks, yticks=ticks)
    ax.set_aspect("equal")
grid = np.arange(-165, 180, 30.0)
points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
outline = {"color": "white", "edgecolor": "black", "linewidth": 0.5}  # seen on dark and on bright ground
arrows = axes[0].quiver(*points.T, *-model.predict_gradient(points).T, angles="xy", width=0.006, **outline)

# %%
# The forces
# ----------
# A Gaussian process has derivatives, which are Gaussian too: ``predict_gradient`` gives their means and standard
# deviations exactly. Along a line through the surface they can be compared with the analytic forces.

line = np.column_stack([np.linspace(-180, 180, 361), np.full(361, -60.0)])
gradient, std = model.predict_gradient(line, return_std=True)
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
for component, (colour, style) in enumerate([("#0072B2", "-"), ("#D55E00", "--")]):
    mean, half = -gradient[:, component], 1.96 * std[:, component]
    label = f"along angle {component + 1}"
    ax.fill_between(line[:, 0], mean - half, mean + half, color=colour, alpha=0.3, lw=0, label=f"{label}, 95 %")
    ax.plot(line[:, 0], force(line)[:, component], style, color=colour, lw=1.3, label=f"{label}, analytic")
ax.set(xlabel="first angle (degrees), the second at -60 degrees", ylabel="force (kJ/mol per degree)")
ax.set(xlim=(-180, 180), xticks=np.arange(-180, 181, 60))
ax.grid(alpha=0.3)
ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize="small")
figure.suptitle("predicted and analytic forces")

# %%
# Over the whole torus:

test = rng.uniform(-180, 180, (2000, 2))
gradient, std = model.predict_gradient(test, return_std=True)
error = -gradient - force(test)
size = np.sqrt(np.mean(force(test) ** 2))
print(f"error of the energies: {np.sqrt(np.mean((model.predict(test) - energy(test)) ** 2)):.2f} kJ/mol")
print(f"error of the forces: {np.sqrt(np.mean(error**2)) / size:.1%} of their size")
print(f"95 % intervals of the forces hold {np.mean(abs(error) < 1.96 * std):.1%} of the analytic ones")
