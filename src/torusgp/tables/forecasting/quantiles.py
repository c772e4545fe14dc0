"""Names of the quantiles that are predicted."""

import numpy as np

from torusgp.checks import is_real


def quantile_names(quantiles):
    """Names of the columns of quantiles, or an error if they are not a collection of them."""
    if not np.iterable(quantiles) or isinstance(quantiles, str | bytes | dict):
        raise ValueError(f"quantiles must be a sequence of numbers between 0 and 1, got {quantiles!r}.")
    return [quantile_name(one) for one in quantiles]


def quantile_name(quantile):
    """Name of the column of a quantile.

    Examples
    --------
    >>> [quantile_name(quantile) for quantile in (0.05, 0.5, 0.975)]
    ['q05', 'q50', 'q97.5']
    """
    if not is_real(quantile) or not 0 < quantile < 1:
        raise ValueError(f"Quantiles must be between 0 and 1, got {quantile!r}.")
    whole, point, part = f"{100 * quantile:.10g}".partition(".")
    return f"q{whole.zfill(2)}{point}{part}"
