"""Energy of a molecule over two dihedral angles, learned from noisy energies; forces come with their uncertainty.

The surface is a truncated cosine series of two angles in degrees, as force fields have them. The forces, minus its
derivatives, were never observed: they follow from the fitted energies, and agree with the analytic ones within the
standard deviations that are predicted for them.

    python examples/angle_surface.py --output angle_surface.png
"""

import argparse
from pathlib import Path

import numpy as np

from torusgp import TorusGPRegressor

PERIOD = 360.0  # degrees
NOISE_STD = 1.0  # kJ/mol
# amplitude (kJ/mol), multiples of the two angles, phase (degrees)
TERMS = (
    (6.0, 1, 0, 30.0),
    (8.0, 0, 1, -60.0),
    (5.0, 3, 0, 0.0),
    (4.0, 0, 3, 180.0),
    (7.0, 1, -1, 40.0),
    (3.0, 2, 1, 100.0),
    (2.0, 2, -3, -20.0),
)


def energy(angles):
    """Energies in kJ/mol at angles in degrees, shape (n, 2)."""
    return sum(
        amplitude * np.cos(np.radians(angles @ [first, second] - phase)) for amplitude, first, second, phase in TERMS
    )


def forces(angles):
    """Minus the derivatives of the energy, in kJ/mol per degree, shape (n, 2)."""
    parts = [
        amplitude * np.radians([first, second]) * np.sin(np.radians(angles @ [first, second] - phase))[:, None]
        for amplitude, first, second, phase in TERMS
    ]
    return np.sum(parts, axis=0)


def draw(model, angles, output):
    """Energies, their uncertainty with the observations, and forces against the analytic ones."""
    from matplotlib.figure import Figure

    from torusgp.views.plotting import PredictionDisplay

    figure = Figure(figsize=(13.5, 4.0), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.15))
    display = PredictionDisplay.from_estimator(model, angles, energy(angles), include_noise=False, limits=(-180, 180))
    display.plot(axes[:2])
    ticks = range(-180, 181, 60)
    for ax, title in zip(axes, ("energy (kJ/mol)", "its standard deviation (kJ/mol)"), strict=False):
        ax.set(title=title, xlabel="first angle (degrees)", ylabel="second angle (degrees)", xticks=ticks, yticks=ticks)
        ax.set_aspect("equal")
    grid = np.linspace(-180, 180, 13)[:-1] + 15.0
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    predicted = -model.predict_gradient(points)
    axes[0].quiver(*points.T, *predicted.T, color="white", angles="xy", width=0.004)
    line = np.column_stack([np.linspace(-180, 180, 361), np.full(361, -60.0)])
    gradient, std = model.predict_gradient(line, return_std=True)
    for component, colour in enumerate(("#0072B2", "#D55E00")):
        mean, half = -gradient[:, component], 1.96 * std[:, component]
        label = f"angle {component + 1}, 95 %"
        axes[2].fill_between(line[:, 0], mean - half, mean + half, color=colour, alpha=0.3, linewidth=0, label=label)
        axes[2].plot(
            line[:, 0],
            forces(line)[:, component],
            color=colour,
            linewidth=1.2,
            label=f"angle {component + 1}, analytic",
        )
    axes[2].set(title="force at a second angle of -60 degrees", xlabel="first angle (degrees)", xticks=ticks)
    axes[2].set(ylabel="force (kJ/mol per degree)", xlim=(-180, 180))
    axes[2].grid(alpha=0.3)
    low, high = axes[2].get_ylim()
    axes[2].set_ylim(low, high + 0.25 * (high - low))
    axes[2].legend(ncols=2, loc="upper center", fontsize="x-small")
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=100)


def main(output=None, n_samples=600, random_state=0):
    """Fit noisy energies, compare forces, draw them; returns the figures that are printed."""
    rng = np.random.default_rng(random_state)
    angles = rng.uniform(-180, 180, (n_samples, 2))
    observed = energy(angles) + rng.normal(0, NOISE_STD, n_samples)
    model = TorusGPRegressor(period=PERIOD).fit(angles, observed)

    test = rng.uniform(-180, 180, (2000, 2))
    gradient, std = model.predict_gradient(test, return_std=True)
    error = -gradient - forces(test)
    found = {
        "noise_std": float(np.sqrt(model.noise_variance_)),
        "energy_error": float(np.sqrt(np.mean((model.predict(test) - energy(test)) ** 2))),
        "force_error": float(np.sqrt(np.mean(error**2)) / np.sqrt(np.mean(forces(test) ** 2))),
        "force_coverage": float(np.mean(np.abs(error) < 1.96 * std)),
    }
    print(f"{n_samples} energies with noise of {NOISE_STD} kJ/mol; learned noise {found['noise_std']:.2f} kJ/mol")
    print(f"error of the energies: {found['energy_error']:.2f} kJ/mol (root mean square)")
    print(f"error of the forces, never observed: {found['force_error']:.1%} of their size")
    print(f"95 % intervals of the forces hold {found['force_coverage']:.1%} of the analytic ones")
    if output is not None:
        draw(model, angles, output)
        print(f"Picture: {output}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", type=Path, default=Path("angle_surface.png"), help="picture to write")
    main(parser.parse_args().output)
