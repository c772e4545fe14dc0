"""
Forces as data: minima and barriers of a two-dihedral surface
=============================================================

A quantum-chemistry calculation gives an energy and, at little extra cost, its gradient. Here 36 energies with gradients
over two dihedral angles give a surface, its minima and the barrier between them, with standard errors, and the points
where the next calculations would help the barrier most.
"""

# %%
# Data
# ----
# A short cosine series stands for the molecule, so that the truth is known. Energies are in kJ/mol, and gradients in
# kJ/mol per degree: minus the forces.

import matplotlib.pyplot as plt
import numpy as np

from torusgp import TorusGPRegressor
from torusgp.surfaces import find_stationary_points, free_energy, minimum_energy_path, suggest
from torusgp.views.plotting import SurfaceDisplay

amplitudes = np.array([7.5, 5.0, 3.0, 1.5])
multiples = np.array([[1, 0], [0, 2], [1, -1], [2, 1]])
offsets = np.array([0.0, 0.0, 0.0, 90.0])  # degrees


def energy(angles):
    return np.cos(np.radians(angles @ multiples.T - offsets)) @ amplitudes


def gradient(angles):
    return -np.sin(np.radians(angles @ multiples.T - offsets)) @ (amplitudes[:, None] * np.radians(multiples))


rng = np.random.default_rng(0)
ticks = np.arange(-180, 180, 60.0)
angles = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
energies = energy(angles) + 0.2 * rng.normal(size=36)
gradients = gradient(angles) + 0.2 * np.radians(1) * rng.normal(size=(36, 2))

# %%
# Fit
# ---
# The same 36 points with gradients and without, and forces alone, which give the surface up to a constant.

settings = {"period": 360}
models = {
    "energies and gradients": TorusGPRegressor(**settings).fit(angles, energies, X_gradient=angles, gradient=gradients),
    "energies": TorusGPRegressor(**settings).fit(angles, energies),
    "gradients": TorusGPRegressor(**settings).fit(None, None, X_gradient=angles, gradient=gradients),
}
test = rng.uniform(-180, 180, (2000, 2))
for name, one in models.items():
    print(f"{name}: error {np.std(one.predict(test) - energy(test)):.2f} kJ/mol, up to a constant")

# %%
# Minima, passes and the barrier
# ------------------------------
# All stationary points are found at once, periodic images counted once, and shown in the range of the data.

model = models["energies and gradients"]
points = find_stationary_points(model)
print(points)
path = minimum_energy_path(model, points.minima[0], points.minima[1], points=points)
exact = [energy(point.position[None])[0] for point in (path.minima[0], path.highest)]
print(f"barrier {path.barrier:.2f} +- {path.barrier_std:.2f} kJ/mol, true {exact[1] - exact[0]:.2f}")

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
display = SurfaceDisplay.from_estimator(model, angles, points=points, paths=[path]).plot(axes[0])
following = suggest(model, 4, path=path, with_gradient=True)
axes[0].plot(*following.T, "s", color="red", markersize=5)
along = np.append(0, np.cumsum(np.linalg.norm(np.diff(path.points, axis=0), axis=1)))
axes[1].fill_between(along, path.values - 2 * path.std, path.values + 2 * path.std, color="#56B4E9", alpha=0.4)
axes[1].plot(along, path.values, color="#0072B2", label="prediction, two standard errors")
axes[1].plot(along, energy(path.points), "--", color="#D55E00", label="truth")
axes[1].set(xlabel="along the path (degrees)", ylabel="energy (kJ/mol)")
axes[1].legend(frameon=False)
axes[1].grid(alpha=0.3)

# %%
# The red squares are the four calculations that would reduce the error of the barrier most.
#
# A free energy
# -------------
# What an experiment at room temperature sees of the first angle alone:

profile = free_energy(model, 2.5, 0, sizes=(72, 72))
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.fill_between(profile.grid[0], profile.value - 2 * profile.std, profile.value + 2 * profile.std, alpha=0.4)
ax.plot(profile.grid[0], profile.value)
ax.set(xlabel="first angle (degrees)", ylabel="free energy (kJ/mol)", xlim=(-180, 180))
ax.grid(alpha=0.3)
