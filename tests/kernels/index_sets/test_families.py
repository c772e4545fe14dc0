"""The families of the literature against their definitions, evaluated on full grids."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from torusgp.kernels.index_sets import (
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    lp_ball,
    named_set,
    tensor,
    total_order,
)

FAMILIES = {
    "tensor": (tensor, "lp", np.inf),
    "total_order": (total_order, "lp", 1.0),
    "euclidean": (euclidean, "lp", 2.0),
    "lp_ball p=0.5": (partial(lp_ball, p=0.5), "lp", 0.5),
    "lp_ball p=3": (partial(lp_ball, p=3), "lp", 3.0),
    "hyperbolic_cross": (hyperbolic_cross, "cross", 0.0),
    **{
        f"energy norm {sparsity}": (partial(energy_norm_hyperbolic_cross, sparsity=sparsity), "cross", sparsity)
        for sparsity in (0.0, 0.1, 0.5, 0.75, 0.9)
    },
}
BOX = {2: 60, 3: 32, 4: 20}  # largest entry of the grids; members stay below it
RADIUS = {2: st.integers(1, 12), 3: st.integers(1, 8), 4: st.sampled_from([1, 2, 3, 4])}
WEIGHTS = [0.0, 0.3, 1 / 3, 0.5, 2 / 3, 0.9, 1.0]

every_family = pytest.mark.parametrize(("build", "kind", "parameter"), FAMILIES.values(), ids=FAMILIES)


@st.composite
def problems(draw):
    dimension = draw(st.integers(2, 4))
    radius = draw(RADIUS[dimension]) * draw(st.sampled_from([1.0, 1.0, 1.25]))
    weights = draw(st.one_of(st.just(1.0), st.lists(st.sampled_from(WEIGHTS), min_size=dimension, max_size=dimension)))
    max_interaction = draw(st.sampled_from([None, *range(1, dimension + 1)]))
    return dimension, radius, weights, max_interaction


@every_family
@given(problem=problems())
def test_by_radius_equals_the_definition(build, kind, parameter, problem):
    dimension, radius, weights, max_interaction = problem
    found = build(dimension, radius, weights=weights, max_interaction=max_interaction)
    box = oracles.orthant_box(dimension, BOX[dimension], max_interaction)
    inside = oracles.ball_weights(box, kind, weights, parameter) <= radius * (1 + 1e-9)
    assert box[inside].max() < BOX[dimension], "the grid has to hold the whole set"
    np.testing.assert_array_equal(found.indices, box[inside])  # also: lexicographic order


@every_family
@given(problem=problems(), budget=st.integers(1, 400))
def test_by_budget_is_the_largest_ball_that_fits(build, kind, parameter, problem, budget):
    dimension, _, weights, max_interaction = problem
    build = partial(build, dimension, weights=weights, max_interaction=max_interaction)
    box = oracles.orthant_box(dimension, BOX[dimension], max_interaction)
    values = oracles.ball_weights(box, kind, weights, parameter)
    box, values = box[np.isfinite(values)], values[np.isfinite(values)]
    groups, n_columns = oracles.tie_groups(values), 2.0 ** np.count_nonzero(box, axis=1)
    columns = np.cumsum(np.bincount(groups, n_columns))  # of the ball up to each group of ties
    beyond = groups[(box == BOX[dimension]).any(axis=1)].min(initial=groups.max())  # earlier groups are whole
    budget = int(min(budget, max(1, columns[beyond] - 1)))
    smallest = n_columns[values <= (1 + 1e-9 if kind == "cross" else 0)].sum()  # crosses start at radius one
    if smallest > budget:
        with pytest.raises(ValueError, match=f"n_components={budget} is too small"):
            build(n_components=budget)
    else:
        fitting = groups <= np.flatnonzero(columns <= budget)[-1]
        np.testing.assert_array_equal(build(n_components=budget).indices, box[fitting])


def test_cardinalities_of_the_cross_in_five_dimensions():
    cross = hyperbolic_cross(5, 10)
    assert (len(cross), cross.n_components_full, cross.n_components) == (1432, 45824, 16893)


@pytest.mark.parametrize(("radius", "n_components"), [(4, 49), (7, 93), (13, 201), (23, 397), (40, 793)])
def test_column_counts_of_the_textures(radius, n_components):
    assert hyperbolic_cross(2, radius).n_components == n_components
    assert energy_norm_hyperbolic_cross(2, n_components=n_components, sparsity=0).n_components == n_components


def test_energy_norm_cross_is_not_downward_closed():
    members = set(map(tuple, energy_norm_hyperbolic_cross(3, 8, sparsity=0.5).indices.tolist()))
    assert (9, 1, 1) in members
    assert (9, 0, 1) not in members


@pytest.mark.parametrize(("denominator", "radius"), [(3, 9), (7, 21), (10, 30)])
def test_rounding_does_not_drop_members_on_the_boundary(denominator, radius):
    weights = [1 / denominator, 1.0]
    found = hyperbolic_cross(2, radius, weights=weights).indices
    largest = [found[found[:, 1] == k][:, 0].max() for k in range(1, radius + 1)]
    assert largest == [radius // (denominator * k) for k in range(1, radius + 1)]


@every_family
def test_the_same_set_is_built_in_the_same_order(build, kind, parameter):
    one, other = (build(3, n_components=300, weights=[1, 0.5, 2 / 3]) for _ in range(2))
    np.testing.assert_array_equal(one.frequencies, other.frequencies)


@pytest.mark.parametrize("dimension", [10, 100])
def test_many_dimensions_cost_no_grid(dimension):
    found = hyperbolic_cross(dimension, n_components=25_000, max_interaction=2)
    assert 10_000 < found.n_components <= 25_000
    assert np.count_nonzero(found.frequencies, axis=1).max() == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tensor(0, 1), "dimension must be a positive integer, got 0"),
        (lambda: tensor(2.0, 1), r"dimension must be .* got 2\.0"),
        (lambda: tensor("two", 1), "dimension must be .* got 'two'"),
        (lambda: tensor(2), "exactly one of radius and n_components; got radius=None and n_components=None"),
        (
            lambda: tensor(2, 3, n_components=9),
            "exactly one of radius and n_components; got radius=3 and n_components=9",
        ),
        (lambda: tensor(2, -1), "radius must be .* got -1"),
        (lambda: tensor(2, np.nan), "radius must be .* got nan"),
        (lambda: tensor(2, np.inf), "radius must be .* got inf"),
        (lambda: tensor(2, "wide"), "radius must be .* got 'wide'"),
        (lambda: hyperbolic_cross(2, 0.5), r"radius must be .* at least 1, got 0\.5"),
        (lambda: total_order(2, n_components=0), "n_components must be a positive integer, got 0"),
        (lambda: total_order(2, n_components=10.0), r"n_components must be .* got 10\.0"),
        (lambda: total_order(2, n_components="many"), "n_components must be .* got 'many'"),
        (lambda: euclidean(2, 3, weights=1.5), r"weights must lie in \[0, 1\], got 1\.5"),
        (lambda: euclidean(2, 3, weights=[0.5, -0.1]), r"weights must lie .* got \[0\.5, -0\.1\]"),
        (lambda: euclidean(2, 3, weights=[0.5, np.nan]), r"weights must lie .* got \[0\.5, nan\]"),
        (lambda: euclidean(2, 3, weights=[1, 1, 1]), r"weights must be one number or 2, .* got \[1, 1, 1\]"),
        (lambda: euclidean(2, 3, weights="heavy"), "weights must be numbers .* got 'heavy'"),
        (lambda: hyperbolic_cross(2, 3, max_interaction=0), "max_interaction must be .* got 0"),
        (lambda: hyperbolic_cross(2, 3, max_interaction="two"), "max_interaction must be .* got 'two'"),
        (lambda: lp_ball(2, 3, p=0), r"p must be a number in \(0, inf\], got 0"),
        (lambda: lp_ball(2, 3, p=np.nan), "p must be .* got nan"),
        (lambda: lp_ball(2, 3, p="one"), "p must be .* got 'one'"),
        *[
            (partial(energy_norm_hyperbolic_cross, 2, 3, sparsity=bad), rf"sparsity must be in \[0, 1\), got {bad!r}")
            for bad in (-0.1, 1, 1.5, np.nan, "half", None)
        ],
        (lambda: named_set("auto", 2, 9), "name must be one of 'tensor', .* got 'auto'"),
        (lambda: named_set([], 2, 9), r"name must be one of 'tensor', .* got \[\]"),
        (lambda: euclidean(2, 1e300), r"radius=1e\+300 gives a set too large"),
        (lambda: tensor(2, 1e300), r"radius=1e\+300 gives a set too large"),
        (lambda: lp_ball(2, 1e100, p=9, weights=1e-99), r"radius=1e\+100 gives a set too large"),
        (lambda: euclidean(2, n_components=9, weights=1e-300), r"weights=\[1.e-300 1.e-300\] needs powers"),
        (lambda: lp_ball(2, n_components=401, p=1e4), r"lp_ball.* needs powers that are no numbers"),
        (lambda: tensor(1, 1e9), r"radius=1000000000\.0 gives a set too large"),
    ],
)
def test_bad_input_is_named_with_its_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
