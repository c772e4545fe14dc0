"""Rows that come later, in another type or from another thread: counted as they are, or refused with the reason."""

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from torusgp import (
    BayesianFeatureRegressor,
    Category,
    Circle,
    IndexSetFourierFeatures,
    Line,
    TorusGPClassifier,
    TorusGPRegressor,
    WarpedFourierFeatures,
)

RNG = np.random.default_rng(0)
SHOP, X = RNG.integers(0, 3, 60), RNG.uniform(size=60)
Y = SHOP + 0.1 * RNG.normal(size=60)


class TestLevels:
    def fit(self, levels):
        return TorusGPRegressor(Category("shop") + Line("x")).fit(pd.DataFrame({"shop": levels, "x": X}), Y)

    def later(self, levels):
        return pd.DataFrame({"shop": levels, "x": 0.5})

    @pytest.mark.parametrize("later", [[0, 1, 2], [0.0, 1.0, 2.0], np.array([0, 1, 2], dtype=object)])
    def test_text_that_comes_as_numbers(self, later):
        model = self.fit(SHOP.astype(str))
        with pytest.raises(
            ValueError, match=r"'shop' holds 0.*, but the levels of the fit are strings: '0', '1', '2'."
        ):
            model.predict(self.later(later))

    @pytest.mark.parametrize("later", [["0", "1", "2"], [0, 1, "2"]])
    def test_numbers_that_come_as_text(self, later):
        model = self.fit(SHOP)
        with pytest.raises(ValueError, match=r"holds '.', but the levels of the fit are integers: 0, 1, 2\. Turn"):
            model.predict(self.later(later))

    def test_rows_that_are_added(self):
        model = TorusGPRegressor(Category("shop"), learn=()).partial_fit(pd.DataFrame({"shop": SHOP.astype(str)}), Y)
        with pytest.raises(ValueError, match="but the levels of the fit are strings"):
            model.partial_fit(pd.DataFrame({"shop": SHOP}), Y)

    @pytest.mark.parametrize("later", [[0, 1, 2], [0.0, 1.0, 2.0], np.array([0, 1, 2], dtype="int8")])
    def test_whole_numbers_of_any_type_are_the_same(self, later):
        np.testing.assert_allclose(self.fit(SHOP).predict(self.later(later)), [0, 1, 2], atol=0.2)

    def test_levels_of_the_same_kind_that_are_new_stay_allowed(self):
        model = self.fit(SHOP.astype(str))
        mean, std = model.predict(self.later(["0", "9", "10"]), return_std=True)
        assert std[1] > 1.5 * std[0]
        assert mean[1] == pytest.approx(mean[2], rel=1e-12)

    def test_numbers_with_decimals_are_no_levels(self):
        with pytest.raises(ValueError, match=r"are strings, booleans or integers\. Use Line for real"):
            self.fit(SHOP).predict(self.later([0.5, 1, 2]))


class TestLargeIntegers:
    LARGE = 2**60  # where floats are 256 apart

    @pytest.mark.parametrize("kind", ["array", "frame"])
    def test_categories_tell_them_apart(self, kind):
        rows, later = (self.LARGE + SHOP)[:, None], (self.LARGE + np.arange(3))[:, None]
        if kind == "frame":
            rows, later = (pd.DataFrame({"id": one[:, 0], "x": 0.5}) for one in (rows, later))
        model = TorusGPRegressor(Category("id" if kind == "frame" else 0)).fit(rows, Y)
        np.testing.assert_allclose(model.predict(later), [0, 1, 2], atol=0.2)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(later), model.predict(later))

    @pytest.mark.parametrize("model", [TorusGPRegressor(), TorusGPRegressor(period=7.0), TorusGPRegressor(Line(0))])
    def test_numbers_refuse_those_that_would_be_one(self, model):
        with pytest.raises(
            ValueError, match=r"The input 'x0' has the integers 11529.* which are the same as numbers: su"
        ):
            model.fit((self.LARGE + SHOP)[:, None], Y)

    def test_those_that_floats_tell_apart_are_numbers(self):
        nanoseconds = 17 * 10**17 + 10**9 * np.arange(60)
        model = TorusGPRegressor(Line(0)).fit(nanoseconds[:, None], np.arange(60.0))
        assert model.predict(nanoseconds[30:31, None])[0] == pytest.approx(30, abs=0.5)

    def test_unused_columns_may_hold_anything(self):
        frame = pd.DataFrame({"id": self.LARGE + np.arange(60), "x": X})
        model = TorusGPRegressor(Line("x")).fit(frame, Y)
        np.testing.assert_array_equal(model.predict(frame), model.predict(frame.assign(id=1)))


