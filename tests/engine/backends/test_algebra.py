"""Factors of posterior precisions against plain inverses, by each implementation."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.backends.devices import DEVICES, check_device
from torusgp.engine.backends import LapackAlgebra, _lapack, _torch_algebra
from torusgp.engine.backends._torch_algebra import TorchAlgebra, TorchFactor

ERROR = 1e-11  # relative: inverses of matrices with a condition number of some thousands


def lapack(gram, monkeypatch):
    monkeypatch.setattr(_lapack, "_TILE", 7)
    return LapackAlgebra(gram)


def by_torch(device):
    def make(gram, monkeypatch):
        check_device(device)
        monkeypatch.setattr(_torch_algebra, "_LEAF", 4)
        return TorchAlgebra(gram, device)

    return make


ALGEBRAS = [pytest.param(lapack, id="lapack")]
ALGEBRAS += [
    pytest.param(by_torch(name), id=f"torch-{name}", marks=marks)
    for name, marks in (("cpu", ()), ("cuda", pytest.mark.gpu))
]


def make_problem(size, seed=0):
    """Gram matrix, prior standard deviations, one of them zero, noise variance, and the precision B itself."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(size + 5, size))
    root, noise = rng.uniform(0.1, 2, size), 0.3
    root[size // 2] = 0.0
    gram = F.T @ F
    return gram, root, noise, np.eye(size) + root[:, None] * gram * root / noise


@pytest.mark.parametrize("make", ALGEBRAS)
@pytest.mark.parametrize("size", [1, 2, 4, 5, 7, 8, 9, 15, 30, 61])
def test_everything_follows_from_the_factor(make, size, monkeypatch):
    gram, root, noise, B = make_problem(size)
    before = gram.copy()
    factor = make(gram, monkeypatch).factor(root, noise)
    inverse = np.linalg.inv(B)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(gram, before)
    np.testing.assert_array_equal(factor.lower, np.tril(factor.lower))
    np.testing.assert_allclose(factor.lower @ factor.lower.T, B, rtol=ERROR, atol=ERROR)
    assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(B)[1], rel=ERROR)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse), rtol=ERROR)
    covariance = factor.covariance(root)
    np.testing.assert_allclose(covariance, root[:, None] * inverse * root, rtol=ERROR, atol=ERROR)
    np.testing.assert_allclose(covariance, covariance.T, rtol=0, atol=1e-15)
    for shape in ((size,), (size, 1), (size, 3)):
        values = rng.normal(size=shape)
        for transpose in (False, True):
            solution = factor.solve(values, transpose)
            assert solution.shape == shape
            back = (factor.lower.T if transpose else factor.lower) @ solution
            np.testing.assert_allclose(back, values, rtol=ERROR, atol=ERROR)


@pytest.mark.parametrize("make", ALGEBRAS)
def test_one_gram_matrix_serves_many_variances(make, monkeypatch):
    gram, root, noise, _ = make_problem(9)
    algebra = make(gram, monkeypatch)
    for scale in (1.0, 0.1, 3.0):
        B = np.eye(9) + scale**2 * root[:, None] * gram * root / noise
        assert algebra.factor(scale * root, noise).log_determinant() == pytest.approx(np.linalg.slogdet(B)[1])


@pytest.mark.parametrize("make", ALGEBRAS)
def test_indefinite_matrices_are_refused(make, monkeypatch):
    gram, root, noise, _ = make_problem(9)
    with pytest.raises(np.linalg.LinAlgError, match=r"leading minor of order \d+ is not positive"):
        make(gram - 100 * np.eye(9), monkeypatch).factor(root, noise)


@pytest.mark.parametrize("make", ALGEBRAS)
def test_factors_can_be_pickled(make, monkeypatch):
    gram, root, noise, _ = make_problem(9)
    factor = make(gram, monkeypatch).factor(root, noise)
    restored = pickle.loads(pickle.dumps(factor))
    np.testing.assert_array_equal(restored.lower, factor.lower)
    np.testing.assert_allclose(restored.inverse_diagonal(), factor.inverse_diagonal(), rtol=1e-14)


def test_a_pickle_of_an_absent_device_opens_on_the_cpu():
    check_device("cpu")
    restored = TorchFactor.__new__(TorchFactor)
    restored.__setstate__({"lower": np.diag([2.0, 4.0]), "device": "cuda:99"})
    assert restored.device == "cpu"
    np.testing.assert_allclose(restored.inverse_diagonal(), [1 / 4, 1 / 16])


@given(size=st.integers(1, 3 * _torch_algebra._LEAF), seed=st.integers(0, 5))
def test_triangles_are_inverted_by_halves(size, seed):
    check_device("cpu")
    import torch

    rng = np.random.default_rng(seed)
    lower = np.tril(rng.normal(size=(size, size)) / np.sqrt(size), -1) + np.diag(rng.uniform(1, 2, size))
    inverse = torch.zeros((size, size), dtype=torch.float64)
    _torch_algebra.invert_lower(torch.from_numpy(lower), inverse)
    np.testing.assert_allclose(lower @ inverse.numpy(), np.eye(size), rtol=0, atol=1e-11)


@pytest.mark.gpu
@pytest.mark.parametrize("device", DEVICES[1:])
def test_large_matrices_agree(device):
    check_device(device)
    gram, root, noise, _ = make_problem(1500)
    expected, found = (algebra.factor(root, noise) for algebra in (LapackAlgebra(gram), TorchAlgebra(gram, device)))
    np.testing.assert_allclose(found.inverse_diagonal(), expected.inverse_diagonal(), rtol=1e-9)
    np.testing.assert_allclose(found.covariance(root), expected.covariance(root), rtol=0, atol=1e-11)
