"""The methods, each a function of a problem that returns a prediction of the rows held out."""

import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.noise import tides
from benchmarks.peers.tables.predictions import LEVELS, Prediction, fitted_dispersion, negative_binomial, normal
from benchmarks.peers.tables.problems import CLOCK, PERIODS

SEED = 0
N_FOLDS = 5  # of consecutive rows, left out in turn where a method does not know its own noise
INDUCING = 500
VARIATIONAL_STEPS = 3000
BATCH = 1024


def torusgp(problem):
    """The table as it is: columns become inputs by their type, and the data choose what interacts."""
    return _table_model(problem)


def torusgp_noise(problem):
    """The table as it is, with noise whose size depends on all inputs."""
    return _table_model(problem, noise_by="auto")


def torusgp_terms(problem):
    """The same with the terms that the other methods are told, too."""
    return _table_model(problem, terms=problem.formula, n_components=1001)


def torusgp_anova(problem):
    """The ANOVA sum of the inputs that every method gets: time is a walk, and nothing is said of terms."""
    from torusgp import Anova, Category, Circle, CorrelatedNoise, Line, TorusGPRegressor, Walk

    def axis(name):
        if name in PERIODS:
            return Circle(name, PERIODS[name])
        if name in _text(problem):
            return Category(name)
        return Walk(name) if name == "years" else Line(name)

    likelihood = "negative_binomial" if problem.counts else "normal"
    kernel = Anova([axis(name) for name in problem.X])
    model = TorusGPRegressor(kernel, likelihood=likelihood, noise=CorrelatedNoise("years"))
    model.fit(problem.X[~problem.held_out], problem.y[~problem.held_out])
    later, y = problem.X[problem.held_out], problem.y[problem.held_out]
    mean, std = model.predict(later, return_std=True)
    if not problem.counts:
        return normal(y, mean, std)
    return Prediction(mean, model.predict_quantiles(later, LEVELS), model.log_predictive_density(later, y))


def _table_model(problem, **settings):
    from torusgp import TableModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the scores show what they warn of
        model = TableModel(problem.target, time="time", **problem.settings, **settings)
        model.fit(problem.frame[~problem.held_out])
        found = model.predict(problem.frame[problem.held_out], LEVELS)
    y, mean, std = problem.y[problem.held_out], found["mean"].to_numpy(), found["std"].to_numpy()
    if not problem.counts:
        return normal(y, mean, std, components=model.model_.index_set_.n_components)
    quantiles = found.drop(columns=["mean", "std"]).to_numpy()
    # the density of the negative binomial distribution with this mean and standard deviation
    matched = negative_binomial(y, mean, np.maximum(std**2 - mean, 1e-6 * mean) / mean**2)
    return Prediction(mean, quantiles, matched.log_density, {"components": model.model_.index_set_.n_components})


def lightgbm(problem, changing=False):
    """Boosting; noise from folds of consecutive rows that were left out.

    Noise that changes is a second model, of their squared residuals.
    """
    from lightgbm import LGBMRegressor

    X, train = problem.X.astype({name: "category" for name in _text(problem)}), ~problem.held_out

    def fitted(rows, targets=problem.y, objective="poisson" if problem.counts else "regression", **settings):
        model = LGBMRegressor(objective=objective, n_estimators=600, learning_rate=0.05, num_leaves=63)
        model.set_params(min_child_samples=40, subsample=0.8, subsample_freq=1, n_jobs=1, random_state=SEED)
        return model.set_params(verbosity=-1, **settings).fit(X[rows], targets[rows])

    left_out = np.full(len(X), np.nan)
    for fold in np.array_split(np.flatnonzero(train), N_FOLDS):
        rows = train.copy()
        rows[fold] = False
        left_out[fold] = fitted(rows).predict(X.iloc[fold])
    mean = fitted(train).predict(X[problem.held_out])
    if not changing:
        return _around(problem, mean, left_out[train])
    squares = (problem.y - left_out) ** 2 / np.mean((problem.y - left_out)[train] ** 2)
    # fewer and smaller trees: a square tells less of the variance than a target of the mean
    variance = fitted(train, np.maximum(squares, 1e-8), "gamma", n_estimators=200, num_leaves=15)
    std = np.sqrt(variance.predict(X[problem.held_out]) * np.mean((problem.y - left_out)[train] ** 2))
    return normal(problem.y[problem.held_out], mean, std)


def _around(problem, mean, left_out):
    """A prediction around means, with the noise of training rows that were left out."""
    y, known = problem.y[problem.held_out], problem.y[~problem.held_out]
    if problem.counts:
        return negative_binomial(y, mean, fitted_dispersion(known, left_out))
    return normal(y, mean, np.sqrt(np.mean((known - left_out) ** 2)))


def _text(problem):
    return [name for name in problem.X if problem.X[name].dtype.kind not in "fi"]


