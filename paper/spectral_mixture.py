r"""Spectral mixtures with GPyTorch's parameters on the textures: exact Gaussian processes, exact evidence.

Two kernels of Wilson and others. "SM" (2013) is a mixture of waves in the plane,
:math:`\sum_q w_q e^{-2 \pi^2 \lvert s_q \odot \tau \rvert^2} \cos(2 \pi \mu_q \cdot \tau)`, half of them along each
diagonal. "GPatt-like" (2014) is a product of a mixture along each axis, as in GPatt and, with one set of weights, in
``gpytorch.kernels.SpectralMixtureKernel`` of several inputs. GPatt approximates the determinant of the pixels that are
not missing; here all is exact, by a Cholesky factor of all 12675 training pixels where there is a GPU. Parameters and
their constraints are GPyTorch's. Kernel matrices are made on the grid of the image, as products of small ones.

python -m paper.spectral_mixture HOLES.npz OUTPUT.json   # HOLES.npz: image_KIND and hole_KIND of each texture

Without a GPU the kernel is learned from some of the pixels, and only then conditioned on all of them.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

KERNELS = ("SM", "GPatt-like")
N_MIXTURES = {"SM": 16, "GPatt-like": 16}  # components; of a product along each axis
N_RESTARTS, N_SOME, N_SOME_STEPS, N_STEPS = 5, 1500, 60, 120
FIRST_RATE, LAST_RATE = 0.1, 0.002  # of Adam, falling like a cosine


class Grid:
    """The kernel on all pixels of a square image, and evidence of some of them.

    Parameters
    ----------
    name : str
        "SM" or "GPatt-like".
    length : int
        Pixels along each axis.
    n_mixtures : int
        Components.
    device : torch.device
        Where it computes.
    """

    def __init__(self, name, length, n_mixtures, device):
        import gpytorch
        import torch

        self._torch = torch
        self.name = name
        self.length = length
        kernel = gpytorch.kernels.SpectralMixtureKernel
        # a mixture over both axes has one set of weights, a product one for each axis
        dimensions = [2] if name == "SM" else [1, 1]
        self.kernels = [kernel(num_mixtures=n_mixtures, ard_num_dims=d).to(device, torch.float64) for d in dimensions]
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device, torch.float64)
        self._lag = torch.arange(1 - length, length, device=device, dtype=torch.float64)
        self._sign = (-1.0) ** torch.arange(n_mixtures, device=device, dtype=torch.float64)[:, None]  # of a diagonal

    @property
    def noise(self):
        """Variance of the noise."""
        return self.likelihood.noise[0]

    def parameters(self):
        """All parameters that are learned."""
        return [p for module in (*self.kernels, self.likelihood) for p in module.parameters()]

    def start(self, spectra, variance, rng):
        """Frequencies drawn from the periodograms of the axes, widths from below their resolution, equal weights."""
        q = self.kernels[0].num_mixtures
        frequencies = np.arange(1, spectra.shape[1] + 1) / self.length
        draws = [rng.choice(frequencies, q, p=one / one.sum()) for one in spectra] + rng.uniform(-0.5, 0.5, (2, q)) / (
            self.length
        )
        draws = np.maximum(draws, 1e-3)  # (2, q)
        widths = np.abs(rng.normal(0, 2.0 / self.length, (2, q))) + 1e-4
        total = variance if self.name == "SM" else math.sqrt(variance)
        for axis, kernel in enumerate(self.kernels):
            own = slice(None) if self.name == "SM" else slice(axis, axis + 1)
            like = {"dtype": self._torch.float64, "device": self._lag.device}
            kernel.mixture_means = self._torch.tensor(draws[own].T[:, None, :], **like)
            kernel.mixture_scales = self._torch.tensor(widths[own].T[:, None, :], **like)
            kernel.mixture_weights = self._torch.full((q,), total / q, **like)
        self.likelihood.noise = 0.1 * variance

    def factors(self):
        """Kernels of signed lags along the rows and along the columns: (products, 2 length - 1) each."""
        torch, axes = self._torch, []
        for axis in (0, 1):
            kernel = self.kernels[0] if self.name == "SM" else self.kernels[axis]
            column = axis if self.name == "SM" else 0
            mean = kernel.mixture_means[:, 0, column, None]
            scale = kernel.mixture_scales[:, 0, column, None]
            width = torch.exp(-2 * math.pi**2 * (self._lag * scale) ** 2)
            even = width * torch.cos(2 * math.pi * self._lag * mean)
            if self.name == "GPatt-like":
                axes.append((kernel.mixture_weights[:, None] * even).sum(0, keepdim=True))
                continue
            odd = width * torch.sin(2 * math.pi * self._lag * mean)
            weights = kernel.mixture_weights[:, None]
            axes.append(torch.cat([even, self._sign * odd] if axis else [weights * even, -weights * odd]))
        return axes

    def blocks(self):
        """Kernel values by pairs of rows and of columns: (products, rows x rows) and (products, columns x columns)."""
        place = self._torch.arange(self.length, device=self._lag.device)
        lag = (place[:, None] - place + self.length - 1).reshape(-1)
        return [part[:, lag] for part in self.factors()]

    def between(self, first, second):
        """Kernel matrix between pixels, given by their numbers in the image."""
        rows, columns = self.factors()
        row_lag = first[:, None] // self.length - second // self.length + self.length - 1
        column_lag = first[:, None] % self.length - second % self.length + self.length - 1
        result = 0.0
        for row, column in zip(rows, columns, strict=True):
            result = result + row[row_lag] * column[column_lag]
        return result

    def prior_variance(self):
        """Variance of the function at a pixel."""
        rows, columns = self.factors()
        return (rows[:, self.length - 1] * columns[:, self.length - 1]).sum()

    def step_some(self, pixels, target):
        """Gradient of the mean negative log evidence of some pixels; its value."""
        covariance = self.between(pixels, pixels)
        eye = self._torch.eye(len(pixels), dtype=covariance.dtype, device=covariance.device)
        factor = self._torch.linalg.cholesky(covariance + (self.noise + 1e-6) * eye)
        half = self._torch.linalg.solve_triangular(factor, target[:, None], upper=False)
        loss = 0.5 * (half**2).sum() + factor.diagonal().log().sum() + 0.5 * len(pixels) * math.log(2 * math.pi)
        (loss / len(pixels)).backward()
        return float(loss.detach()) / len(pixels)

    def step_all(self, pixels, target):
        """The same for very many pixels: the gradient by the inverse, with nothing of their size kept for it."""
        torch, length = self._torch, self.length
        with torch.no_grad():
            factor = torch.linalg.cholesky(self.covariance(pixels))
            weights = torch.cholesky_solve(target[:, None], factor)[:, 0]
            loss = 0.5 * target @ weights + factor.diagonal().log().sum() + 0.5 * len(pixels) * math.log(2 * math.pi)
            gradient = torch.cholesky_inverse(factor)
            gradient.addr_(weights, weights, alpha=-1.0).mul_(0.5 / len(pixels))
            del factor
            trace = gradient.diagonal().sum()
            everything = torch.zeros(length**2, length**2, dtype=gradient.dtype, device=gradient.device)
            everything[pixels[:, None], pixels] = gradient
            del gradient
            everything = everything.reshape((length,) * 4).permute(0, 2, 1, 3).reshape(length**2, length**2)
        rows, columns = self.blocks()
        (rows * (columns @ everything.T)).sum().backward()
        (trace * self.noise).backward()
        return float(loss) / len(pixels)

    def covariance(self, pixels):
        """Covariance of observations of pixels."""
        rows, columns = self.blocks()
        length = self.length
        full = (rows.T @ columns).reshape((length,) * 4).permute(0, 2, 1, 3).reshape(length**2, length**2)
        result = full[pixels][:, pixels]
        result.diagonal().add_(self.noise + 1e-6)
        return result


def learn(grid, pixels, target, n_steps, step):
    """Adam on the mean negative log evidence, with a falling rate; the last value."""
    import torch

    optimiser = torch.optim.Adam(grid.parameters(), lr=FIRST_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps, LAST_RATE)
    loss = math.inf
    for _ in range(n_steps):
        optimiser.zero_grad()
        loss = step(pixels, target)
        optimiser.step()
        schedule.step()
    return loss


def fit(name, image, hole, *, seed=0, restarts=N_RESTARTS, n_some=N_SOME, some_steps=N_SOME_STEPS, steps=N_STEPS):
    """Learn one kernel from the pixels outside the hole, and predict those inside: errors, evidence and the time."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    inside = hole.ravel()
    known, asked = (np.flatnonzero(where) for where in (~inside, inside))
    values = image.ravel()
    level = values[known].mean()
    to_device = lambda array: torch.as_tensor(array, device=device)  # noqa: E731  a short name
    some = rng.choice(known, min(n_some, len(known)), replace=False)
    spectra = periodograms(image, hole)
    best = None
    for restart in range(restarts):
        torch.manual_seed(seed + restart)
        grid = Grid(name, image.shape[0], N_MIXTURES[name], device)
        grid.start(spectra, values[known].var(), rng)
        loss = learn(grid, to_device(some), to_device(values[some] - level), some_steps, grid.step_some)
        if best is None or loss < best[0]:
            best = loss, grid
    _, grid = best
    pixels, target = to_device(known), to_device(values[known] - level)
    whole = device.type == "cuda" and steps > 0
    if whole:
        loss = learn(grid, pixels, target, steps, grid.step_all)
    with torch.no_grad():
        factor = torch.linalg.cholesky(grid.covariance(pixels))
        across = grid.between(to_device(asked), pixels)
        mean = level + across @ torch.cholesky_solve(target[:, None], factor)[:, 0]
        half = torch.linalg.solve_triangular(factor, across.T, upper=False)
        variance = grid.prior_variance() + grid.noise - (half**2).sum(0)
        truth = to_device(values[asked])
        residual = mean - truth
        mnll = (0.5 * torch.log(2 * math.pi * variance) + residual**2 / (2 * variance)).mean()
    return {
        "kernel": name,
        "n_mixtures": N_MIXTURES[name],
        "learned_from": len(known) if whole else len(some),
        "rmse": float(residual.square().mean().sqrt()),
        "mnll": float(mnll),
        "noise_variance": float(grid.noise.detach()),
        "evidence_per_pixel": -best[0] if not whole else -loss,
        "seconds": time.perf_counter() - start,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "one core of a processor",
    }


