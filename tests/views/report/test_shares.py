import numpy as np
import pytest

from tests.views.report.pages import Page, case, fit, make_rows, page
from torusgp.kernels.index_sets import tensor
from torusgp.views.analysis import sobol_indices
from torusgp.views.report import render_report
from torusgp.views.report._shares import shares_of_variance

PERIOD = (24.0, 7.0)


@pytest.fixture(scope="module")
def partly_constant():
    X, y = make_rows(PERIOD)
    Y = np.column_stack([np.full(len(X), 3.0), y, np.cos(2 * np.pi * X[:, 1] / 7)])
    return fit(X, Y, period=PERIOD, index_set=tensor(2, 2)), X, Y


def test_targets_that_vary_have_the_shares_they_have_alone(partly_constant):
    model, X, Y = partly_constant
    indices, constant = shares_of_variance(model)
    assert constant.tolist() == [True, False, False]
    for q in (1, 2):
        alone = sobol_indices(fit(X, Y[:, q], period=PERIOD, index_set=tensor(2, 2)))
        np.testing.assert_allclose(indices.share[:, q], alone.share, rtol=1e-9)
        np.testing.assert_allclose(indices.total_order[:, q], alone.total_order, rtol=1e-9)
        for one, other in zip(indices.interval(), alone.interval(), strict=True):  # other draws
            np.testing.assert_allclose(one[:, q], other, atol=0.02)


def test_the_model_is_left_alone(partly_constant):
    model = partly_constant[0]
    before = model.statistics_, model.coef_.copy()
    indices, _ = shares_of_variance(model)
    assert model.statistics_ is before[0]
    np.testing.assert_array_equal(model.coef_, before[1])
    assert np.isnan(indices.share[:, 0]).all()


def test_where_all_vary_or_none_does():
    model = case("outputs")[0]
    indices, constant = shares_of_variance(model)
    np.testing.assert_array_equal(indices.share, sobol_indices(model).share)
    assert not constant.any()
    assert shares_of_variance(case("constant")[0])[0] is None


def test_the_page_says_which_target_is_constant(partly_constant):
    content = Page(render_report(partly_constant[0], target_names=["idle", "busy", "weekly"]))
    assert content.facts()["function varies by (standard deviation)"][0].text == "0"
    blocks = list(content.section("attribution").find_all("div", class_="output"))
    assert "The predicted function of idle is constant" in blocks[0].all_text()
    assert blocks[0].find("table") is None
    for block in blocks[1:]:
        assert "constant" not in block.all_text()
        assert len(list(block.find("tbody").find_all("tr"))) == 3


def test_one_input_has_no_shares_to_tell():
    assert "all that varies in predictions comes from it" in page("one").section("attribution").all_text()
    assert page("one").section("attribution").find("table") is None
    assert "matters most" not in page("one").root.all_text()
    assert "of the variance" not in page("one").section("effects").all_text()