def pygam(problem):
    """Tensor terms of the named inputs, smoothing by generalised cross-validation over one common factor."""
    from pygam import LinearGAM, PoissonGAM, f, l, s, te
    from pygam.terms import TermList

    X, train = problem.numbers.to_numpy(float), ~problem.held_out
    place = {name: i for i, name in enumerate(problem.X)}
    text = set(_text(problem))

    def smooth(name, size):
        if name in PERIODS:
            return s(place[name], n_splines=size, basis="cp", edge_knots=[0.0, PERIODS[name]])
        return s(place[name], n_splines=size)

    terms = [l(place["years"])] if problem.is_forecast else []
    for one in problem.spline_terms:
        smooths = [name for name in one if name not in text]
        if len(smooths) == 2:
            terms.append(te(smooth(smooths[0], 12), smooth(smooths[1], 7)))
        elif text & set(one):
            category = next(iter(text & set(one)))
            terms.append(f(place[category]))
            if smooths and X[train, place[category]].max() == 1:
                by = place[category]
                terms.append(s(place[smooths[0]], n_splines=12, basis="cp", by=by, edge_knots=[0.0, PERIODS[one[0]]]))
        else:
            terms.append(smooth(one[0], 10))
    model = (PoissonGAM if problem.counts else LinearGAM)(TermList(*terms))
    model.gridsearch(X[train], problem.y[train], lam=np.logspace(-2, 2, 3), progress=False)
    mean = model.predict(X[problem.held_out])
    if problem.counts:
        return _around(problem, mean, model.predict(X[train]))
    y, tails = problem.y[problem.held_out], model.prediction_intervals(X[problem.held_out], width=0.95)
    return normal(y, mean, (tails[:, 1] - tails[:, 0]) / (2 * 1.959964))


_R = """
suppressMessages(library(mgcv))
train <- read.csv("train.csv", stringsAsFactors = TRUE); test <- read.csv("test.csv", stringsAsFactors = TRUE)
for (name in names(test)) if (is.factor(train[[name]])) test[[name]] <- factor(test[[name]], levels(train[[name]]))
counts <- {counts}
model <- bam({formula}, data = train, knots = list({knots}), family = if (counts) nb() else gaussian(), discrete = TRUE)
found <- predict(model, test, se.fit = TRUE, discrete = FALSE, type = if (counts) "response" else "link")
scale <- if (counts) 1 / model$family$getTheta(TRUE) else model$sig2
if ({changing}) {{
  # by predictions: residuals(model) of a discrete fit with factors by smooths are not those of its predictions
  train$y <- (train$y - predict(model, train, discrete = FALSE))^2
  noise <- bam({noise}, data = train, knots = list({knots}), family = Gamma(link = "log"), discrete = TRUE)
  scale <- predict(noise, test, discrete = FALSE, type = "response")
}}
write.csv(data.frame(mean = found$fit, error = found$se.fit, scale = scale), "found.csv")
"""


def mgcv(problem, with_time=True, changing=False):
    """R's bam with the named terms; its own standard errors and residual variance.

    Noise that changes is a second model, of squared residuals by a smooth of each input.
    """
    if shutil.which("Rscript") is None:
        raise ImportError("R is not installed")
    names = {name: f"v{i}" for i, name in enumerate(problem.X)}
    text = set(_text(problem))

    def basis(name):
        return "cc" if name in PERIODS else "cr"

    def size(name):
        return min(14 if name in PERIODS else 8, problem.X[name].nunique())

    parts = [names[name] for name in text] + [names["years"]] * (problem.is_forecast and with_time)
    for one in problem.spline_terms:
        smooths = [name for name in one if name not in text]
        if smooths:
            by = "".join(f", by = {names[name]}" for name in one if name in text)
            inputs = ", ".join(names[name] for name in smooths)
            bases = ", ".join(f"'{basis(name)}'" for name in smooths)
            sizes = ", ".join(str(size(name)) for name in smooths)
            parts.append(f"{'te' if len(smooths) > 1 else 's'}({inputs}, bs = c({bases}), k = c({sizes}){by})")
    formula = f"y ~ {' + '.join(parts)}"
    single = [names[name] for name in text]
    single += [
        f"s({names[name]}, bs = '{basis(name)}', k = {size(name)})"
        for name in problem.X
        if name not in text and not (name == "years" and problem.is_forecast)
    ]
    knots = ", ".join(f"{names[name]} = c(0, {PERIODS[name]})" for name in problem.X if name in PERIODS)
    flags = {"counts": problem.counts, "changing": changing}
    noise = f"y ~ {' + '.join(single)}"
    texts = {name: str(flag).upper() for name, flag in flags.items()}
    script = _R.format(formula=formula, noise=noise, knots=knots, **texts)
    with tempfile.TemporaryDirectory() as folder:
        table = problem.X.rename(columns=names).assign(y=problem.y)
        table[~problem.held_out].to_csv(Path(folder, "train.csv"), index=False)
        table[problem.held_out].to_csv(Path(folder, "test.csv"), index=False)
        done = subprocess.run(["Rscript", "-e", script], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-500:])
        found = pd.read_csv(Path(folder, "found.csv"))
    y, mean, scale = problem.y[problem.held_out], found["mean"].to_numpy(), found["scale"].to_numpy()
    if problem.counts:
        return negative_binomial(y, mean, float(scale[0]), formula=formula)
    return normal(y, mean, np.sqrt(scale + found["error"].to_numpy() ** 2), formula=formula)


