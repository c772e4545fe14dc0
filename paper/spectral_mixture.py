r"""Spectral mixtures with GPyTorch's parameters on an image with a hole: Gaussian processes on all of its other pixels.

Two kernels of Wilson and others. "SM" (2013) is a mixture of waves in the plane,
:math:`\sum_q w_q e^{-2 \pi^2 \lvert s_q \odot \tau \rvert^2} \cos(2 \pi \mu_q \cdot \tau)`, half of them along each
diagonal. "GPatt-like" (2014) is a product of a mixture along each axis, as in GPatt and, with one set of weights, in
``gpytorch.kernels.SpectralMixtureKernel`` of several inputs. Parameters and their constraints are GPyTorch's.

As in GPatt the image is a grid with pixels that are missing: products with the covariance are exact, here by transforms
of twice the length, systems are solved by conjugate gradients, and the determinant of the pixels that are there is
approximated by the largest eigenvalues of the whole grid, scaled; here those of its nearest circulant. Gradients are
exact but for that determinant. Learned by Adam from several starts, the best of which goes on.
"""

import math
import time

import numpy as np

KERNELS = ("SM", "GPatt-like")
N_MIXTURES = 20  # of a product along each axis
N_RESTARTS, N_FIRST_STEPS, N_STEPS = 5, 50, 500
FIRST_RATE, LAST_RATE = 0.1, 0.003  # of Adam, falling like a cosine
ROUGH, FINE = 1e-3, 1e-7  # relative residuals of conjugate gradients, while learning and for predictions
MOST_ITERATIONS = 2000
TEST_STEP = 41  # of the pixels of the hole, every so manieth has a variance


