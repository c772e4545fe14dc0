import sys

import matplotlib
import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from torusgp import BayesianFeatureRegressor, Category, Circle, IndexSetFourierFeatures, Line, Slope, TorusGPRegressor
from torusgp.views.analysis import sobol_indices
from torusgp.views.plotting import (
    CalibrationDisplay,
    EffectDisplay,
    PartsDisplay,
    PredictionDisplay,
    ResidualDisplay,
    SpectrumDisplay,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PERIOD = (24.0, 7.0)
ROUNDING = 1e-10  # predictions by transforms, of values of about one


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_data(n_samples=400, random_state=0):
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, PERIOD, (n_samples, 2))
    first, second = 2 * np.pi * X.T / np.array(PERIOD)[:, None]
    return X, np.cos(first) * (1 + 0.5 * np.sin(second)) + 0.2 * rng.normal(size=n_samples)


X, Y = make_data()
NEW_X, NEW_Y = make_data(random_state=1)


@pytest.fixture(scope="module")
def model():
    return TorusGPRegressor(period=PERIOD, n_components=61).fit(X, Y)


class TestPrediction:
    def test_a_line_shows_mean_and_band(self, model):
        display = PredictionDisplay.from_estimator(model, features=0, at=[0.0, 2.5], n_points=50, coverage=0.8).plot()
        points = np.column_stack([np.linspace(0, 24, 50), np.full(50, 2.5)])
        mean, std = model.predict(points, return_std=True)
        np.testing.assert_allclose(display.mean, mean, atol=ROUNDING)
        np.testing.assert_allclose(display.std, std, atol=ROUNDING)
        (line,) = display.ax_.lines
        np.testing.assert_array_equal(line.get_ydata(), display.mean)
        (band,) = display.ax_.collections
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.max() == pytest.approx((display.mean + norm.ppf(0.9) * display.std).max())
        assert band.get_label() == "80% of observations"
        assert display.ax_.get_xlabel() == "x0"

    def test_maps_show_mean_and_std_over_the_first_two_inputs(self, model):
        display = PredictionDisplay.from_estimator(model, X, Y, include_noise=False, n_points=30).plot()
        first, second = np.meshgrid(*display.grid)
        points = np.column_stack([first.ravel(), second.ravel()])
        mean, std = model.predict(points, return_std=True, include_noise=False)
        np.testing.assert_allclose(display.mean.ravel(), mean, atol=ROUNDING)
        np.testing.assert_allclose(display.std.ravel(), std, atol=ROUNDING)
        shown = [np.asarray(ax.collections[0].get_array()) for ax in display.axes_]
        np.testing.assert_array_equal(shown[0].ravel(), display.mean.ravel())
        np.testing.assert_array_equal(shown[1].ravel(), display.std.ravel())
        assert [ax.get_title() for ax in display.axes_] == ["mean", "standard deviation of the function"]
        assert len(display.axes_[1].lines[0].get_xdata()) == len(X)  # where the observations are

    def test_without_data_the_range_is_one_period(self, model):
        display = PredictionDisplay.from_estimator(model, features=[1, 0], n_points=11)
        assert [(values[0], values[-1]) for values in display.grid] == [(0, 7), (0, 24)]
        np.testing.assert_allclose(display.mean[:, 0], display.mean[:, -1], atol=ROUNDING)
        np.testing.assert_allclose(display.mean[0], display.mean[-1], atol=ROUNDING)

    def test_observations_are_drawn_where_no_input_is_held(self):
        one = TorusGPRegressor(period=24.0).fit(X[:, :1], Y)
        display = PredictionDisplay.from_estimator(one, X[:, :1], Y, limits=(0, 12)).plot()
        observed, _ = display.ax_.lines
        assert len(observed.get_xdata()) == np.sum(X[:, 0] <= 12)
        held = PredictionDisplay.from_estimator(TorusGPRegressor(period=PERIOD).fit(X, Y), X, Y, features=0)
        assert held.observations is None

    def test_names_come_from_frames(self):
        frame = pytest.importorskip("pandas").DataFrame(X, columns=["hour", "weekday"])
        named = TorusGPRegressor(period=PERIOD, n_components=61).fit(frame, Y)
        by_name = PredictionDisplay.from_estimator(named, features="weekday", at=[3.0, 0.0])
        by_position = PredictionDisplay.from_estimator(named, features=1, at=[3.0, 0.0])
        np.testing.assert_array_equal(by_name.mean, by_position.mean)
        assert by_name.plot().ax_.get_xlabel() == "weekday"
        with pytest.raises(ValueError, match=r"'day', but the inputs are \['hour', 'weekday'\]"):
            PredictionDisplay.from_estimator(named, features="day")

    def test_one_input_with_two_periods_spans_the_longer(self):
        time = np.linspace(0, 300, 400)[:, None]
        two = TorusGPRegressor(Circle(0, 24) * Circle(0, 168), n_components=61, learn=()).fit(time, Y)
        (grid,) = PredictionDisplay.from_estimator(two).grid
        assert (grid[0], grid[-1]) == (0, 168)

    def test_lines_and_categories(self):
        frame = pytest.importorskip("pandas").DataFrame(X, columns=["hour", "warmth"])
        frame["shop"] = np.where(np.arange(len(X)) % 3, "north", "south")
        kernel = Circle("hour", 24) * Line("warmth") + Category("shop") + Slope("warmth")
        mixed = TorusGPRegressor(kernel, n_components=61, learn=()).fit(frame, Y)
        (grid,) = PredictionDisplay.from_estimator(mixed, features="warmth").grid
        assert (grid[0], grid[-1]) == (frame["warmth"].min(), frame["warmth"].max())
        display = PredictionDisplay.from_estimator(mixed, frame, Y, features="hour", n_points=5)
        at = frame.iloc[[0] * 5].assign(hour=display.grid[0], warmth=frame["warmth"].median(), shop="north")
        np.testing.assert_allclose(display.mean, mixed.predict(at), atol=ROUNDING)
        given = PredictionDisplay.from_estimator(mixed, features="hour", at=[0.0, 1.0, "south"], n_points=5)
        at = frame.iloc[[0] * 5].assign(hour=given.grid[0], warmth=1.0, shop="south")
        np.testing.assert_allclose(given.mean, mixed.predict(at), atol=ROUNDING)
        assert PredictionDisplay.from_estimator(mixed, n_points=4).mean.shape == (4, 4)
        with pytest.raises(ValueError, match="Input 2 is a category, whose levels are no line: use EffectDisplay"):
            PredictionDisplay.from_estimator(mixed, features="shop")

    def test_several_outputs(self, model):
        both = TorusGPRegressor(period=PERIOD, n_components=61).fit(X, np.column_stack([Y, -Y]))
        displays = [PredictionDisplay.from_estimator(both, features=0, output=i) for i in (0, 1)]
        np.testing.assert_allclose(displays[0].mean, -displays[1].mean, atol=1e-6)  # each is learned on its own

    def test_other_regressors(self):
        features = IndexSetFourierFeatures(period=PERIOD, n_components=61)
        plain = BayesianFeatureRegressor(features).fit(X, Y)
        assert PredictionDisplay.from_estimator(plain, X).mean.shape == (120, 120)
        with pytest.raises(ValueError, match="give X or limits"):
            PredictionDisplay.from_estimator(plain)

    @pytest.mark.parametrize("features", [(0, 0), (0, 2), (), (0, 1, 0), -1, "hour"])
    def test_wrong_features(self, model, features):
        with pytest.raises(ValueError, match="features"):
            PredictionDisplay.from_estimator(model, features=features)

    def test_wrong_arguments(self, model):
        with pytest.raises(ValueError, match="at must hold 2 values"):
            PredictionDisplay.from_estimator(model, at=[1.0])
        line = PredictionDisplay.from_estimator(model, features=0)
        with pytest.raises(ValueError, match="between 0 and 1"):
            PredictionDisplay.from_estimator(model, features=0, coverage=95)
        with pytest.raises(ValueError, match="one axes"):
            line.plot(plt.subplots(2)[1])


