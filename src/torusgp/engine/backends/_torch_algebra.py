"""Linear algebra of the posterior on a device, with the verbs of :mod:`torusgp.engine.backends._lapack`.

The Gram matrix stays there between evaluations; only vectors come and go.
"""

import numpy as np

from torusgp.engine.backends._torch_device import resolve_device, resolve_stored_device, to_device, torch

_LEAF = 512  # order up to which a triangle is inverted by substitution


class TorchAlgebra:
    """Factors :math:`B = I + R G R / s^2` for one Gram matrix G and many prior and noise variances.

    Shapes: gram (n_columns, n_columns).
    """

    def __init__(self, gram, device):
        self.device = resolve_device(device)
        self._gram = to_device(gram, self.device)

    def factor(self, root, noise_variance):
        """Factor B; see :meth:`LapackAlgebra.factor`."""
        root = to_device(root, self.device)
        scaled = self._gram * (root / noise_variance)
        scaled.mul_(root[:, None]).diagonal().add_(1.0)
        lower, info = torch.linalg.cholesky_ex(scaled)
        if int(info):
            raise np.linalg.LinAlgError(f"The leading minor of order {int(info)} is not positive.")
        return TorchFactor(lower, self.device)


class TorchFactor:
    """Lower Cholesky factor L of B on a device, and what follows from it as arrays.

    Shapes: tensor (n_columns, n_columns).
    """

    def __init__(self, tensor, device):
        self.tensor, self.device = tensor, device

    @property
    def lower(self):
        """The factor as an array."""
        return self.tensor.cpu().numpy()

    def log_determinant(self):
        """Logarithm of the determinant of B."""
        return 2 * float(self.tensor.diagonal().log().sum())

    def solve(self, values, transpose=False):
        """Product of the inverse of L, or of its transpose, with a vector or the columns of a matrix."""
        right = to_device(values if values.ndim == 2 else values[:, None], self.device)
        triangle = self.tensor.T if transpose else self.tensor
        return torch.linalg.solve_triangular(triangle, right, upper=transpose).cpu().numpy().reshape(values.shape)

    def weights(self, root, moment, output):
        """Posterior mean of the weights, from the moments of an output over the noise variance."""
        return root * self.solve(self.solve(root * moment), transpose=True)

    def inverse_diagonal(self):
        """Diagonal of the inverse of B: sums of squares, which cannot cancel, of the columns of the inverse of L."""
        return torch.linalg.vector_norm(self._inverse(), dim=0).square_().cpu().numpy()

    def inverse_product(self, values):
        """Products of the columns of a matrix with the inverse of B between them."""
        whitened = self.solve(values)
        return whitened.T @ whitened

    def covariance(self, root):
        """The matrix :math:`R B^{-1} R`."""
        half = self._inverse().mul_(to_device(root, self.device))
        return (half.T @ half).cpu().numpy()

    def _inverse(self):
        inverse = torch.zeros_like(self.tensor)
        invert_lower(self.tensor, inverse)
        return inverse

    def __getstate__(self):
        return {"lower": self.lower, "device": self.device}

    def __setstate__(self, state):
        self.device = resolve_stored_device(state["device"])
        self.tensor = to_device(state["lower"], self.device)


def invert_lower(lower, inverse):
    """Inverse of a lower triangle into a matrix of zeros, by halves: nearly all of the work are matrix products."""
    size = len(lower)
    if size <= _LEAF:
        unit = torch.eye(size, dtype=lower.dtype, device=lower.device)
        inverse.copy_(torch.linalg.solve_triangular(lower, unit, upper=False))
        return
    half = _LEAF * ((size + _LEAF) // (2 * _LEAF))
    first, second = slice(0, half), slice(half, size)
    invert_lower(lower[first, first], inverse[first, first])
    invert_lower(lower[second, second], inverse[second, second])
    inverse[second, first].addmm_(inverse[second, second], lower[second, first] @ inverse[first, first], alpha=-1)