MODELS = [
    TorusGPRegressor(period=1.0),
    TorusGPRegressor(Circle(0, 1.0)),
    TorusGPRegressor(),
    TorusGPRegressor(period=1.0, likelihood="student_t"),
    BayesianFeatureRegressor(IndexSetFourierFeatures(period=1.0)),
    TorusGPClassifier(period=1.0),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object), lambda y: pd.Series(y, dtype=object)])
def test_targets_that_are_missing_are_named(model, missing, kind):
    y = [float(one > 1) for one in SHOP]
    y[4] = y[7] = missing
    in_parts = "partial_fit" if getattr(model, "likelihood", "") == "normal" else "fit"
    for fit in (clone(model).fit, getattr(clone(model), in_parts)):
        with pytest.raises(ValueError, match=r"y contains NaN or None: it is .* in row 4, and missing in 2 of 60"):
            fit(X[:, None], kind(y))
    with pytest.raises(ValueError, match=r"it is None in row 0, and missing in 60 of 60"):
        clone(model).fit(X[:, None], kind([None] * 60))


class TestThreads:
    def add(self, model, parts, targets):
        """Add rows from several threads that start together."""
        barrier, errors = threading.Barrier(len(parts)), []

        def work(rows, y):
            barrier.wait()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.partial_fit(rows, y)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=one) for one in zip(parts, targets, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    @pytest.mark.parametrize("first", [True, False])
    def test_no_row_is_lost(self, first):
        rng = np.random.default_rng(1)
        rows = rng.uniform(size=(8 * 4000, 2))
        y = np.sin(2 * np.pi * rows[:, 0])
        model = TorusGPRegressor(period=1.0, n_components=201, learn=())
        for _ in range(3):
            model = clone(model)
            parts, targets = np.split(rows, 8), np.split(y, 8)
            if not first:
                model.partial_fit(parts.pop(), targets.pop())
            self.add(model, parts, targets)
            assert model.statistics_.n_samples == len(rows)
        together = clone(model).partial_fit(rows, y)
        np.testing.assert_allclose(model.predict(rows[:9]), together.predict(rows[:9]), rtol=1e-7)

    def test_models_are_still_copied(self):
        model = TorusGPRegressor(period=1.0, n_components=21).partial_fit(X[:, None], Y)
        copied = pickle.loads(pickle.dumps(model)).partial_fit(X[:, None], Y)
        assert (model.statistics_.n_samples, copied.statistics_.n_samples) == (60, 120)


OF_NUMBERS = [
    TorusGPRegressor(),
    IndexSetFourierFeatures(period=1.0),
    BayesianFeatureRegressor(),
    WarpedFourierFeatures(period=1.0),
]


class TestWords:
    """Inputs that are no numbers, where no expression says what they are."""

    @pytest.mark.parametrize("model", OF_NUMBERS, ids=repr)
    def test_the_column_is_named_and_category(self, model):
        frame = pd.DataFrame({"x": X, "shop": np.where(SHOP, "north", "south")})
        for rows, name in ((frame, "shop"), (frame.to_numpy(), "x1"), (frame.to_numpy().tolist(), "x1")):
            with pytest.raises(ValueError, match=rf"'{name}' holds '(north|south)', which is no number.*Category"):
                clone(model).fit(rows, Y)

    def test_text_that_is_a_number_is_one(self):
        rows = np.round(X, 3)[:, None]
        expected = TorusGPRegressor(period=1.0).fit(rows, Y).predict(rows)
        np.testing.assert_array_equal(TorusGPRegressor(period=1.0).fit(rows.astype(str), Y).predict(rows), expected)

    @pytest.mark.parametrize("model", OF_NUMBERS, ids=repr)
    @pytest.mark.parametrize("bad", [np.nan, np.inf, None])
    def test_what_is_not_finite_is_found_and_no_other_library_recommended(self, model, bad):
        frame = pd.DataFrame({"x": X, "load": X.copy()}, dtype=object)
        frame.loc[6, "load"] = bad
        for rows, name in ((frame, "load"), (frame.to_numpy(), "x1")):
            with pytest.raises(
                ValueError, match=rf"the input '{name}' is (nan|inf) in row 6. Leave such rows out"
            ) as told:
                clone(model).fit(rows, Y)
            assert "sklearn" not in str(told.value)