class TestCalibration:
    def test_coverage_counts_observations(self):
        scores = np.array([0.0, 0.5, -1.0, 3.0])
        display = CalibrationDisplay.from_predictions(2 * scores + 1, np.ones(4), np.full(4, 2.0), levels=[0.5, 0.9])
        expected = [np.mean(np.abs(scores) <= norm.ppf((1 + level) / 2)) for level in (0.5, 0.9)]
        np.testing.assert_array_equal(display.coverage, expected)
        assert display.n_samples == 4

    def test_a_right_model_is_calibrated_and_an_overconfident_one_is_not(self, model):
        display = CalibrationDisplay.from_estimator(model, NEW_X, NEW_Y)
        spread = np.sqrt(display.nominal * (1 - display.nominal) / display.n_samples)
        assert (np.abs(display.coverage - display.nominal) < 4 * spread).all()
        mean, std = model.predict(NEW_X, return_std=True)
        confident = CalibrationDisplay.from_predictions(NEW_Y, mean, std / 2)
        assert (confident.coverage < display.nominal)[display.nominal > 0.2].all()

    def test_drawing(self, model):
        display = CalibrationDisplay.from_estimator(model, NEW_X, NEW_Y).plot(confidence=0.9, color="black")
        _, line = display.ax_.lines
        np.testing.assert_array_equal(line.get_xdata(), display.nominal)
        np.testing.assert_array_equal(line.get_ydata(), display.coverage)
        assert line.get_color() == "black"
        (band,) = display.ax_.collections
        vertices = band.get_paths()[0].vertices
        middle = vertices[np.isclose(vertices[:, 0], 0.5), 1]
        np.testing.assert_allclose(np.unique(middle), np.array(binom.interval(0.9, 400, 0.5)) / 400)

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            (([1.0], [1.0], [0.0]), {}, "y_std must be positive"),
            (([1.0], [1.0, 2.0], [1.0]), {}, "same length"),
            (([1.0], [1.0], [1.0]), {"levels": [0.5, 1.0]}, "levels"),
        ],
    )
    def test_wrong_arguments(self, arguments, options, message):
        with pytest.raises(ValueError, match=message):
            CalibrationDisplay.from_predictions(*arguments, **options)