def prophet(problem):
    """Seasons by their defaults, regressors, holidays."""
    import logging

    from prophet import Prophet

    logging.getLogger("cmdstanpy").setLevel(logging.ERROR)
    stamps = problem.frame["time"]
    frame = pd.DataFrame({"ds": stamps.dt.tz_localize(None) if stamps.dt.tz is not None else stamps, "y": problem.y})
    model = Prophet(interval_width=0.95, holidays=problem.holidays, uncertainty_samples=300)
    if "lunar day" in problem.X:  # cycles that are not the calendar's
        for name, days in (("lunar day", PERIODS["lunar day"] / 24), ("lunar month", PERIODS["lunar month"])):
            model.add_seasonality(name, days, fourier_order=4)
    for name in problem.X:
        if name not in CLOCK and name not in _text(problem):
            if name in PERIODS:
                phase = 2 * np.pi * problem.X[name] / PERIODS[name]
                columns = {f"{name} cos": np.cos(phase), f"{name} sin": np.sin(phase)}
            else:
                columns = {name: problem.X[name]}
            for column, values in columns.items():
                frame[column] = values.to_numpy()
                model.add_regressor(column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame[~problem.held_out], seed=SEED)
        found = model.predict(frame[problem.held_out])
    std = (found["yhat_upper"] - found["yhat_lower"]).to_numpy() / (2 * 1.959964)
    return normal(problem.y[problem.held_out], found["yhat"].to_numpy(), std)


def svgp(problem):
    """GPyTorch: a squared exponential with a length scale for each input, inducing points, minibatches."""
    import gpytorch
    import torch

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    columns = []
    for name in problem.X:
        values = problem.numbers[name].to_numpy(float)
        if name in PERIODS:
            phase = 2 * np.pi * values / PERIODS[name]
            columns += [np.cos(phase), np.sin(phase)]
        else:
            columns.append((values - values.mean()) / values.std())
    X, train = torch.tensor(np.column_stack(columns)), torch.tensor(~problem.held_out)
    y = problem.y
    centre, spread = y[~problem.held_out].mean(), y[~problem.held_out].std()
    target = torch.tensor((y[~problem.held_out] - centre) / spread)
    known = X[train]
    start = known[torch.randperm(len(known))[:INDUCING]]

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(start))
            super().__init__(gpytorch.variational.VariationalStrategy(self, start, distribution))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Model().double(), gpytorch.likelihoods.GaussianLikelihood().double()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, len(known))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, VARIATIONAL_STEPS)
    for _ in range(VARIATIONAL_STEPS):
        rows = torch.randint(len(known), (BATCH,))
        optimiser.zero_grad()
        loss = -bound(model(known[rows]), target[rows])
        loss.backward()
        optimiser.step()
        schedule.step()
    model.eval(), likelihood.eval()
    with torch.no_grad():
        found = [likelihood(model(part)) for part in X[~train].split(4096)]
    mean = torch.cat([one.mean for one in found]).numpy() * spread + centre
    std = torch.cat([one.variance for one in found]).sqrt().numpy() * spread
    return normal(y[problem.held_out], mean, std, steps=VARIATIONAL_STEPS, inducing=INDUCING)


def least_squares(speeds):
    """Ordinary least squares on tidal constituents, with the variance of its residuals."""

    def method(problem):
        hours = (problem.frame["time"] - problem.frame["time"].iloc[0]) / pd.Timedelta(hours=1)
        past, future, known = hours[~problem.held_out], hours[problem.held_out], problem.y[~problem.held_out]
        std = np.sqrt(np.mean((known - tides.least_squares(past, known, past, speeds)) ** 2))
        return normal(problem.y[problem.held_out], tides.least_squares(past, known, future, speeds), std)

    return method


TIDAL = {  # for the sea alone
    "least squares, 37 constituents": least_squares(tides.STANDARD),
    "least squares, 60 constituents": least_squares(f"{tides.STANDARD} {tides.MORE}"),
}
NORMAL_NOISE = {  # whose size changes with the inputs: counts have it anyway
    "torusgp, noise that changes": torusgp_noise,
    "mgcv bam, noise that changes": lambda problem: mgcv(problem, with_time=False, changing=True),
    "LightGBM, noise that changes": lambda problem: lightgbm(problem, changing=True),
}
METHODS = {
    "torusgp": torusgp,
    "torusgp, terms by hand": torusgp_terms,
    "torusgp, Anova": torusgp_anova,
    "mgcv bam": mgcv,
    "mgcv bam, without time": lambda problem: mgcv(problem, with_time=False),
    "LightGBM": lightgbm,
    "pyGAM": pygam,
    "Prophet": prophet,
    "GPyTorch SVGP": svgp,
    **NORMAL_NOISE,
    **TIDAL,
}


def timed(method, *problem):
    """A prediction, and the seconds of processor time that it took, those of a child process included."""
    import resource

    def used():
        return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

    start, clock = used(), time.perf_counter()
    prediction = method(*problem)
    return prediction, used() - start, time.perf_counter() - clock
