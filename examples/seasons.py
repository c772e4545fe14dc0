"""Electricity demand with three seasons that interact: hour of the day, day of the week, day of the year.

Three years of hourly demand are made up: evenings are high in winter and afternoons in summer, and weekends have a
flatter, later day. A Gaussian process on the three-dimensional torus learns the first two years and forecasts the
third; seasons that only add up (max_interaction=1) cannot follow.

    python examples/seasons.py --output seasons.png
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from torusgp import Circle, TorusGPRegressor, mean_negative_log_loss

PERIOD = (24.0, 7.0, 365.25)  # hours, days, days
NOISE_STD = 0.25  # gigawatts


def make_demand(n_years, random_state=0):
    """Hour, weekday and day of the year of every hour, the demand in gigawatts, and the demand without noise."""
    hours = np.arange(int(n_years * 8766))
    # Whole days: a weekday that moved on with every hour would carry the hour in itself.
    X = np.column_stack([hours % 24, hours // 24 % 7, hours // 24 % 365.25])
    hour, weekday, day = X.T
    winter = np.cos(2 * np.pi * (day - 15) / 365.25)
    weekend = weekday >= 5  # the first day is a Monday

    def bump(at, width):
        return np.exp((np.cos(2 * np.pi * (hour - at) / 24) - 1) / width**2)

    workday = 1.6 * bump(8, 0.6) + (1.4 + 0.9 * winter) * bump(19, 0.5) + (0.7 - 0.9 * winter) * bump(15, 0.8)
    day_off = 0.9 * bump(12, 0.9) + (1.0 + 0.7 * winter) * bump(20, 0.5)
    demand = 5.0 + 0.4 * winter + np.where(weekend, day_off, workday)
    return X, demand + np.random.default_rng(random_state).normal(0, NOISE_STD, len(hours)), demand


def fit_and_evaluate(max_interaction, n_components, train, test):
    """A fitted model, with R2, log loss and coverage of its 90 % intervals on the test rows."""
    hour, weekday, day = (Circle(d, period) for d, period in enumerate(PERIOD))
    seasons = (hour * weekday * day).limited(max_interaction)
    model = TorusGPRegressor(seasons, n_components=n_components)
    model.fit(*train)
    X, y = test
    mean, std = model.predict(X, return_std=True)
    return model, {
        "r2": model.score(X, y),
        "log_loss": mean_negative_log_loss(y, mean, std),
        "coverage": np.mean(np.abs(y - mean) < 1.6449 * std),
    }


def draw(models, test_X, test_y, output):
    """Predicted days of a January and a July, a Wednesday and a Sunday each, and whether the forecast is calibrated."""
    from matplotlib.figure import Figure

    from torusgp.views.plotting import CalibrationDisplay, PredictionDisplay

    figure = Figure(figsize=(11.5, 6.4), layout="constrained")
    parts = figure.subfigures(1, 2, width_ratios=(2.1, 1))
    axes = parts[0].subplots(2, 2, sharex=True, sharey=True)
    colours = {"interacting": "#0072B2", "additive": "#D55E00"}
    for ax, (title, weekday, day) in zip(
        axes.flat,
        [
            ("Wednesday in January", 2, 15),
            ("Sunday in January", 6, 15),
            ("Wednesday in July", 2, 197),
            ("Sunday in July", 6, 197),
        ],
        strict=True,
    ):
        for name, model in models.items():
            display = PredictionDisplay.from_estimator(
                model, features=0, at=[0, weekday, day], limits=(0, 24), include_noise=False
            )
            display.plot(ax, color=colours[name], label=name)
            ax.collections[-1].set(color=colours[name], label=f"95 %, {name}")
        near = (test_X[:, 1] == weekday) & (np.abs(test_X[:, 2] - day) < 11)
        order = np.argsort(test_X[near, 0])
        ax.plot(test_X[near, 0][order], test_y[near][order], ".", color="0.6", markersize=2, zorder=0, label="observed")
        ax.get_legend().remove()
        ax.set(title=title, xticks=range(0, 25, 6), xlabel="", ylabel="")
    for ax in axes[1]:
        ax.set_xlabel("hour of the day")
    for ax in axes[:, 0]:
        ax.set_ylabel("demand (GW)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    chosen = [labels.index(label) for label in ("interacting", "additive", "observed")]
    parts[0].legend(
        [handles[i] for i in chosen], [labels[i] for i in chosen], loc="outside lower center", ncols=3, frameon=False
    )
    ax = parts[1].subplots()
    CalibrationDisplay.from_estimator(models["interacting"], test_X, test_y).plot(ax)
    ax.set_title("calibration of the forecast")
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=100)


def main(output=None, n_years=3, n_components=601):
    """Fit both models, print how they do in the last year, and draw them; returns the figures that are printed."""
    X, y, truth = make_demand(n_years)
    n_train = int((n_years - 1) * 8766)
    train, test = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    models, scores = {}, {}
    print(f"{n_train} hours to learn from, {len(y) - n_train} to forecast")
    print(f"{'seasons':13}{'columns':>8}{'R2':>8}{'log loss':>10}{'90 % intervals hold':>21}")
    for name, max_interaction in {"interacting": None, "additive": 1}.items():
        models[name], scores[name] = fit_and_evaluate(max_interaction, n_components, train, test)
        r2, log_loss, coverage = scores[name].values()
        size = models[name].index_set_.n_components
        print(f"{name:13}{size:8}{r2:8.3f}{log_loss:10.3f}{coverage:21.1%}")
    limit = {
        "r2": r2_score(test[1], truth[n_train:]),
        "log_loss": mean_negative_log_loss(test[1], truth[n_train:], np.full(len(test[1]), NOISE_STD)),
        "coverage": np.mean(np.abs(test[1] - truth[n_train:]) < 1.6449 * NOISE_STD),
    }
    print(f"{'the truth':21}{limit['r2']:8.3f}{limit['log_loss']:10.3f}{limit['coverage']:21.1%}")
    scores["the truth"] = limit
    if output is not None:
        draw(models, *test, output)
        print(f"Picture: {output}")
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", type=Path, default=Path("seasons.png"), help="picture to write")
    main(parser.parse_args().output)
