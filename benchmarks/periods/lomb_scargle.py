"""Two periods by an exhaustive, prewhitened Lomb-Scargle search: what a careful user of astropy would do."""

import numpy as np
from scipy.optimize import minimize_scalar

OVERSAMPLING = 10  # frequencies for each 1 / span
N_HARMONICS = 3  # of the model that is subtracted before the second pass


def two_periods(times, values, min_period, max_period, n_terms):
    """Best period of the values, then that of what is left after its harmonics are subtracted.

    Every pass examines the whole grid, without approximation, and polishes the highest peak within its neighbours.
    """
    from astropy.timeseries import LombScargle

    step = 1 / (OVERSAMPLING * np.ptp(times))
    grid = np.arange(1 / max_period, 1 / min_period + step, step)
    periods = []
    for _ in range(2):
        periodogram = LombScargle(times, values, nterms=n_terms)
        best = grid[np.argmax(periodogram.power(grid, method="chi2"))]
        bounds = (max(best - step, grid[0]), min(best + step, grid[-1]))

        def height(frequency, periodogram=periodogram):
            return -float(periodogram.power(np.array([frequency]), method="chi2")[0])

        best = minimize_scalar(height, bounds=bounds, method="bounded", options={"xatol": 1e-4 * step}).x
        periods.append(1 / best)
        values = values - LombScargle(times, values, nterms=N_HARMONICS).model(times, best)
    return periods
