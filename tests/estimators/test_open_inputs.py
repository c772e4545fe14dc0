"""What an open model is given wrongly: each mistake has an error that names it, and nothing is lost."""

import numpy as np
import pandas as pd
import pytest

from torusgp import Category, Circle, IndexSetFourierFeatures, Lattice, Line, Slope, TorusGPRegressor, TorusKernel


def frame(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "hour": rng.uniform(0, 24, n),
            "temperature": rng.uniform(-5, 30, n),
            "shop": rng.choice(["north", "south", "west"], n),
            "price": rng.normal(size=n),
            "same": np.full(n, 3.0),
            "when": pd.date_range("2024-01-01", periods=n, freq="h"),
            "comment": rng.choice(["good", "bad"], n),
        }
    )


Y = np.random.default_rng(1).normal(size=60)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (Circle("minute", 60), r"no input 'minute'.*'hour'"),
        (Line(9), r"no input 9: X has 6 column"),
        (Line("same"), r"'same' has one distinct value, 3"),
        (Slope("same") + Circle("hour", 24), r"'same' has one distinct value, 3"),
        (Line("shop"), r"'shop' holds '\w+', which is no number"),
        (Line("temperature", range=(0, 20)), r"range=\(0, 20\).*'temperature' is narrower than the data.*row \d+"),
        (Category("price"), r"'price' holds .*strings, booleans or integers"),
        (Circle("hour", 24) + Circle("hour", 24), r"'hour' and 'hour \(2\)' agree in axes, family and length scales"),
        (Slope("price"), r"at least one axis beside its plain columns"),
    ],
)
def test_a_wrong_expression_is_named(expression, words):
    with pytest.raises(ValueError, match=words):
        TorusGPRegressor(expression).fit(frame().drop(columns="when"), Y)


def test_columns_that_are_not_used_may_hold_anything():
    data = frame().drop(columns="when")
    data.loc[3, "price"] = np.nan
    model = TorusGPRegressor(Circle("hour", 24) + Category("shop"), n_components=21).fit(data, Y)
    assert np.isfinite(model.predict(data)).all()
    with pytest.raises(ValueError, match=r"NaN or infinity: the input 'price' is nan in row 3"):
        TorusGPRegressor(Circle("hour", 24) + Slope("price")).fit(data, Y)


def test_dates_are_refused_as_a_line():
    with pytest.raises(ValueError, match=r"'when' of X holds times.*CalendarPhases"):
        TorusGPRegressor(Line("when")).fit(frame(), Y)


def test_a_product_with_a_plain_column_is_refused():
    with pytest.raises(ValueError, match=r"Slope\('price'\) is a plain column, which cannot be multiplied"):
        Slope("price") * Circle("hour", 24)
    with pytest.raises(ValueError, match="plain column"):
        Circle("hour", 24) * (Line("temperature") + Slope("price"))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_levels_are_refused(missing):
    data = frame()[["hour", "shop"]].astype(object)
    data.loc[7, "shop"] = missing
    with pytest.raises(ValueError, match=r"'shop' has no value in row 7"):
        TorusGPRegressor(Category("shop") * Circle("hour", 24)).fit(data, Y)


def test_levels_of_several_kinds_are_refused():
    data = np.empty((60, 2), dtype=object)
    data[:, 0], data[:, 1] = frame()["hour"], [1, "1", True] * 20
    with pytest.raises(ValueError, match=r"mixes booleans and integers and strings, such as True and 1 and '1'"):
        TorusGPRegressor(Category(1) * Circle(0, 24)).fit(data, Y)


def test_too_many_levels_are_refused():
    X = np.column_stack([np.arange(100_000), np.zeros(100_000)])
    with pytest.raises(ValueError, match=r"'x0' has 100000 levels, and at most 1000"):
        TorusGPRegressor(Category(0)).fit(X, np.zeros(100_000))


@pytest.mark.parametrize("levels", [["a", "b"], [True, False], [3, 1]], ids=str)
def test_levels_are_strings_booleans_or_integers(levels):
    data = np.empty((60, 2), dtype=object)
    data[:, 0], data[:, 1] = frame()["hour"], levels * 30
    y = np.where([one == levels[0] for one in data[:, 1]], 1.0, -1.0) + 0.1 * Y
    model = TorusGPRegressor(Category(1)).fit(data, y)
    np.testing.assert_allclose(model.predict(data), np.sign(y), atol=0.1)


def test_rows_beyond_a_range_and_new_levels_are_refused_later_and_nothing_is_lost():
    data = frame()[["temperature", "shop"]]
    model = TorusGPRegressor(Line("temperature") + Category("shop"), n_components=41).partial_fit(data, Y)
    before = model.predict(data)
    hot = data.copy()
    hot.loc[4, "temperature"] = 50.0
    with pytest.raises(ValueError, match=r"Row 4 has 'temperature' = 50, beyond the range.*range=\(low, high\)"):
        model.partial_fit(hot, Y)
    new = data.copy()
    new.loc[9, "shop"] = "east"
    with pytest.raises(ValueError, match=r"Row 9 has the level 'east' of the category 'shop'"):
        model.partial_fit(new, Y)
    assert model.n_samples_seen_ == 60
    np.testing.assert_array_equal(model.predict(data), before)
    assert np.isfinite(model.predict(new)).all()  # where it is predicted, a new level is no mistake


