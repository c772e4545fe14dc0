"""Statistics as files: what is written, and checks of what is read."""

from __future__ import annotations

import re
from dataclasses import asdict

import numpy as np

from torusgp.engine.backends import has_device
from torusgp.engine.derivatives import Partials
from torusgp.engine.marginals import Marginals
from torusgp.engine.summed import SummedStatistics
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.torus import Sharing
from torusgp.storage.archives import decoding, load_archive, save_archive

_LAYOUT = 2  # version of the file
_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


class StoredStatistics(SummedStatistics):
    """Sums over rows that can be written and read."""

    def save(self, path):
        """Write the statistics to a file of arrays and JSON."""
        save_archive(path, "SufficientStatistics", _LAYOUT, *self.to_archive())

    def to_archive(self):
        """Content for :mod:`torusgp.storage.archives`: a dictionary for JSON and a dictionary of arrays."""
        self._check_counts()
        content = {
            "backend": self.backend,
            "tolerance": self.tolerance,
            "device": self.device,
            "precision": self.precision,
            "n_samples": self.n_samples,
            "log_precision": self.log_precision,
            "n_plain": self.n_plain,
            "set_name": self.index_set.name,
            "max_interaction": self.index_set.max_interaction,
            "sharing": asdict(self.sharing),
            "partials": None if self.derivatives is None else asdict(self.derivatives.partials),
        }
        derivatives = {} if self.derivatives is None else self.derivatives.to_arrays()
        sums = {f"sums_{name}": array for name, array in self._sums.to_arrays().items()}
        indices = {} if self.index_set.indices is None else {"indices": self.index_set.indices}
        return content, {
            "frequencies": self.index_set.frequencies,
            "period": np.asarray(self.period),
            "shift": self.shift,
            "scale": self.scale,
            "squares": self.squares,
            **({"cross": self._cross} if self.n_plain else {}),
            **({} if self.marginals is None else self.marginals.to_arrays()),
            **indices,
            **sums,
            **{f"derivatives_{name}": array for name, array in derivatives.items()},
        }

    @classmethod
    def load(cls, path):
        """Read statistics written by :meth:`save`."""
        content, arrays = load_archive(path, "SufficientStatistics", _LAYOUT)
        with decoding(path):
            return cls.from_archive(content, arrays)

    @classmethod
    def from_archive(cls, content, arrays):
        """Statistics from what :meth:`to_archive` gave."""
        frequencies = arrays["frequencies"]
        if frequencies.dtype.kind != "i" or frequencies.ndim != 2 or frequencies[0].any():
            raise ValueError("stored frequencies have to be whole numbers, the zero vector first.")
        index_set = IndexSet(frequencies, arrays.get("indices"), content["set_name"], content["max_interaction"])
        period = arrays["period"] if arrays["period"].ndim else float(arrays["period"])
        partials = content["partials"]
        result = cls(
            index_set,
            period,
            n_outputs=len(arrays["shift"]) - content["n_plain"],
            n_plain=content["n_plain"],
            tolerance=content["tolerance"],
            sharing=Sharing(**{name: tuple(values) for name, values in content["sharing"].items()}),
            partials=None if partials is None else Partials(**{name: tuple(some) for name, some in partials.items()}),
            **_available_device(content),
        )
        result.n_samples, result.log_precision = content["n_samples"], content["log_precision"]
        result.shift, result.scale, result.squares = arrays["shift"], arrays["scale"], arrays["squares"]
        result._cross = arrays.get("cross", result._cross)
        result.marginals = Marginals.from_arrays(arrays)
        sums = {name[5:]: array for name, array in arrays.items() if name.startswith("sums_")}
        result._check_stored(sums)
        result._sums.set_arrays(sums)
        result._n_rows = result._sums.n_rows
        if result.derivatives is not None:
            result.derivatives.set_arrays(
                {name[12:]: array for name, array in arrays.items() if name.startswith("derivatives_")}
            )
        result._check_stored_sums()
        return result

    def _check_stored(self, sums):
        """Raise if stored numbers are not of the shapes that belong together, or cannot be sums of finite rows."""
        stored = {"shift": self.shift, "scale": self.scale, "squares": self.squares, "cross": self._cross, **sums}
        n_targets = self.n_outputs + self.n_plain
        shapes = dict.fromkeys(("shift", "scale", "squares"), (n_targets,)) | {"cross": (n_targets, self.n_plain)}
        shapes |= {name: array.shape for name, array in self._sums.to_arrays().items()}
        kinds = {name: array.dtype.kind for name, array in self._sums.to_arrays().items()}
        for name, array in stored.items():
            fits = array.shape == shapes.get(name, array.shape) and array.dtype.kind == kinds.get(name, "f")
            if not fits or not np.isfinite(array).all():
                raise ValueError(f"the stored array {name!r} is not finite, or not of the shape {shapes.get(name)}.")
        if not (self.n_samples >= 0 and np.isfinite([self.n_samples, self.log_precision]).all()):
            raise ValueError(f"the stored number of rows is {self.n_samples!r}.")
        if not ((self.scale > 0).all() and (self.squares >= 0).all()):
            raise ValueError("stored scales and sums of squares are negative.")

    def _check_stored_sums(self):
        r"""Raise if the sums of a file are of fewer rows than it says.

        Sample weights :math:`w` and precisions :math:`w p` have :math:`\sum w p \ge n \exp(\sum w \log p / n)`, by
        the inequality of the means, with :math:`n = \sum w`.
        """
        if self.n_samples == 0:
            return
        least = self.n_samples * np.exp(self.log_precision / self.n_samples)
        total = self._sums.constant_sums()[0]
        if total < least * (1 - max(1e-6, 10 * self.tolerance)):
            raise ValueError(
                f"Stored statistics say that they are of {self.n_samples:g} rows, but their sums hold a weight of "
                f"{total:.6g} instead of at least {least:.6g}: rows were dropped when they were gathered. "
                "Fit again from the rows."
            )


def _available_device(content):
    """Backend, device and precision of stored sums; where that device is absent, their arrays serve on the CPU."""
    device, precision = content["device"], content["precision"]
    if device is not None and not (isinstance(device, str) and _DEVICE.fullmatch(device)):  # before PyTorch is loaded
        raise ValueError(f"its sums were made on {device!r}, which is no device.")
    if device is not None and not has_device(device):
        return {"backend": "dense" if content["backend"] == "torch" else content["backend"]}
    return {"backend": content["backend"], "device": device, "precision": precision}