def periodograms(image, hole):
    """Mean power of the lines that do not touch the hole, along each axis, without the level: (2, half the length)."""
    found = []
    for axis in (0, 1):
        lines = (image if axis == 1 else image.T)[~hole.any(axis=axis if axis == 1 else 0)]
        found.append((np.abs(np.fft.rfft(lines - lines.mean(), axis=1)[:, 1:]) ** 2).mean(axis=0))
    return np.array(found)


def main():
    parser = argparse.ArgumentParser("python -m paper.spectral_mixture")
    parser.add_argument("holes", type=Path, help="npz file with the images and their holes")
    parser.add_argument("output", type=Path, help="JSON file to write")
    parser.add_argument("--commit", help="of the code, where git is not at hand")
    options = parser.parse_args()
    import gpytorch
    import torch

    holes = np.load(options.holes)
    kinds = [name.removeprefix("image_") for name in holes.files if name.startswith("image_")]
    rows = []
    for kind in kinds:
        for name in KERNELS:
            rows.append({"kind": kind, **fit(name, holes[f"image_{kind}"], holes[f"hole_{kind}"])})
            print(json.dumps(rows[-1]), flush=True)
    versions = {"torch": torch.__version__, "gpytorch": gpytorch.__version__, "numpy": np.__version__}
    record = {"experiment": "spectral_mixture", "commit": options.commit, "versions": versions, "rows": rows}
    options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
