"""
Which shape has it: classes over two angles
===========================================

The backbone of a protein bends by two dihedral angles, and the regions of this torus that helices and strands take are
known as the Ramachandran plot. Given angles and labels, how likely is each class elsewhere? The regions wrap around at
180 degrees, which a classifier that knows nothing of circles cuts in two.
"""

# %%
# Data
# ----
# Made-up angles of three classes, of which some overlap.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from torusgp import TorusGPClassifier

rng = np.random.default_rng(0)
centers = {"helix": (-63, -43), "strand": (-120, 140), "left helix": (60, 45)}
spreads = {"helix": 25, "strand": 35, "left helix": 25}
X = np.vstack([rng.normal(centers[name], spreads[name], (300, 2)) for name in centers])
X = (X + 180) % 360 - 180
label = np.repeat(list(centers), 300)
label = np.where(rng.random(900) < 0.05, rng.choice(list(centers), 900), label)  # some are mistaken
X_train, X_test, label_train, label_test = train_test_split(X, label, random_state=0)

# %%
# Fit
# ---
# One function for each class against the rest; their probabilities are divided by their sum.

model = TorusGPClassifier(period=360, n_components=301).fit(X_train, label_train)
neighbours = KNeighborsClassifier(15).fit(X_train, label_train)
for name, one in (("circles", model), ("neighbours, without circles", neighbours)):
    loss = log_loss(label_test, one.predict_proba(X_test))
    print(f"{name:28} accuracy {one.score(X_test, label_test):.3f}, log loss {loss:.3f}")

# %%
# The map
# -------
# The probability of each class. Where nothing was seen, it goes back to what classes are on average.

axis = np.linspace(-180, 180, 91)
grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
probability = model.predict_proba(grid).reshape(91, 91, 3)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharey=True)
for k, ax in enumerate(axes):
    picture = ax.pcolormesh(axis, axis, probability[..., k].T, cmap="cividis", vmin=0, vmax=1, rasterized=True)
    own = label_train == model.classes_[k]
    ax.plot(*X_train[own].T, ".", ms=2, color="white", alpha=0.7)
    ax.set(title=model.classes_[k], xlabel="phi (degrees)", xticks=[-180, -90, 0, 90, 180], aspect="equal")
axes[0].set(ylabel="psi (degrees)", yticks=[-180, -90, 0, 90, 180])
bar = figure.colorbar(picture, ax=axes, label="probability", shrink=0.8)
