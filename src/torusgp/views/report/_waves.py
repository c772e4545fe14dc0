"""Where the rows of a fit lay, as far as its sums tell."""

from functools import cached_property

import numpy as np

_MOST_COLUMNS = 4000  # whose products are looked at
_MOST_LEVELS = 31
_IS_ONE = 1e-6  # how near to one a mean is that is one but for rounding


class MeanWaves:
    r"""Means of complex waves over the rows of a fit: :math:`\mathrm{mean}(e^{i k \cdot \theta})`.

    The sums of a model hold all products of two of its columns, and a product of waves is a wave: frequencies that are
    sums of two of the model have known means.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    """

    def __init__(self, model):
        self.model = model

    @cached_property
    def _gram(self):
        gram = self.model.fitted_.gram
        return gram / gram[0, 0]

    def __call__(self, frequency):
        """Mean of one wave, or None if it is not known."""
        known, frequency = self.model.index_set_.frequencies, np.asarray(frequency)
        if 2 * len(known) - 1 > _MOST_COLUMNS:
            return None
        # those along the same dimensions, without the constant; of every pair of opposite ones the model has one
        positions = np.flatnonzero((known[:, frequency == 0] == 0).all(axis=1) & known.any(axis=1))
        signed = {tuple((sign * known[i]).tolist()): (i, sign) for i in positions.tolist() for sign in (-1, 1)}
        for one, (i, sign) in signed.items():
            j, other = signed.get(tuple((frequency - one).tolist()), (0, 0))
            if j:
                (cc, cs), (sc, ss) = self._gram[2 * i - 1 : 2 * i + 1, 2 * j - 1 : 2 * j + 1]
                return complex(cc - sign * other * ss, sign * sc + other * cs)
        return None

    def levels(self, axis, period):
        r"""Values of a circle, if rows have few that are evenly spaced, such as whole weekdays.

        Rows that lie at multiples of a part :math:`1 / n` of the period have :math:`e^{i n \theta} = 1`.

        Parameters
        ----------
        axis : int
            Axis of the torus.
        period : float
            Its period.

        Returns
        -------
        ndarray or None
            None also where the sums do not tell.
        """
        for n_levels in range(2, _MOST_LEVELS + 1):
            if self.has_parts(axis, n_levels):
                return np.arange(n_levels) * period / n_levels
        return None

    def has_parts(self, axis, n_parts):
        """Whether all rows lie at multiples of a part of the period of a circle; None if the sums do not tell."""
        mean = self(n_parts * np.eye(self.model.index_set_.dimension, dtype=int)[axis])
        return None if mean is None else abs(mean - 1) < _IS_ONE

    def week_moves(self, hour, week):
        r"""Whether the weekday moves on with the hour, as it does where both are read off the same times.

        Whenever the hour has gone round once, the week then has gone round a seventh, so
        :math:`e^{i (\theta_\mathrm{hour} - 7 \theta_\mathrm{week})} = 1`.

        Parameters
        ----------
        hour, week : int
            Axes of the torus.

        Returns
        -------
        bool
            False also where the sums do not tell.
        """
        mean = self(_hour_and_week(self.model, hour, week))
        return mean is not None and abs(mean - 1) < _IS_ONE


def week_moves_in(model, X, hour, week):
    """The same as :meth:`MeanWaves.week_moves` for rows that are given, of shape (n_samples, n_features)."""
    return bool(abs(np.exp(1j * model.fitted_.phases(X) @ _hour_and_week(model, hour, week)).mean() - 1) < _IS_ONE)


def _hour_and_week(model, hour, week):
    frequency = np.zeros(model.index_set_.dimension, dtype=int)
    frequency[hour], frequency[week] = 1, -7
    return frequency