def test_a_stream_refuses_what_its_sample_did_not_show(monkeypatch):
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 50)
    rng = np.random.default_rng(0)
    chunks = [(rng.uniform(0, 10, (50, 1)), rng.normal(size=50)) for _ in range(3)]
    chunks[2][0][7] = 99.0
    with pytest.raises(ValueError, match=r"Row 107 has 'x0' = 99, beyond the range"):
        TorusGPRegressor(Line(0), n_components=21).fit(lambda: iter(chunks))
    wider = TorusGPRegressor(Line(0, range=(0, 100)), n_components=41).fit(lambda: iter(chunks))
    assert wider.n_samples_seen_ == 150


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Circle("hour", -1), "period must be a positive finite number, got -1"),
        (lambda: Circle(True, 24), "name or the position of a column, got True"),
        (lambda: Circle("hour", 24, length_scale_bounds=(2, 1)), "length_scale_bounds must be two positive numbers"),
        (lambda: Circle("hour", np.zeros(2)), "period must be a positive finite number"),
        (lambda: Circle("hour", 1 + 1j), "period must be a positive finite number"),
        (lambda: Circle("hour", 24, length_scale=None), "length_scale must be a positive finite number, got None"),
        (lambda: Circle("hour", 24, length_scale_bounds=None), "length_scale_bounds must be two positive numbers"),
        (lambda: Circle("hour", 24, name=3), "name must be text or None, got 3"),
        (lambda: Slope("hour", learned="yes"), "learned must be True or False, got 'yes'"),
        (lambda: Category("shop", correlation_bounds=()), "correlation_bounds must be two positive numbers"),
        (lambda: Category("shop", correlation_bounds=("a", "b")), "correlation_bounds must be two positive numbers"),
        (lambda: Category("shop", correlation_bounds=[0.5, 1.0]), r"correlation_bounds must lie in \(0, 1\)"),
        (lambda: Category("shop", levels="abc"), "levels must be a sequence of the values of the category, got 'abc'"),
        (lambda: Lattice((0, 1), [1.0]), "cell must have 2 vectors of 2 entries"),
        (lambda: Lattice((0, 1), "text"), "period must be numbers"),
        (lambda: Lattice((0, 1), "auto", cell_bounds="loose"), "cell_bounds must be 'free', 'fixed' or None"),
        (lambda: (Circle(0, 24) * Line(1)).limited(0), "max_interaction must be a positive integer or None, got 0"),
        (lambda: Circle("hour", "auto", period_bounds="fixed"), "cannot be fixed"),
        (lambda: Line("x", "rational_quadratic"), "cannot be used on a Line.*sums of lines"),
        (lambda: Line("x", range=(3, 1)), r"range must be two finite numbers.*got \(3, 1\)"),
        (lambda: Line("x", tolerance=2.0), "tolerance must lie in"),
        (lambda: Category("shop", correlation=1.0), r"correlation must lie in \[0, 1\), got 1.0"),
        (lambda: Lattice("x", [[1.0]]), "two or more names or positions"),
        (lambda: -2.0 * Circle("hour", 24), "must be a positive finite number, got -2.0"),
        (lambda: Circle("hour", 24) * Circle("hour", 24), "two factors on the same axis"),
        (lambda: TorusKernel(Line(0)), r"does not know its range.*range=\(low, high\)"),
        (lambda: TorusKernel(Category(0)), "does not know its levels"),
        (lambda: TorusKernel(Circle(0, 24), period=3.0), "belong to the short form"),
        (lambda: TorusKernel("matern32")(np.zeros((2, 1))), "has no period"),
        (lambda: IndexSetFourierFeatures(Slope(0) + Circle(0, 24)).fit([[0.0], [1.0], [2.0]]), "plain"),
    ],
)
def test_a_wrong_part_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_bounds_in_lists_are_bounds():
    shared = Category("shop", correlation_bounds=[0.2, 0.8])
    assert shared.length_scale_bounds == pytest.approx((0.25, 4.0))  # odds, as of a tuple
    assert Circle("hour", 24, period_bounds=[23, 25]).learns_period
    assert Circle("hour", 24, period_bounds=np.array([23, 25])).learns_period


def test_without_kernel_and_period_every_input_is_a_line():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (300, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=300)
    model = TorusGPRegressor().fit(X, y)
    assert [axis.kind for axis in model.fitted_.prior.torus.axes] == ["line", "line"]
    assert model.score(X, y) > 0.99
    rough = TorusGPRegressor("matern52").fit(X, y)
    assert rough.score(X, y) > 0.99
