"""
A texture with a hole, filled with a learned lattice
====================================================

A photograph of something that repeats has lost its middle. Neither the two lattice vectors of the pattern nor their
angle are known. They are found in the pixels around the hole, learned together with everything else, and the hole is
filled, with the uncertainty of each pixel.
"""

# %%
# Data
# ----
# One of the textures of the papers on this task if it is at hand; otherwise a made-up photograph of round bumps, lit
# from one side, whose rows are tilted against the picture.

# sphinx_gallery_thumbnail_number = 2
import os

import matplotlib.pyplot as plt
import numpy as np

from torusgp.data.datasets import load_texture
from torusgp.images.inpainting import inpaint, make_lattice_regressor
from torusgp.views.plotting import InpaintingDisplay, PeriodogramDisplay

if os.environ.get("TORUSGP_DATA"):
    image = load_texture("pores").image[:66, :66]
else:
    pixels = np.moveaxis(np.indices((66, 66)), 0, -1)
    turns = pixels @ np.linalg.inv([[12.1, 2.3], [4.0, 11.6]])
    bumps = np.exp(np.cos(2 * np.pi * turns).sum(axis=-1) - 2)
    image = bumps * (1 + pixels[..., 1] / 200) + np.random.default_rng(0).normal(0, 0.03, (66, 66))
hole = np.zeros(image.shape, dtype=bool)
hole[22:44, 22:44] = True

# %%
# Search, learn, fill
# -------------------
# ``make_lattice_regressor`` is :class:`torusgp.TorusGPRegressor` with ``period="auto"`` and ``"lattice"`` in ``learn``.
# It begins with :func:`torusgp.find_period`, which takes the strongest sinusoids out of a periodogram of the scattered
# pixels and ranks the lattices that hold them by evidence, and goes on learning the cell by the gradient of the
# evidence. Slow change such as lighting is found beside the pattern, so that it does not pass for a part of it.

result = inpaint(image, hole, make_lattice_regressor(n_components=151))
model = result.estimator
found = model.period_search_[0]
print(f"lattice vectors (rows, columns; pixels):\n{result.cell.round(3)}")
print(f"standard errors:\n{result.cell_std.round(3)}")
print(f"gain of the lattice in log evidence: {found.gain:.0f} (reported from 5 on)")
print(f"error in the hole: {result.rmse:.3f} on a scale of 0 to 1; noise: {model.noise_variance_**0.5:.3f}")

# %%
# The gain is that over a picture that does not repeat, in which these sinusoids are as strong as the frequencies beside
# them. The periodogram shows why it is large: what stands out lies on the points of one reciprocal lattice.

ax = plt.figure(figsize=(5.6, 5), layout="constrained").subplots()
periodogram = PeriodogramDisplay.from_estimator(model, names=("row", "column")).plot(ax, max_frequency=0.25)

# %%
# The result
# ----------
# Lines in the second panel show the learned cell. The uncertainty is nearly the same in the whole hole: a pattern that
# repeats is known there as well as elsewhere.

figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), sharex=True, sharey=True, layout="constrained")
display = InpaintingDisplay.from_result(result).plot(axes.ravel())
for ax in axes.flat:
    ax.label_outer()
axes[1, 0].set_ylabel("row (pixels)")

# %%
# Are the standard deviations right? A calibrated fill has as many pixels inside its intervals as these say.

error, std = (result.filled - image)[hole], result.std[hole]
for coverage, factor in ((0.5, 0.674), (0.9, 1.645), (0.99, 2.576)):
    print(f"{coverage:.0%} intervals hold {np.mean(abs(error) < factor * std):.1%} of the pixels in the hole")
