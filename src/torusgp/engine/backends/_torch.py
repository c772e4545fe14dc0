"""Dense sums and predictions by PyTorch, on a GPU or on the CPU: for more than three dimensions.

Rows pass in chunks of bounded size; what comes in and goes out are arrays. See :mod:`torusgp.engine.backends._dense`
for the readable reference.
"""

import numpy as np

from torusgp.engine.backends._dense import ColumnSums, DensePredictor, per_column, stored_count
from torusgp.engine.backends._torch_algebra import invert_lower
from torusgp.engine.backends._torch_device import (
    DeviceColumns,
    check_precision,
    chunk_rows,
    resolve_device,
    resolve_stored_device,
    round_to_tf32,
    rounding,
    rows_at_once,
    single_products,
    to_device,
    torch,
)

_BLOCK = 1024  # columns of a block of the Gram matrix: large enough for fast products, small enough to leave half out
_COPY_ENTRIES = 2**25  # entries of the Gram matrix that leave the device at once


class TorchSums(ColumnSums):
    """Sums of products of columns with each other and with the targets, kept in double precision on a device.

    Products with the targets and the constant are float64 whatever the precision; ``rounding`` bounds the error of an
    entry, relative to the sum of the precisions of the rows.
    """

    name = "torch"

    def __init__(self, frequencies, n_outputs, device=None, precision="float64"):
        super().__init__(frequencies)
        self.device, self.precision = resolve_device(device), check_precision(precision)
        self.rounding = rounding(precision)
        self._columns_of = DeviceColumns(frequencies, self.device)
        width = self._columns_of.width
        # The upper triangle in blocks of columns, each down to its diagonal; what lies below comes by symmetry.
        self._bounds = [(start, min(start + _BLOCK, width)) for start in range(0, width, _BLOCK)]
        self._blocks = [self._zeros(end, end - start) for start, end in self._bounds]
        self._moments = self._zeros(width, 1 + n_outputs)  # with the constant, and with the targets

    def _zeros(self, *shape):
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def add_weighted(self, phases, precision, weighted):
        """Add rows: phases (n, dimension), precision (n,), which may be negative, weighted targets (n, n_outputs)."""
        if len(phases) == 0:
            return
        dimension = phases.shape[1]
        is_plain, has_negative = bool((precision == 1).all()), bool((precision < 0).any())
        bytes_per_row = self._columns_of.width * (12 if self.precision == "float64" else 16)
        step = chunk_rows(self.device, bytes_per_row, len(phases))
        workspace = self._columns_of.workspace(step)
        previous = None
        with single_products(self.precision):
            for start in range(0, len(phases), step):
                rows = slice(start, start + step)
                packed = to_device(np.hstack([phases[rows], precision[rows, None], weighted[rows]]), self.device)
                weights = packed[:, dimension : dimension + 1]
                columns = self._columns_of.evaluate(packed[:, :dimension], torch.ones_like(weights), workspace)
                # not addmm_, here and below: it may add row after row to a sum that is already large
                self._moments += columns.T @ packed[:, dimension:]
                if not is_plain:
                    columns *= weights.abs().sqrt()
                columns, at_once = self._to_precision(columns), rows_at_once(self.precision)
                signs = weights.sign().to(columns.dtype).split(at_once)
                for some, sign in zip(columns.split(at_once), signs, strict=True):
                    self._add_products(some, sign if has_negative else None)
                self.n_rows += len(packed)
                previous = self._wait_for(previous)

    def _wait_for(self, previous):
        """Let the host be ahead of a GPU by one chunk, no more: each holds page-locked memory."""
        if self.device == "cpu":
            return None
        if previous is not None:
            previous.synchronize()
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self.device))
        return event

    def _to_precision(self, columns):
        if self.precision == "float64":
            return columns
        columns = columns.to(torch.float32)
        if self.precision == "tf32":
            round_to_tf32(columns)
        return columns

    def _add_products(self, columns, sign):
        for (start, end), block in zip(self._bounds, self._blocks, strict=True):
            own = columns[:, start:end]
            block += columns[:, :end].T @ (own if sign is None else sign * own)

    def add(self, other, factor=1.0, offset=0.0):
        """Add the sums of other rows, whose targets become ``factor * target + offset``."""
        n_outputs = self._moments.shape[1] - 1
        factor, offset = (to_device(np.broadcast_to(v, (n_outputs,)), self.device) for v in (factor, offset))
        theirs = other._moments.to(self.device)
        self._moments[:, 1:] += factor * theirs[:, 1:] + theirs[:, :1] * offset
        self._moments[:, 0] += theirs[:, 0]
        for block, added in zip(self._blocks, other._blocks, strict=True):
            block += added.to(self.device)
        self.n_rows += other.n_rows

    def constant_sums(self):
        """Sum of the precisions, and of their products with the targets."""
        first = self._moments[0].cpu().numpy().copy()
        return first[0], first[1:]

    def _places(self, frequencies):
        """Places of the columns of frequencies: one further than elsewhere, behind the sine of the zero frequency."""
        columns = self._columns(frequencies)
        return columns + (columns > 0)

    def gram(self, frequencies):
        """Matrix of the sums of products of the columns of these frequencies."""
        places = to_device(self._places(frequencies), self.device)
        full = self._symmetric()
        result = np.empty((len(places), len(places)))
        step = max(1, _COPY_ENTRIES // len(places))
        for start in range(0, len(places), step):
            rows = full[places[start : start + step]][:, places]
            torch.from_numpy(result[start : start + step]).copy_(rows)
        return result

    def _symmetric(self):
        full = torch.empty((self._columns_of.width,) * 2, dtype=torch.float64, device=self.device)
        for (start, end), block in zip(self._bounds, self._blocks, strict=True):
            full[:end, start:end] = block
            full[start:end, :start] = block[:start].T
            corner = full[start:end, start:end]
            corner.copy_(corner.triu() + corner.triu(1).T)  # products are symmetric up to rounding only
        full[0] = full[:, 0] = self._moments[:, 0]
        return full

    def moments(self, frequencies):
        """Sums of products of the columns with the targets, shape (n_columns, n_outputs)."""
        return self._moments.cpu().numpy()[self._places(frequencies), 1:]

    def subset(self, frequencies):
        """Sums of these frequencies alone."""
        result = TorchSums(frequencies, self._moments.shape[1] - 1, self.device, self.precision)
        count = np.array(self.n_rows)
        result.set_arrays({"gram": self.gram(frequencies), "moments": self.moments(frequencies), "n_rows": count})
        return result

    def to_arrays(self):
        """Arrays that hold the sums, by name: those of the dense sums, which can take them over."""
        upper = self.gram(self.frequencies)
        for row in range(1, len(upper)):
            upper[row, :row] = 0.0
        return {"gram": upper, "moments": self.moments(self.frequencies), "n_rows": np.array(self.n_rows)}

    def set_arrays(self, arrays):
        """Take sums over from arrays of the same names and shapes; only the upper triangle counts."""
        places = to_device(self._places(self.frequencies), self.device)
        full = self._zeros(*(self._columns_of.width,) * 2)
        full[places[:, None], places] = to_device(arrays["gram"], self.device)
        for (start, end), block in zip(self._bounds, self._blocks, strict=True):
            block.copy_(full[:end, start:end])
        self._moments.zero_()
        self._moments[:, 0] = full[0]
        self._moments[places, 1:] = to_device(arrays["moments"], self.device)
        self.n_rows = stored_count(arrays)

    def __getstate__(self):
        state = {"device": self.device, "precision": self.precision, "n_outputs": self._moments.shape[1] - 1}
        return {"frequencies": self.frequencies, **state, "arrays": self.to_arrays()}

    def __setstate__(self, state):
        device = resolve_stored_device(state["device"])
        self.__init__(state["frequencies"], state["n_outputs"], device, state["precision"])  # type: ignore[misc]
        self.set_arrays(state["arrays"])


class TorchPredictor(DensePredictor):
    """Mean, variance and gradients of the posterior at points, in double precision on a device.

    Shapes: frequencies (n_frequencies, dimension).
    """

    name = "torch"

    def __init__(self, frequencies, posterior, device=None):
        super().__init__(frequencies, posterior)
        self.device = resolve_device(device)
        self._columns_of = DeviceColumns(frequencies, self.device)
        self._factors = {}  # by output: inverses of those of the posterior

    def _chunks(self, phases):
        """Chunks of rows and their columns on the device, valid until the next one."""
        step = chunk_rows(self.device, 24 * self._columns_of.width, max(1, len(phases)))
        workspace = self._columns_of.workspace(step)
        scale = torch.ones((1, 1), dtype=torch.float64, device=self.device)
        for start in range(0, len(phases), step):
            rows = slice(start, min(start + step, len(phases)))
            features = self._columns_of.evaluate(to_device(phases[rows], self.device), scale, workspace)
            features[:, 1] = 1.0  # instead of the sine of the zero frequency: the columns follow in their usual order
            yield rows, features[:, 1 : 2 * len(self.frequencies)]

    def mean(self, phases, weights):
        """Values of functions with these weights, shape (n, n_functions)."""
        result = np.empty((len(phases), weights.shape[1]))
        weights = to_device(weights, self.device)
        for rows, features in self._chunks(phases):
            result[rows] = (features @ weights).cpu().numpy()
        return result

    def adjoint(self, phases, values):
        """Sums over points of the columns times values, see :class:`DensePredictor`."""
        shape = (2 * len(self.frequencies) - 1, values.shape[1])
        result = torch.zeros(shape, dtype=torch.float64, device=self.device)
        for rows, features in self._chunks(phases):
            result += features.T @ to_device(values[rows], self.device)
        return result.cpu().numpy()

    def variance(self, phases, output):
        """Posterior variance of one output: the squared norm of L^-1 R phi, which never cancels."""
        return self.mean_and_variance(phases, output)[1]

    def mean_and_variance(self, phases, output):
        """Posterior mean and variance of one output."""
        mean, variance = np.empty(len(phases)), np.empty(len(phases))
        weights = to_device(self.posterior.weights[:, output], self.device)
        for rows, features in self._chunks(phases):
            mean[rows] = (features @ weights).cpu().numpy()
            variance[rows] = self._squared_norms(features, output)
        return mean, variance

    def _squared_norms(self, features, output):
        """Squared norms of L^-1 R phi: products with blocks of the inverse triangle, at the speed of the sums."""
        inverse, root = self._factor(output)
        # zeros up to a multiple of eight, so that rows are aligned, as tensor cores like it
        scaled = torch.nn.functional.pad(features * root, (0, inverse.shape[1] - len(root)))
        total = torch.zeros(len(features), dtype=features.dtype, device=self.device)
        for start in range(0, len(root), _BLOCK):
            end = min(start + _BLOCK, inverse.shape[1])
            part = scaled[:, :end] @ inverse[start:end, :end].T
            total += torch.linalg.vector_norm(part, dim=1).square_()
        return total.cpu().numpy()

    def _factor(self, output):
        """Inverse of the Cholesky factor of an output, with zeros up to an aligned size, and prior deviations."""
        if output not in self._factors:
            factor, root = self.posterior.factor(output), self.posterior.roots[output]
            on_device = getattr(factor, "device", None) == self.device
            lower = factor.tensor if on_device else to_device(factor.lower, self.device)
            size = -(-len(root) // 8) * 8
            inverse = torch.zeros((size, size), dtype=lower.dtype, device=self.device)
            invert_lower(lower, inverse[: len(root), : len(root)])
            self._factors[output] = inverse, to_device(root, self.device)
        return self._factors[output]

    def _whitened(self, features, output):
        inverse, root = self._factor(output)
        return inverse[: len(root), : len(root)] @ (features * root).T

    def covariance(self, phases, output):
        """Posterior covariance of one output between all points."""
        whitened = torch.cat([self._whitened(features, output) for _, features in self._chunks(phases)], dim=1)
        return (whitened.T @ whitened).cpu().numpy()

    def gradient(self, phases, weights, waves):
        """Derivatives along inputs: ``waves`` (n_inputs, n_frequencies) are the wave numbers along each of them."""
        # d/dt (a cos + b sin) = wave (b cos - a sin)
        turned = np.zeros_like(weights)
        turned[1::2], turned[2::2] = weights[2::2], -weights[1::2]
        along = np.concatenate([turned * per_column(wave)[:, None] for wave in waves], axis=1)
        return self.mean(phases, along).reshape(len(phases), len(waves), -1)

    def gradient_variance(self, phases, waves, output):
        """Posterior variances of the derivatives along inputs."""
        result = np.empty((len(phases), len(waves)))
        factors = [to_device(per_column(wave), self.device) for wave in waves]
        for rows, features in self._chunks(phases):
            derivative = torch.zeros_like(features)
            derivative[:, 1::2], derivative[:, 2::2] = -features[:, 2::2], features[:, 1::2]
            for i, factor in enumerate(factors):
                result[rows, i] = self._squared_norms(derivative * factor, output)
        return result

    def phase_gradient(self, phases, targets, quadratic, weights):
        """Derivatives of a linear minus half a quadratic form in the phases, see :class:`DensePredictor`."""
        result = np.empty(phases.shape)
        quadratic, weights = to_device(quadratic, self.device), to_device(weights, self.device)
        frequencies = to_device(self.frequencies[1:].astype(float), self.device)
        for rows, features in self._chunks(phases):
            slope = to_device(targets[rows], self.device) @ weights.T
            slope.addmm_(features, quadratic, alpha=-1)
            by_angle = features[:, 1::2] * slope[:, 2::2] - features[:, 2::2] * slope[:, 1::2]
            result[rows] = (by_angle @ frequencies).cpu().numpy()
        return result

    def __getstate__(self):
        return {"frequencies": self.frequencies, "posterior": self.posterior, "device": self.device}

    def __setstate__(self, state):
        device = resolve_stored_device(state["device"])
        self.__init__(state["frequencies"], state["posterior"], device)  # type: ignore[misc]