class TestResidual:
    def test_data_and_drawing(self, model):
        display = ResidualDisplay.from_estimator(model, NEW_X, NEW_Y).plot()
        mean, std = model.predict(NEW_X, return_std=True)
        np.testing.assert_allclose(display.residuals, (NEW_Y - mean) / std)
        points = display.axes_[0].lines[0]
        np.testing.assert_array_equal(points.get_data(), (display.mean, display.residuals))
        assert sum(bar.get_width() * bar.get_height() for bar in display.axes_[1].patches) == pytest.approx(1.0)
        assert display.axes_[0].get_xlabel() == "predicted mean"

    def test_many_observations_are_thinned_and_it_is_said(self):
        rng = np.random.default_rng(0)
        display = ResidualDisplay.from_predictions(rng.normal(size=12_000), np.zeros(12_000), np.ones(12_000)).plot()
        points = display.ax_.lines[0]
        assert (len(points.get_xdata()), points.get_label()) == (4000, "one of 3 observations")

    def test_one_axes_and_too_many(self, model):
        display = ResidualDisplay.from_estimator(model, NEW_X[:50], NEW_Y[:50])
        figure, ax = plt.subplots()
        assert display.plot(ax).axes_.tolist() == [ax]
        assert figure.axes == [ax]
        with pytest.raises(ValueError, match="one axes or two"):
            display.plot(plt.subplots(3)[1])


@pytest.fixture(scope="module", params=["poisson", "gamma", "bernoulli"])
def case(request):
    rng = np.random.default_rng(0)
    hour = rng.uniform(0, 24, (1200, 1))
    f = 0.3 + np.cos(2 * np.pi * hour[:, 0] / 24)
    draws = {
        "poisson": lambda: rng.poisson(np.exp(f)),
        "gamma": lambda: rng.gamma(1.5, np.exp(f) / 1.5),
        "bernoulli": lambda: rng.uniform(size=1200) < 1 / (1 + np.exp(-f)),
    }
    y = draws[request.param]().astype(float)
    return TorusGPRegressor(Circle(0, 24), likelihood=request.param).fit(hour[:600], y[:600]), hour[600:], y[600:]


