"""Work with many rows in a process and then in forked copies: ``python -m tests.engine.forked_processes BACKEND``.

It prints how far what the copies computed is from what the process itself did. Run it with a time limit: threads that
do not survive the fork are waited for without end.
"""

import json
import multiprocessing
import sys
import warnings
from unittest.mock import patch

import numpy as np

from torusgp import SufficientStatistics, Torch, TorusGPRegressor
from torusgp.engine.backends import count_threads
from torusgp.kernels.index_sets import tensor

N_ROWS = 250_000


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_ROWS, 2))
    return X, np.sin(2 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=N_ROWS)


class Work:
    """What is done in the process and in its copies, with a model and sums of the former."""

    def __init__(self, backend):
        self.X, self.y = make_rows()
        where = {"backend": backend, "device": "cpu" if backend == "torch" else None, "n_threads": 2}
        chosen = Torch("cpu", transforms=False) if backend == "torch" else backend
        self.options = {
            "n_components": 25,
            "learn": ("noise_variance",),
            "period": 1.0,
            "backend": chosen,
            "n_threads": 2,
        }
        self.model = self.make_model()
        self.sums = SufficientStatistics(tensor(2, 2), 1.0, **where).update(self.X, self.y)

    def make_model(self):
        return TorusGPRegressor(**self.options).fit(self.X, self.y)

    def predict(self):
        return self.model.predict(self.X, return_std=True)

    def fit(self):
        return self.make_model().predict(self.X[:100], return_std=True)

    def add_rows(self):
        return (self.sums.empty().update(self.X, self.y) + self.sums).linear()[0].gram

    def share_transforms(self):
        with patch("torusgp.engine.summed._SMALL_GRID", 1):
            return self.add_rows()

    def count_threads(self):
        return [count_threads(n_threads, N_ROWS) for n_threads in (None, 2, -1)]


TASKS = ("predict", "fit", "add_rows", "share_transforms", "count_threads")


def run(task):
    return getattr(WORK, task)()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # 25 columns are few
    WORK = Work(sys.argv[1])
    here = [run(task) for task in TASKS[:-1]]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        *there, threads = pool.map(run, TASKS, chunksize=1)
    errors = [
        float(np.abs(np.subtract(one, other)).max() / np.abs(one).max()) for one, other in zip(here, there, strict=True)
    ]
    print(json.dumps({"errors": dict(zip(TASKS, errors, strict=False)), "threads": threads}))