class Grid:
    """The kernel on all pixels of a square image, some of which are known.

    Parameters
    ----------
    name : str
        "SM" or "GPatt-like".
    known : ndarray of bool, shape (length, length)
        Pixels that are not missing.
    n_mixtures : int
        Components.
    """

    def __init__(self, name, known, n_mixtures):
        import gpytorch
        import torch

        self._torch = torch
        self.name = name
        self.known = torch.as_tensor(known)
        self.length = len(known)
        kernel = gpytorch.kernels.SpectralMixtureKernel
        # a mixture over both axes has one set of weights, a product one for each axis
        dimensions = [2] if name == "SM" else [1, 1]
        self.kernels = [kernel(num_mixtures=n_mixtures, ard_num_dims=d).double() for d in dimensions]
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        self._lag = torch.arange(1 - self.length, self.length, dtype=torch.float64)
        self._sign = (-1.0) ** torch.arange(n_mixtures, dtype=torch.float64)[:, None]  # which diagonal

    @property
    def noise(self):
        """Variance of the noise."""
        return self.likelihood.noise[0]

    def parameters(self):
        """All parameters that are learned."""
        return [p for module in (*self.kernels, self.likelihood) for p in module.parameters()]

    def start(self, spectra, variance, rng):
        """Frequencies drawn from the periodograms of the axes, widths near their resolution, equal weights."""
        q = self.kernels[0].num_mixtures
        frequencies = np.arange(1, spectra.shape[1] + 1) / self.length
        draws = np.array([rng.choice(frequencies, q, p=one / one.sum()) for one in spectra])
        draws = np.maximum(draws + rng.uniform(-0.5, 0.5, (2, q)) / self.length, 1e-3)
        widths = np.abs(rng.normal(0, 2.0 / self.length, (2, q))) + 1e-4
        total = variance if self.name == "SM" else math.sqrt(variance)
        for axis, kernel in enumerate(self.kernels):
            own = slice(None) if self.name == "SM" else slice(axis, axis + 1)
            kernel.mixture_means = self._torch.tensor(draws[own].T[:, None, :])
            kernel.mixture_scales = self._torch.tensor(widths[own].T[:, None, :])
            kernel.mixture_weights = self._torch.full((q,), total / q, dtype=self._torch.float64)
        self.likelihood.noise = 0.1 * variance

    def lags(self):
        """The kernel at all signed lags of rows and columns: (2 length - 1, 2 length - 1)."""
        torch, axes = self._torch, []
        for axis in (0, 1):
            kernel = self.kernels[0] if self.name == "SM" else self.kernels[axis]
            column = axis if self.name == "SM" else 0
            mean, scale = kernel.mixture_means[:, 0, column, None], kernel.mixture_scales[:, 0, column, None]
            width = torch.exp(-2 * math.pi**2 * (self._lag * scale) ** 2)
            even = width * torch.cos(2 * math.pi * self._lag * mean)
            weights = kernel.mixture_weights[:, None]
            if self.name == "GPatt-like":
                axes.append((weights * even).sum(0, keepdim=True))
                continue
            odd = width * torch.sin(2 * math.pi * self._lag * mean)
            axes.append(torch.cat([even, self._sign * odd] if axis else [weights * even, -weights * odd]))
        return axes[0].T @ axes[1]

    def embedding(self, lags):
        """Transform of the kernel on a torus of twice the length, on which products with it are exact."""
        place = self._torch.arange(1 - self.length, self.length) % (2 * self.length)
        whole = lags.new_zeros(2 * self.length, 2 * self.length)
        whole[place[:, None], place] = lags
        return self._torch.fft.rfft2(whole).real

    def eigenvalues(self, lags):
        """Eigenvalues of the nearest circulant of the covariance of the grid: (length, length)."""
        length = self.length
        taper = 1 - self._lag.abs() / length
        tapered = lags * taper[:, None] * taper
        # lags that are the same on the torus of the image are added
        place = self._torch.arange(1 - length, length) % length
        rows = lags.new_zeros(length, 2 * length - 1).index_add(0, place, tapered)
        folded = lags.new_zeros(length, length).index_add(1, place, rows)
        return self._torch.fft.fft2(folded).real.clamp_min(1e-10)

    def solve(self, target, lags, tolerance, start=None):
        """Weights of the known pixels, (..., n), and how many iterations of preconditioned conjugate gradients."""
        torch, length = self._torch, self.length
        symbol, noise = self.embedding(lags), self.noise
        inverse = 1 / (self.eigenvalues(lags) + noise)

        def to_grid(values):
            grid = values.new_zeros(*values.shape[:-1], length, length)
            grid[..., self.known] = values
            return grid

        def covariance(values):
            product = torch.fft.irfft2(
                torch.fft.rfft2(to_grid(values), s=(2 * length,) * 2) * symbol, s=(2 * length,) * 2
            )
            return product[..., :length, :length][..., self.known] + noise * values

        def precondition(values):
            return torch.fft.ifft2(torch.fft.fft2(to_grid(values)) * inverse).real[..., self.known]

        weights = torch.zeros_like(target) if start is None else start.clone()
        residual = target - covariance(weights)
        ready = precondition(residual)
        direction, size = ready, (residual * ready).sum(-1, keepdim=True)
        limit = tolerance * target.norm(dim=-1).max()
        count = 0
        while residual.norm(dim=-1).max() > limit and count < MOST_ITERATIONS:
            product = covariance(direction)
            step = size / (direction * product).sum(-1, keepdim=True)
            weights = weights + step * direction
            residual = residual - step * product
            ready = precondition(residual)
            before, size = size, (residual * ready).sum(-1, keepdim=True)
            direction = ready + size / before * direction
            count += 1
        return weights, count

    def step(self, target, start=None):
        """Gradient of the mean negative log evidence; its value and the weights, from which the next step begins."""
        torch, n_known = self._torch, len(target)
        with torch.no_grad():
            weights, _ = self.solve(target, self.lags(), ROUGH, start)
            correlation = self.autocorrelation(weights)
        lags = self.lags()
        largest = self.eigenvalues(lags).reshape(-1).topk(n_known).values
        determinant = torch.log(largest * n_known / self.known.numel() + self.noise).sum()
        # the derivative of y' K^-1 y is that of -a' K a with weights a that are held
        form = (correlation * lags).sum() + self.noise * (weights @ weights)
        ((0.5 * determinant - 0.5 * form) / n_known).backward()
        value = 0.5 * (target @ weights + determinant.detach() + n_known * math.log(2 * math.pi)) / n_known
        return float(value), weights

    def autocorrelation(self, weights):
        """Sums over pairs of known pixels of the products of their weights, by signed lag."""
        grid = weights.new_zeros(self.length, self.length)
        grid[self.known] = weights
        size = (2 * self.length,) * 2
        found = self._torch.fft.irfft2(self._torch.fft.rfft2(grid, s=size).abs() ** 2, s=size)
        place = self._torch.arange(1 - self.length, self.length) % (2 * self.length)
        return found[place[:, None], place]

    def predict(self, target, asked, n_at_once=25):
        """Means of all pixels, and variances of the function at pixels (rows, columns)."""
        torch, length = self._torch, self.length
        with torch.no_grad():
            lags = self.lags()
            weights, _ = self.solve(target, lags, FINE)
            grid = target.new_zeros(length, length)
            grid[self.known] = weights
            size = (2 * length,) * 2
            mean = torch.fft.irfft2(torch.fft.rfft2(grid, s=size) * self.embedding(lags), s=size)[:length, :length]
            rows, columns = torch.nonzero(self.known, as_tuple=True)
            variances = []
            for first in range(0, len(asked), n_at_once):
                here = torch.as_tensor(asked[first : first + n_at_once])
                across = lags[
                    here[:, :1] - rows + length - 1, here[:, 1:] - columns + length - 1
                ]  # between these pixels and all known ones
                solved, _ = self.solve(across, lags, 1e-4)
                variances.append(lags[length - 1, length - 1] - (across * solved).sum(-1))
        return mean.numpy(), torch.cat(variances).numpy()


