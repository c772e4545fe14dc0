"""Tables in files, as the sources of Parquet and CSV see them: columns by name."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torusgp.data.sources._chunk import SourceError


@dataclass(frozen=True)
class Columns:
    """Columns of a table that are the inputs, the targets and the rest."""

    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    sample_weight: str | None
    noise_scale: str | None

    @classmethod
    def choose(cls, available, place, target, inputs=None, sample_weight=None, noise_scale=None):
        """Columns by name; inputs are by default all that are nothing else."""
        if target is None:
            raise SourceError(f"{place}: name the target, a column of {list(available)}, as y.")
        targets = (target,) if isinstance(target, str) else tuple(target)
        for name in (*targets, *(inputs or ()), *filter(None, (sample_weight, noise_scale))):
            if not isinstance(name, str):
                raise SourceError(f"{place}: columns of a table go by their names, got {type(name).__name__}.")
        others = {*targets, sample_weight, noise_scale}
        if inputs is None:
            inputs = [name for name in available if name not in others]
        result = cls(tuple(inputs), targets, sample_weight, noise_scale)
        if not result.inputs:
            raise SourceError(f"{place}: no column is left for the inputs beside {sorted(filter(None, others))}.")
        result.check(available, place)
        return result

    def all(self):
        """Names of all columns that are read, each once."""
        return list(dict.fromkeys(filter(None, (*self.inputs, *self.targets, self.sample_weight, self.noise_scale))))

    def check(self, available, place):
        """Raise if one of them is not there."""
        for name in self.all():
            if name not in available:
                near = difflib.get_close_matches(name, list(available), 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {list(available)}."
                raise SourceError(f"{place}: column {name!r} is missing; {hint}")

    def split(self, table):
        """Inputs, targets, weights and noise scales out of columns by name, as a dictionary of arrays."""
        return (
            np.column_stack([table[name] for name in self.inputs]),
            np.column_stack([table[name] for name in self.targets]),
            None if self.sample_weight is None else table[self.sample_weight],
            None if self.noise_scale is None else table[self.noise_scale],
        )

    def layout(self):
        """See :meth:`torusgp.data.sources.Source.layout`."""
        return {
            "inputs": list(self.inputs),
            "targets": list(self.targets),
            "sample_weight": self.sample_weight,
            "noise_scale": self.noise_scale,
        }


def to_paths(paths):
    """One path or several, as a list; all of them have to exist."""
    result = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    for path in result:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
    return result


def file_stamp(path):
    """State of a file: it shows, without reading it, whether it has changed."""
    state = os.stat(path)
    return [str(path), state.st_size, state.st_mtime_ns]
