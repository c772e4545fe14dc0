"""Regressors of counts, classes, positive numbers and outliers."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from torusgp import Circle, Slope, Torch, TorusGPClassifier, TorusGPRegressor
from torusgp.data.checkpoints import CheckpointError
from torusgp.data.sources import SourceError
from torusgp.fitting.latent_fitter import _Learner
from torusgp.fitting.likelihoods import NegativeBinomial, Poisson, StudentT
from torusgp.fitting.problem import Problem
from torusgp.kernels.index_sets import tensor
from torusgp.views.selection import selection_summary

NAMES = ["poisson", "negative_binomial", "gamma", "bernoulli", "student_t"]
SET = tensor(2, 3)


def make_counts(n=600, seed=0, n_inputs=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, n_inputs))
    exposure = rng.uniform(0.5, 2.0, n)
    rate = np.exp(0.5 + np.sin(2 * np.pi * X[:, 0]))
    return X, rng.poisson(rate * exposure).astype(float), exposure


def make_targets(name, X, seed=0, function=lambda X: np.sin(2 * np.pi * X[:, 0])):
    rng = np.random.default_rng(seed)
    f = function(X)
    return {
        "poisson": lambda: rng.poisson(np.exp(f)),
        "negative_binomial": lambda: rng.poisson(np.exp(f) * rng.gamma(2.0, 0.5, len(X))),
        "gamma": lambda: rng.gamma(3.0, np.exp(f) / 3),
        "bernoulli": lambda: (rng.uniform(size=len(X)) < 1 / (1 + np.exp(-2 * f))).astype(float),
        "student_t": lambda: f + 0.1 * rng.standard_t(3, len(X)),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_predicted_fits_together(name, tmp_path):
    X = np.random.default_rng(1).uniform(0, 1, (400, 2))
    y = make_targets(name, X)
    lines = []
    model = TorusGPRegressor(period=1.0, likelihood=name, index_set=SET, verbose=lines.append).fit(X, y)
    assert f"{model.fitted_.n_passes} passes over the rows" in lines[-1]
    points = X[:30]
    mean, std = model.predict(points, return_std=True)
    rate, rate_std = model.predict(points, return_std=True, include_noise=False)
    np.testing.assert_allclose(mean, rate)
    assert (std > rate_std).all()
    np.testing.assert_allclose(model.predict(points), mean)
    latent, latent_std = model.predict_latent(points, return_std=True)
    parts = model.predict_parts(points).sum(axis=1) + model.fitted_.intercept
    np.testing.assert_allclose(parts, latent, atol=1e-8)
    middle = model.predict_quantiles(points, [0.5], include_noise=False)[:, 0]
    np.testing.assert_allclose(middle, model.likelihood_.function(latent))
    drawn = model.sample_y(points, 4000, 0, include_noise=True)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=5 * (std / np.sqrt(4000)).max() + 1e-3)
    functions = model.sample_y(points, 2000, 0)
    np.testing.assert_allclose(functions.mean(axis=1), rate, atol=6 * (rate_std / np.sqrt(2000)).max())
    assert latent_std.max() < 0.5
    quantiles = model.predict_quantiles(points)
    inside = (drawn >= quantiles[:, :1]) & (drawn <= quantiles[:, 2:])
    assert inside.mean() > 0.94
    model.save(tmp_path / "model")
    again = TorusGPRegressor.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_quantiles(points), quantiles)
    assert again.log_marginal_likelihood_ == model.log_marginal_likelihood_
    assert again.likelihood_.name == name


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", NAMES)
def test_pytorch_gives_the_same(name, device):
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    X = np.random.default_rng(1).uniform(0, 1, (400, 2))
    y = make_targets(name, X)
    dense, other = (
        TorusGPRegressor(period=1.0, likelihood=name, index_set=SET, backend=backend).fit(X, y)
        for backend in ("dense", Torch(device, transforms=False))
    )
    assert other.log_marginal_likelihood_ == pytest.approx(dense.log_marginal_likelihood_, abs=1e-4)
    ours, theirs = (np.stack(model.predict(X[:50], return_std=True)) for model in (other, dense))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


@pytest.mark.gpu
def test_a_gpu_classifies_and_learns_noise_as_a_cpu_does():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    X = np.random.default_rng(1).uniform(0, 1, (400, 2))
    label, y = make_targets("bernoulli", X), np.sin(2 * np.pi * X[:, 0]) * make_targets("student_t", X)
    found = []
    for backend in ("dense", Torch("cuda", transforms=False)):
        classifier = TorusGPClassifier(period=1.0, index_set=SET, backend=backend).fit(X, label)
        kernel = Circle(0, 1.0) + Circle(1, 1.0)
        noisy = TorusGPRegressor(kernel, noise_kernel=Circle(0, 1.0), backend=backend).fit(X, y)
        found.append(np.append(classifier.predict_proba(X[:50])[:, 0], noisy.predict(X[:50], return_std=True)[1]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def test_exposure_scales_predictions_and_rates_are_for_one_unit():
    X, y, exposure = make_counts()
    model = TorusGPRegressor(period=1.0, likelihood="poisson", index_set=SET).fit(X, y, exposure=exposure)
    one = model.predict(X[:20])
    np.testing.assert_allclose(model.predict(X[:20], exposure=exposure[:20]), one * exposure[:20])
    np.testing.assert_allclose(model.predict(X[:20], exposure=3.0), 3 * one)
    rate = np.exp(0.5 + np.sin(2 * np.pi * X[:, 0]))
    assert np.abs(np.log(model.predict(X) / rate)).max() < 0.3
    wide = model.predict_quantiles(X[:20], exposure=np.full(20, 100.0))
    assert (wide > model.predict_quantiles(X[:20])).all()
    twice = TorusGPRegressor(period=1.0, likelihood="poisson", index_set=SET).fit(X, y, exposure=2 * exposure)
    np.testing.assert_allclose(2 * twice.predict(X[:20]), one, rtol=1e-6)


def test_given_parameters_are_kept_and_objects_can_be_cloned(tmp_path):
    X, y, _ = make_counts(200)
    model = TorusGPRegressor(period=1.0, likelihood=NegativeBinomial(dispersion=0.7), index_set=SET)
    model = clone(model).fit(X, y)
    assert model.likelihood_.dispersion == 0.7
    model.save(tmp_path / "model")
    assert TorusGPRegressor.load(tmp_path / "model").get_params()["likelihood"] == NegativeBinomial(dispersion=0.7)
    assert TorusGPRegressor(period=1.0, likelihood=StudentT(dof=4.0)).get_params()["likelihood"].dof == 4.0


def test_sums_with_slopes_can_be_fitted():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (800, 2))
    y = rng.poisson(np.exp(np.sin(2 * np.pi * X[:, 0]) + 1.5 * X[:, 1]))
    model = TorusGPRegressor(Circle(0, 1.0) + Slope(1), likelihood="poisson").fit(X, y)
    gradient = model.predict_gradient(X[:5])
    np.testing.assert_allclose(gradient[:, 1], 1.5, atol=0.3)
    _, std = model.predict_parts(X[:5], return_std=True)
    assert (std > 0).all()


def four_angles(X):
    """Interactions that no small set of the prior holds."""
    a = 2 * np.pi * X.T
    return 0.8 * np.sin(a[0]) + 0.7 * np.cos(a[1] + 2 * a[2]) + 0.6 * np.sin(a[0] - a[3] + a[1])


@pytest.mark.parametrize("name", ["poisson", "bernoulli", "student_t"])
def test_the_data_choose_the_frequencies_by_default(name):
    rng = np.random.default_rng(0)
    X, points = rng.uniform(0, 1, (1500, 4)), rng.uniform(0, 1, (500, 4))
    y = make_targets(name, X, function=four_angles)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TorusGPRegressor(period=1.0, likelihood=name, n_components=101).fit(X, y)
    assert model.index_set_.name == "learned"
    assert selection_summary(model).rounds
    mean, std = model.predict_latent(points, return_std=True)
    truth = four_angles(points) * (2 if name == "bernoulli" else 1)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.25 * truth.std()
    assert np.mean(np.abs(mean - truth) < 1.96 * std) > 0.85
    if name == "poisson":
        halves = [(X[:700], y[:700]), (X[700:], y[700:])]
        again = TorusGPRegressor(period=1.0, likelihood=name, n_components=101).fit(halves)
        np.testing.assert_allclose(again.predict_latent(points), mean, atol=0.05)


def test_few_rows_have_the_prior_s_own_frequencies_and_weights_are_repetitions():
    X, y, _ = make_counts(30, n_inputs=4)
    weight = np.random.default_rng(1).integers(1, 4, 30)
    options = {"period": 1.0, "likelihood": "poisson", "n_components": 41}
    weighted = TorusGPRegressor(**options).fit(X, y, sample_weight=weight)
    repeated = TorusGPRegressor(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.index_set_.name == "adaptive"
    np.testing.assert_allclose(weighted.predict_latent(X), repeated.predict_latent(X), atol=1e-6)


class TestRowsThatAreReadAgain:
    @staticmethod
    def chunks(X, y, exposure, size=150):
        return lambda: (
            (X[i : i + size], y[i : i + size], None, exposure[i : i + size]) for i in range(0, len(y), size)
        )

    def test_a_source_gives_the_same_as_arrays(self):
        X, y, exposure = make_counts()
        options = {"period": 1.0, "likelihood": "negative_binomial", "index_set": SET, "backend": "dense"}
        arrays = TorusGPRegressor(**options).fit(X, y, exposure=exposure)
        source = TorusGPRegressor(**options).fit(self.chunks(X, y, exposure))
        assert source.log_marginal_likelihood_ == pytest.approx(arrays.log_marginal_likelihood_, abs=1e-4)
        np.testing.assert_allclose(source.predict(X[:9]), arrays.predict(X[:9]), rtol=1e-3)

    def test_dask_gives_the_same(self):
        dask_array = pytest.importorskip("dask.array")
        X, y, exposure = make_counts()
        options = {"period": 1.0, "likelihood": "poisson", "index_set": SET, "backend": "dense"}
        arrays = TorusGPRegressor(**options).fit(X, y, exposure=exposure)
        blocks = [dask_array.from_array(one, chunks=(250, *one.shape[1:])) for one in (X, y, exposure)]
        lazy = TorusGPRegressor(**options).fit(blocks[0], blocks[1], exposure=blocks[2])
        assert lazy.log_marginal_likelihood_ == pytest.approx(arrays.log_marginal_likelihood_, abs=1e-4)
        np.testing.assert_allclose(lazy.predict(blocks[0]).compute(), arrays.predict(X), rtol=1e-3)

    def test_an_iterator_is_refused_with_the_reason(self):
        X, y, exposure = make_counts(300)
        with pytest.raises(ValueError, match="reads the rows several times, and an iterator can be read once"):
            TorusGPRegressor(period=1.0, likelihood="poisson").fit(self.chunks(X, y, exposure)())

    def test_a_source_that_ends_early_is_noticed(self):
        X, y, exposure = make_counts(400)
        opened = []

        def chunks():
            opened.append(1)
            return list(self.chunks(X, y, exposure)())[: None if len(opened) < 3 else 1]

        with pytest.raises(SourceError, match="the same rows every time"):
            TorusGPRegressor(period=1.0, likelihood="poisson", index_set=SET).fit(chunks)

    def test_a_broken_fit_goes_on_from_its_checkpoint(self, tmp_path):
        X, y, exposure = make_counts(500)
        y = make_targets("negative_binomial", X).astype(float)
        options = {"period": 1.0, "likelihood": "negative_binomial", "index_set": SET, "backend": "dense"}
        whole = TorusGPRegressor(**options).fit(self.chunks(X, y, exposure))

        def break_off(line):
            if path.exists():
                raise KeyboardInterrupt

        path = tmp_path / "checkpoint"
        with pytest.raises(KeyboardInterrupt):
            TorusGPRegressor(**options, verbose=break_off).fit(self.chunks(X, y, exposure), checkpoint=path)
        lines = []
        resumed = TorusGPRegressor(**options, verbose=lines.append).fit(self.chunks(X, y, exposure), checkpoint=path)
        assert resumed.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, abs=1e-4)
        assert not any("searching" in line for line in lines)
        np.testing.assert_allclose(resumed.predict(X[:9]), whole.predict(X[:9]), rtol=1e-3)
        other = TorusGPRegressor(**{**options, "likelihood": "poisson"})
        with pytest.raises(CheckpointError, match="other parameters"):
            other.fit(self.chunks(X, y, exposure), checkpoint=path)

    def test_rows_that_cannot_be_are_named(self):
        X, y, exposure = make_counts(400)
        y[333] = 1.5
        with pytest.raises(ValueError, match=r"row 333 is 1\.5"):
            TorusGPRegressor(period=1.0, likelihood="poisson").fit(self.chunks(X, y, exposure))
        y[333], exposure[20] = 1.0, 0.0
        with pytest.raises(SourceError, match="exposure is 0"):
            TorusGPRegressor(period=1.0, likelihood="poisson").fit(self.chunks(X, y, exposure))


class TestBadInput:
    X = np.random.default_rng(0).uniform(0, 1, (30, 1))

    def fit(self, likelihood, y=None, **extra):
        y = np.ones(30) if y is None else y
        return TorusGPRegressor(period=1.0, likelihood=likelihood).fit(self.X, y, **extra)

    @pytest.mark.parametrize(("name", "value"), [("poisson", -1.0), ("poisson", 0.5), ("gamma", 0.0), ("bernoulli", 2)])
    def test_a_target_outside_the_support(self, name, value):
        y = np.ones(30)
        y[7] = value
        with pytest.raises(ValueError, match="row 7"):
            self.fit(name, y)

    def test_zero_exposure(self):
        exposure = np.ones(30)
        exposure[4] = 0.0
        with pytest.raises(ValueError, match="exposure must be finite and positive, but row 4"):
            self.fit("poisson", exposure=exposure)
        with pytest.raises(ValueError, match=r"30 rows, got the shape \(29,\)"):
            self.fit("poisson", exposure=np.ones(29))

    def test_scales_that_a_likelihood_does_not_have(self):
        with pytest.raises(ValueError, match="'poisson' has no noise_scale"):
            self.fit("poisson", noise_scale=np.ones(30))
        with pytest.raises(ValueError, match="'normal' has no exposure"):
            self.fit("normal", exposure=np.ones(30))
        with pytest.raises(ValueError, match="'bernoulli' has no noise_scale"):
            self.fit("bernoulli", noise_scale=np.ones(30))

    def test_what_needs_normal_noise(self):
        model = self.fit(Poisson(), np.random.default_rng(0).poisson(3, 30))
        with pytest.raises(ValueError, match="return_cov is for likelihood='normal'"):
            model.predict(self.X, return_cov=True)
        with pytest.raises(ValueError, match="no noise variance that could be set"):
            model.set_noise_variance(0.1)
        with pytest.raises(ValueError, match="partial_fit sees rows once"):
            TorusGPRegressor(period=1.0, likelihood="poisson").partial_fit(self.X, np.ones(30))
        with pytest.raises(ValueError, match="needs given periods"):
            TorusGPRegressor(period="auto", likelihood="poisson").fit(self.X, np.ones(30))
        with pytest.raises(ValueError, match="one target at a time"):
            TorusGPRegressor(period=1.0, likelihood="poisson").fit(self.X, np.ones((30, 2)))


def test_targets_of_very_different_sizes_are_found_from_anywhere():
    """A step from another function may lead where nothing can be told any more: then it starts from a constant."""
    rng, hour = np.random.default_rng(0), np.arange(3000) % 24.0
    X, noise = hour[:, None], rng.gamma(0.5, 1, 3000)
    before, sizes = np.where(hour < 12, 10.0, 0.2), np.where(hour < 12, 10.0, 1e-5)
    model = TorusGPRegressor(Circle(0, 24), likelihood="gamma")
    for fitted in (model.fit(X, noise * sizes), clone(model).fit(X, noise * before).refit(X, noise * sizes)):
        means = [np.mean((noise * sizes)[half]) for half in (hour < 12, hour >= 12)]
        np.testing.assert_allclose(fitted.predict([[3.0], [18.0]]), means, rtol=0.25)


def test_a_shop_that_is_closed_at_night_sells_nothing_then():
    rng = np.random.default_rng(0)
    hour = np.tile(np.arange(24.0), 100)
    rate = np.where((hour >= 8) & (hour < 20), 20 + 10 * np.sin(np.pi * (hour - 8) / 12), 0.0)
    y = rng.poisson(rate)
    model = TorusGPRegressor(Circle(0, 24.0), likelihood="poisson").fit(hour[:, None], y)
    night = np.array([[0.0], [2.0], [4.0], [23.0]])
    mean, std = model.predict(night, return_std=True)
    assert mean.max() < 0.05
    assert std.max() < 0.3
    assert (model.predict_quantiles(night)[:, 2] == 0).all()
    day = np.array([[14.0]])
    assert model.predict(day)[0] == pytest.approx(30, rel=0.1)


@pytest.mark.parametrize("y", [np.zeros(40), np.full(40, 7.0)])
def test_constant_counts_can_be_fitted(y):
    X = np.linspace(0, 1, 40)[:, None]
    model = TorusGPRegressor(period=1.0, likelihood="poisson").fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1.0)


def test_a_round_of_learning_that_misleads_is_given_up(monkeypatch):
    """Statistics at one function may promise evidence elsewhere that is not there."""
    X, y, _ = make_counts()
    expected = TorusGPRegressor(period=1.0, likelihood="negative_binomial", index_set=SET).fit(X, y)
    learn, calls = Problem.learn, []

    def misled(problem, *arguments, **options):
        calls.append(learn(problem, *arguments, **options))
        if len(calls) == 1:
            return calls[0]
        far = calls[-1].parameters.with_vector(calls[-1].parameters.to_vector() - 5)
        return replace(calls[-1], parameters=far)

    monkeypatch.setattr(Problem, "learn", misled)
    monkeypatch.setattr(_Learner, "polish", lambda learner, mode: (mode, True))
    model = TorusGPRegressor(period=1.0, likelihood="negative_binomial", index_set=SET).fit(X, y)
    assert len(calls) == 2
    assert model.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, abs=5)