def learn(grid, target, n_steps):
    """Adam on the mean negative log evidence, with a falling rate; the last value."""
    import torch

    optimiser = torch.optim.Adam(grid.parameters(), lr=FIRST_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps, LAST_RATE)
    value, weights = math.inf, None
    for _ in range(n_steps):
        optimiser.zero_grad()
        value, weights = grid.step(target, weights)
        optimiser.step()
        schedule.step()
    return value


def fit(
    name, image, hole, *, seed=0, restarts=N_RESTARTS, first_steps=N_FIRST_STEPS, steps=N_STEPS, mixtures=N_MIXTURES
):
    """Learn one kernel from the pixels outside the hole, and predict those inside: errors, evidence and the time."""
    import torch

    torch.set_num_threads(1)
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    level = image[~hole].mean()
    target = torch.as_tensor(image[~hole] - level)
    spectra = periodograms(image, hole)
    best = None
    for _ in range(restarts):
        grid = Grid(name, ~hole, mixtures)
        grid.start(spectra, float(target.var()), rng)
        value = learn(grid, target, first_steps)
        if best is None or value < best[0]:
            best = value, grid
    grid = best[1]
    value = learn(grid, target, steps)
    seconds = time.perf_counter() - start
    asked = np.argwhere(hole)
    mean, function_variance = grid.predict(target, asked[::TEST_STEP])
    residual = image[hole] - level - mean[hole]
    noise = float(grid.noise.detach())
    variance, some = function_variance + noise, residual[::TEST_STEP]
    return {
        "method": name,
        "rmse": float(np.sqrt(np.mean(residual**2))),
        "mnll": float(np.mean(0.5 * np.log(2 * np.pi * variance) + some**2 / (2 * variance))),
        "noise_variance": noise,
        "evidence_per_pixel": -value,
        "seconds": seconds,
    }


def periodograms(image, hole):
    """Mean power of the lines that do not touch the hole, along each axis, without the level: (2, half the length)."""
    found = []
    for lines, missing in ((image.T, hole.T), (image, hole)):
        whole = lines[~missing.any(axis=1)]
        found.append((np.abs(np.fft.rfft(whole - whole.mean(), axis=1)[:, 1:]) ** 2).mean(axis=0))
    return np.array(found)