class TestOtherLikelihoods:
    """Bands, residuals and calibration are those of the likelihood, not of a normal distribution."""

    def test_the_band_has_the_quantiles_as_ends(self, case):
        model, X, y = case
        display = PredictionDisplay.from_estimator(model, X, y, coverage=0.8, n_points=20).plot()
        np.testing.assert_allclose(
            np.stack(display.band, axis=1), model.predict_quantiles(display.grid[0][:, None], [0.1, 0.9])
        )
        assert display.band[0].min() >= 0

    def test_effects_and_parts_are_on_the_scale_of_the_function(self, case):
        model, _, _ = case
        scale = model.likelihood_.scale_name
        display = EffectDisplay.from_estimator(model, 0, n_points=24)
        assert display.target == PartsDisplay.from_estimator(model).target == f"{scale} of target"
        latent = model.predict_latent(np.asarray(display.grid[0])[:, None])
        np.testing.assert_allclose(display.mean - display.mean.mean(), latent - latent.mean(), atol=1e-8)
        assert EffectDisplay.from_estimator(model, 0, n_points=24, target="rides").target == "rides"
        shares = sobol_indices(model)
        assert shares.total_order[0] == pytest.approx(1.0)

    def test_residuals_are_standard_normal_and_intervals_calibrated(self, case):
        model, X, y = case
        residuals = ResidualDisplay.from_estimator(model, X, y).residuals
        assert kstest(residuals, "norm").pvalue > 1e-3
        display = CalibrationDisplay.from_estimator(model, X, y)
        spread = np.sqrt(display.nominal * (1 - display.nominal) / display.n_samples)
        assert (np.abs(display.coverage - display.nominal) < 4 * spread).all()


class TestSpectrum:
    def test_power_is_the_second_moment_of_the_weights(self, model):
        display = SpectrumDisplay.from_estimator(model)
        squares = np.asarray(model.coef_) ** 2
        spread = display.power - (squares[1::2] + squares[2::2]) / 2
        assert (spread >= 0).all()
        np.testing.assert_allclose(spread / display.prior_variance, 1 - display.determined, atol=1e-9)
        np.testing.assert_array_equal(display.frequencies, model.index_set_.frequencies[1:])  # without the intercept
        # (1, 0) and (1, +-1) hold the function
        found = display.frequencies[np.argsort(-display.power)[:3]].tolist()
        assert sorted(map(tuple, found)) == [(1, -1), (1, 0), (1, 1)]

    def test_where_data_say_nothing_the_power_is_the_prior(self):
        few = TorusGPRegressor(period=PERIOD, n_components=61, learn=(), noise_variance=1e8).fit(X[:5], Y[:5])
        display = SpectrumDisplay.from_estimator(few)
        np.testing.assert_allclose(display.power, display.prior_variance, rtol=1e-4)
        hollow = display.plot().ax_.lines[-1]
        assert hollow.get_label() == "posterior power, mostly prior"
        assert len(hollow.get_xdata()) == len(display.power)

    @pytest.mark.parametrize("kind", ["sorted", "norm"])
    def test_drawing(self, model, kind):
        display = SpectrumDisplay.from_estimator(model).plot(kind=kind)
        prior, *powers = display.ax_.lines
        assert np.sort(prior.get_ydata()).tolist() == np.sort(display.prior_variance).tolist()
        drawn = np.concatenate([line.get_ydata() for line in powers])
        assert np.sort(drawn).tolist() == np.sort(display.power).tolist()
        assert display.ax_.get_yscale() == "log"
        with pytest.raises(ValueError, match="kind must be"):
            display.plot(kind="map")

    def test_plain_columns_have_no_frequency(self):
        sloped = TorusGPRegressor(Circle(0, 24) + Slope(1), n_components=21, learn=()).fit(X, Y)
        display = SpectrumDisplay.from_estimator(sloped)
        # nor has the intercept, so that the constant is left out
        assert len(display.power) == len(display.prior_variance) == len(sloped.index_set_.frequencies) - 1
        weights = sloped.coef_[: sloped.index_set_.n_components]
        assert (display.power >= (weights[1::2] ** 2 + weights[2::2] ** 2) / 2).all()

    def test_outputs(self):
        both = TorusGPRegressor(period=PERIOD, n_components=61).fit(X, np.column_stack([Y, 10 * Y]))
        small, large = (SpectrumDisplay.from_estimator(both, output=i) for i in (0, 1))
        assert large.power.max() > 50 * small.power.max()


def test_without_matplotlib_the_install_line_is_given(model, monkeypatch):
    displays = [
        PredictionDisplay.from_estimator(model, features=0),
        CalibrationDisplay.from_estimator(model, NEW_X, NEW_Y),
        ResidualDisplay.from_estimator(model, NEW_X, NEW_Y),
        SpectrumDisplay.from_estimator(model),
    ]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in displays:
        with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
            display.plot()
