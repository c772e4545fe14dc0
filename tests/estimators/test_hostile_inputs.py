"""What is masked, a time, or of an impossible size: right or refused, wherever it is given."""

import datetime

import numpy as np
import pandas as pd
import polars
import pytest

from torusgp import (
    BayesianFeatureRegressor,
    CalendarPhases,
    Circle,
    IndexSetFourierFeatures,
    SufficientStatistics,
    TableModel,
    TorusGPRegressor,
    TorusKernel,
    WarpedFourierFeatures,
    find_period,
)
from torusgp.data.sources import ArraySource
from torusgp.kernels.index_sets import tensor

N = 100
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 24, (N, 1))
Y = np.sin(2 * np.pi * X[:, 0] / 24) + 0.1 * RNG.normal(size=N)
MASK = np.arange(N) < 10
TIMES = np.arange(N).astype("M8[h]")
SET = tensor(1, 3)


def regressor(**options):
    return TorusGPRegressor(period=24.0, n_components=7, **options)


@pytest.fixture(scope="module")
def fitted():
    return regressor().fit(X, Y)


USES = {
    "fit": lambda x, y, w, s: regressor().fit(x, y, w, s),
    "partial_fit": lambda x, y, w, s: regressor().partial_fit(x, y, w, s),
    "find_period": lambda x, y, w, s: find_period(x, y, sample_weight=w, noise_scale=s),
    "from_data": lambda x, y, w, s: SufficientStatistics.from_data(
        x, y, SET, period=24.0, sample_weight=w, noise_scale=s
    ),
    "from_source": lambda x, y, w, s: SufficientStatistics.from_source(ArraySource(x, y, w, s), SET, period=24.0),
}


