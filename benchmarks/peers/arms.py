"""The methods that take part, in the words of the page, and the fit of torusgp to which each is compared."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers import ours, scikit_learn_methods
from benchmarks.peers.scikit_learn_methods import LENGTH_SCALES, SEARCH_ROWS

TORUS = "torusgp"
TORUS_FEW_ROWS = "torusgp, rows of the exact GPs"
TORUS_IN_ORDER = "torusgp, rows in order"
EXACT = "scikit-learn, exact GP"
GPYTORCH_EXACT = "GPyTorch, exact GP"
GPYTORCH_SVGP = "GPyTorch, SVGP"
RANDOM = "RBFSampler + BayesianRidge"
NYSTROEM = "Nystroem + BayesianRidge"
BOOSTING = "HistGradientBoosting"


@dataclass(frozen=True)
class Settings:
    """How much work the methods may do."""

    exact_rows: int = 2_000
    n_inducing: int = 300
    variational_seconds: float = 60.0
    boosting_draws: int = 8


QUICK = Settings(exact_rows=200, n_inducing=50, variational_seconds=2.0, boosting_draws=2)


@dataclass(frozen=True)
class Arm:
    """A method that takes part.

    Attributes
    ----------
    name : str
        The method.
    columns : int or None
        Number of components that was asked for; None for the one that torusgp finds by itself.
    make : callable
        A new method with ``fit``, ``predict`` and ``details``, given the number of components of the fit of
        torusgp it is compared with.
    """

    name: str
    make: Callable
    columns: int | None = None

    @property
    def label(self):
        return self.name if self.columns is None else f"{self.name}, {self.columns} columns"

    @property
    def reference(self):
        """Label of the fit of torusgp to which this one is compared."""
        return Arm(TORUS, self.make, self.columns).label


def make_arms(period, settings, names, sizes=(None,)):
    """Arms of the named methods; those with columns once for each size, always after torusgp of that size."""
    exact = settings.exact_rows
    arms = []
    for size in sizes:
        columns = "auto" if size is None else size
        arms += [
            Arm(TORUS, lambda _, columns=columns: ours.Torus(period, columns), size),
            Arm(RANDOM, lambda n: scikit_learn_methods.RandomFeatures(period, n), size),
            Arm(NYSTROEM, lambda n: scikit_learn_methods.NystroemFeatures(period, n), size),
        ]
    arms += [
        Arm(TORUS_FEW_ROWS, lambda _: ours.Torus(period, max_rows=exact)),
        Arm(TORUS_IN_ORDER, lambda _: ours.OrderedTorus(period)),
        Arm(BOOSTING, lambda _: scikit_learn_methods.GradientBoosting(period, settings.boosting_draws)),
        Arm(EXACT, lambda _: scikit_learn_methods.ExactGaussianProcess(period, exact)),
    ]
    if {GPYTORCH_EXACT, GPYTORCH_SVGP} & set(names):
        from benchmarks.peers import gpytorch_models  # what it needs may be absent

        arms += [
            Arm(GPYTORCH_EXACT, lambda _: gpytorch_models.GPyTorchExact(period, exact)),
            Arm(
                GPYTORCH_SVGP,
                lambda _: gpytorch_models.GPyTorchVariational(
                    period, settings.n_inducing, max_seconds=settings.variational_seconds
                ),
            ),
        ]
    return [arm for arm in arms if arm.name in names]


def describe(settings):
    """What each method is and how its hyperparameters are found, for the page."""
    from torusgp.fitting.schedule import MAX_COMPONENTS

    exact = f"{settings.exact_rows:,}"
    scales = f"{LENGTH_SCALES[0]:g}, {LENGTH_SCALES[1]:g}, ... {LENGTH_SCALES[-1]:g}"
    features = (
        f"on cosines and sines, as many components as torusgp, the length scale of the largest evidence among {scales} "
        f"on at most {SEARCH_ROWS:,} rows, then all rows"
    )
    choices = scikit_learn_methods.GradientBoosting.choices
    return {
        TORUS: f"`TorusGPRegressor(period=...)`, all else by default (at most {MAX_COMPONENTS:,} columns), or with "
        "`n_components` where a number of components is given; learns a length scale for each input, signal and noise "
        "variance by the evidence",
        TORUS_FEW_ROWS: f"the same on the {exact} rows that the exact Gaussian processes have",
        TORUS_IN_ORDER: "`noise='correlated'`, as `torusgp fit` has it for rows in the order of time: the product and "
        "each circle alone; frequencies count as much as the noise at them allows, and that is the noise of "
        "consecutive rows left out; only where rows are a series",
        EXACT: f"`GaussianProcessRegressor` on {exact} rows drawn at random; product of one-dimensional "
        "ExpSineSquared kernels with a length scale each, signal and noise variance, all by its L-BFGS with analytic "
        "gradients",
        GPYTORCH_EXACT: f"`ExactGP` on the same {exact} rows; the same kernel, in double precision, by Cholesky "
        "factors; L-BFGS with strong Wolfe conditions",
        GPYTORCH_SVGP: f"`ApproximateGP` on all rows; the same kernel, {settings.n_inducing} inducing points (1,000 on "
        "the arm) that are learned, batches of 1,000 rows, natural gradients (rate 0.1) and Adam (0.02); rates are "
        "divided by ten when the loss is flat, and it ends when that happens again or after "
        f"{settings.variational_seconds:g} s (240 s on the arm)",
        RANDOM: f"`RBFSampler` and `BayesianRidge` {features}",
        NYSTROEM: f"`Nystroem` and `BayesianRidge` {features}",
        BOOSTING: f"`HistGradientBoostingRegressor` on cosines and sines; {settings.boosting_draws} settings drawn of "
        + "; ".join(f"`{name}` {', '.join(f'{value:g}' for value in values)}" for name, values in choices.items())
        + "; early stopping and choice by held-out blocks of the training rows, whose residuals give the standard "
        "deviation; then all rows",
    }
