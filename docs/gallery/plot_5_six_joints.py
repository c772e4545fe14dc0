"""
A torus of six dimensions: the joints of a robot
================================================

The height of a robot's tool is a function of six joint angles, a point on a six-dimensional torus. A grid of ten values
for each angle would have a million points; we have 3000 noisy readings at random angles. How many joints act together,
which of them matter, and can a thousand columns be enough?
"""

# %%
# Data
# ----
# A usual arm: the first joint turns the whole robot about the vertical, so the height does not depend on it; the last
# one turns a slightly bent tool about its axis, so it matters little. Heights are in metres, angles in degrees.

# sphinx_gallery_thumbnail_number = 3
from functools import reduce
from operator import mul

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import Circle, TorusGPRegressor, analysis
from torusgp.views.plotting import AttributionDisplay, CoefficientDisplay, PredictionDisplay

JOINTS = ["base", "shoulder", "elbow", "forearm", "wrist", "tool"]
AXES = "zyyxyx"  # about which each joint turns
LINKS = np.array([[0, 0, 0.4], [0.5, 0, 0], [0.4, 0, 0], [0.1, 0, 0], [0.1, 0, 0], [0.15, 0.05, 0]])  # metres
NOISE_STD = 0.04  # metres


def rotate(vectors, angle, axis):
    """Vectors turned about a coordinate axis, each by its own angle."""
    first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    turned = vectors.copy()
    turned[:, first] = np.cos(angle) * vectors[:, first] - np.sin(angle) * vectors[:, second]
    turned[:, second] = np.sin(angle) * vectors[:, first] + np.cos(angle) * vectors[:, second]
    return turned


def height(angles):
    """Height of the tool in metres, from the tool back to the base."""
    position = np.zeros((len(angles), 3))
    for angle, axis, link in zip(np.radians(angles.T)[::-1], AXES[::-1], LINKS[::-1], strict=True):
        position = rotate(position + link, angle, axis)
    return position[:, 2]


rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-180, 180, (3000, 6)), columns=JOINTS)
y = height(X.to_numpy()) + rng.normal(0, NOISE_STD, len(X))
test = pd.DataFrame(rng.uniform(-180, 180, (5000, 6)), columns=JOINTS)
truth = height(test.to_numpy())

# %%
# How many joints act together?
# -----------------------------
# Rotations multiply, so joints act in groups. ``limited`` says how large the groups of a model may be; the noise
# that it learns then holds what it cannot explain. The adaptive index set takes the 1001 largest coefficients of the
# kernel and follows the length scales while they are learned; a full grid up to frequency 2 would have 15625.
#
# In six dimensions one should not ask for few components: groups of four joints have columns only in a large set, and
# joints that matter in such groups alone look useless to a small one.

joints = reduce(mul, [Circle(joint, 360) for joint in JOINTS])
models = {
    "no interactions": TorusGPRegressor(joints.limited(1), n_components=101),
    "up to three": TorusGPRegressor(joints.limited(3), n_components=601),
    "all": TorusGPRegressor(joints, index_set="adaptive", n_components=1001),
}
print(f"{'interactions':16}{'columns':>8}{'error (mm)':>12}{'noise, learned (mm)':>21}{'in 95 % intervals':>19}")
for name, model in models.items():
    mean, std = model.fit(X, y).predict(test, return_std=True, include_noise=False)
    error, inside = np.sqrt(np.mean((mean - truth) ** 2)), np.mean(abs(mean - truth) < 1.96 * std)
    noise = np.sqrt(model.noise_variance_)
    print(f"{name:16}{model.index_set_.n_components:8}{1000 * error:12.1f}{1000 * noise:21.1f}{inside:19.1%}")

# %%
# What was learned
# ----------------
# The noise is 40 mm, and the model finds that out. A long length scale says that nothing changes with an angle: the
# base does not matter.

model = models["all"]
for joint, length_scale in zip(JOINTS, model.kernel_.length_scale, strict=True):
    print(f"{joint:9} {length_scale:7.2f}")

# %%
# The coefficients of the learned kernel that the set keeps, one after the other. They fall by many orders of magnitude,
# which is why so few of them do.

ax = plt.figure(figsize=(6.4, 3.6), layout="constrained").subplots()
coefficients = CoefficientDisplay.from_kernel(model.kernel_, model.index_set_).plot(ax)

# %%
# Attribution
# -----------
# The shares of single joints and of groups of them are read off the weights. More than half of the variance belongs to
# *groups*, up to four joints at once.

attribution = AttributionDisplay.from_indices(analysis.sobol_indices(model)).plot(n_bars=9)
attribution.figure_.suptitle("which joints act, alone and together")

# %%
# A slice
# -------
# Height over shoulder and elbow, the other joints straight, and its standard deviation.

at = np.zeros(6)
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
display = PredictionDisplay.from_estimator(
    model, features=["shoulder", "elbow"], at=at, limits=(-180, 180), include_noise=False, n_points=60
).plot(axes)
for ax, title in zip(axes, ("height (m)", "its standard deviation (m)"), strict=True):
    ticks = np.arange(-180, 181, 90)
    ax.set(title=title, xlabel="shoulder (degrees)", ylabel="elbow (degrees)", xticks=ticks, yticks=ticks)