@pytest.mark.parametrize("position", range(4), ids=["X", "y", "sample_weight", "noise_scale"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
class TestOfRows:
    def test_masked_values_are_not_used(self, use, position):
        given = [X, Y, np.ones(N), np.ones(N)]
        given[position] = np.ma.masked_array(given[position], MASK.reshape([-1] + [1] * (given[position].ndim - 1)))
        with pytest.raises(ValueError, match=r"masked in 10 place\(s\), first in row 0|is nan, it must be finite"):
            use(*given)

    @pytest.mark.parametrize("kind", ["M8[h]", "m8[s]"])
    def test_times_are_no_numbers(self, use, position, kind):
        given = [X, Y, np.ones(N), np.ones(N)]
        given[position] = np.arange(1, N + 1).astype(kind).reshape(given[position].shape)
        with pytest.raises(ValueError, match=r"holds times|is not a number|does not hold numbers"):
            use(*given)


@pytest.mark.parametrize(
    "use",
    [
        lambda fitted, x: fitted.predict(x),
        lambda fitted, x: fitted.predict_gradient(x),
        lambda fitted, x: fitted.sample_y(x),
        lambda fitted, x: TorusKernel(period=24.0)(x),
        lambda fitted, x: TorusKernel(period=24.0).phases(x),
        lambda fitted, x: IndexSetFourierFeatures(period=24.0, n_components=7).fit(X).transform(x),
        lambda fitted, x: WarpedFourierFeatures(period=24.0, n_components=6).fit(X).transform(x),
        lambda fitted, x: BayesianFeatureRegressor(IndexSetFourierFeatures(period=24.0)).fit(x, Y[: len(x)]),
    ],
)
@pytest.mark.parametrize("points", [np.ma.masked_array(X, MASK[:, None]), TIMES[:, None]], ids=["masked", "times"])
def test_points(fitted, use, points):
    with pytest.raises(ValueError, match=r"is masked|holds times|must hold numbers"):
        use(fitted, points)


@pytest.mark.parametrize("value", [datetime.datetime(2024, 1, 1), np.datetime64("2024-01-01"), np.timedelta64(1, "h")])
def test_times_among_objects(value):
    points = np.array([[value]] * N, dtype=object)
    with pytest.raises(ValueError, match="holds times"):
        regressor().fit(points, Y)
    with pytest.raises(ValueError, match=r"holds times|which is no number"):
        TorusGPRegressor(Circle(0, 24.0)).fit(points, Y)


class TestPolars:
    ZONED = polars.Series("time", pd.date_range("2024", periods=N, freq="h", tz="Asia/Kolkata"))

    def test_numbers(self, fitted):
        model = regressor().fit(polars.DataFrame({"hour": X[:, 0]}), polars.Series(Y))
        assert np.array_equal(model.predict(polars.DataFrame({"hour": X[:, 0]})), fitted.predict(X))

    def test_times_are_no_numbers(self):
        with pytest.raises(ValueError, match="column 'time' of X holds times"):
            regressor().fit(polars.DataFrame({"time": self.ZONED}), Y)
        with pytest.raises(ValueError, match="y holds times"):
            regressor().fit(X, self.ZONED)

    def test_the_clock_is_that_of_the_zone(self):
        own = CalendarPhases(["day"]).fit_transform(self.ZONED)
        assert np.array_equal(own, CalendarPhases(["day"]).fit_transform(self.ZONED.to_pandas()))
        assert own[0, 0] == 0

    def test_a_table(self):
        frame = polars.DataFrame({"time": self.ZONED, "y": np.arange(N) % 24 + Y})
        assert TableModel("y", calendar={"time": ["day"]}).fit(frame).inputs_.zone == "Asia/Kolkata"
        with pytest.raises(TypeError, match=r"must be a pandas DataFrame .* got dict"):
            TableModel("y", calendar={"time": ["day"]}).fit({"y": [1]})


class TestSizes:
    @pytest.mark.parametrize("offset", [1e11, 1e12, 1e13, -1e13])
    def test_an_offset_of_the_targets(self, offset, fitted):
        model = regressor().fit(X, Y + offset)
        assert model.noise_variance_ == pytest.approx(fitted.noise_variance_, rel=0.01)
        assert model.score(X, Y + offset) == pytest.approx(fitted.score(X, Y), abs=1e-3)

    @pytest.mark.parametrize("offset", [1e14, 1e15])
    def test_an_offset_that_leaves_nothing(self, offset):
        with pytest.raises(ValueError, match=r"targets are 1e\+1\d and vary by 0\.\d+, hardly more than"):
            regressor().fit(X, Y + offset)

    def test_an_offset_of_the_inputs(self, fitted):
        moved = X + 24 * 1e11
        assert regressor().fit(moved, Y).score(moved, Y) == pytest.approx(fitted.score(X, Y), abs=1e-3)
        for use in (lambda x: regressor().fit(x, Y), fitted.predict):
            with pytest.raises(ValueError, match=r"more than 1e\+12 periods: such numbers are .* apart"):
                use(X + 24 * 1e14)

    @pytest.mark.parametrize("unit", [1e-99, 1e50, 1e99])
    def test_units_of_the_targets(self, unit, fitted):
        assert regressor().fit(X, unit * Y).score(X, unit * Y) == pytest.approx(fitted.score(X, Y), abs=1e-6)

    @pytest.mark.parametrize("unit", [1e-200, 1e-102, 1e102, 1e200, 1e300])
    def test_units_whose_squares_are_no_numbers(self, unit):
        for use in (
            lambda: regressor().fit(X, unit * Y),
            lambda: find_period(X, unit * Y),
            lambda: BayesianFeatureRegressor(IndexSetFourierFeatures(period=24.0)).fit(X, unit * Y),
            lambda: SufficientStatistics.from_data(X, unit * Y, SET, period=24.0),
        ):
            with pytest.raises(ValueError, match=r"y is as (large|small) as 1.*: use other units"):
                use()

    @pytest.mark.parametrize("unit", [1e-100, 1e-9, 1e20, 1e100])
    def test_units_of_known_noise(self, unit, fitted):
        model = regressor().fit(X, Y, noise_scale=np.full(N, unit))
        assert model.noise_variance_ * unit**2 == pytest.approx(fitted.noise_variance_, rel=0.01)
        assert np.allclose(model.predict(X), fitted.predict(X), atol=1e-3)

    @pytest.mark.parametrize("unit", [1e-200, 1e-160, 1e160, 1e200])
    def test_units_of_known_noise_whose_squares_are_no_numbers(self, unit):
        for use in (USES["fit"], USES["find_period"], USES["from_data"]):
            with pytest.raises(ValueError, match=r"noise_scale goes from .*: use other units, only ratios matter"):
                use(X, Y, None, np.full(N, unit))


def test_a_boolean_is_no_position():
    chunks = [(np.hstack([X, X]), Y)]
    with pytest.raises(ValueError, match="There is no input True"):
        SufficientStatistics.from_source(chunks, SET, period=24.0, inputs=[True])


@pytest.mark.parametrize("learn", [None, 5])
def test_learn_is_a_collection(learn):
    for use in (
        lambda: regressor(learn=learn).fit(X, Y),
        lambda: regressor(learn=learn).partial_fit(X, Y),
        lambda: BayesianFeatureRegressor(IndexSetFourierFeatures(period=24.0), learn=learn).fit(X, Y),
    ):
        with pytest.raises(ValueError, match=rf"learn .*, got {learn}\."):
            use()


class TestParametersAfterTheFit:
    def test_a_model_that_would_say_other_things_is_not_saved(self, tmp_path):
        model = regressor().fit(X, Y).set_params(period=12.0, n_threads=2)
        with pytest.raises(ValueError, match=r"\Aperiod changed after the fit.* Fit again"):
            model.save(tmp_path / "model")
        model.set_params(period=24.0).save(tmp_path / "model")
        loaded = TorusGPRegressor.load(tmp_path / "model").set_params(intercept=False)
        with pytest.raises(ValueError, match="intercept changed after the fit"):
            loaded.save(tmp_path / "model")

    def test_also_where_an_array_was_changed_in_place(self, tmp_path):
        period = np.array([24.0])
        model = TorusGPRegressor(period=period, n_components=7).partial_fit(X, Y)
        period[0] = 12.0
        with pytest.raises(ValueError, match="period changed after the fit"):
            model.save(tmp_path / "model")
