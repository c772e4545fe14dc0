"""Names of the quantiles that are predicted."""


def quantile_name(quantile):
    """Name of the column of a quantile.

    Examples
    --------
    >>> [quantile_name(quantile) for quantile in (0.05, 0.5, 0.975)]
    ['q05', 'q50', 'q97.5']
    """
    if not 0 < quantile < 1:
        raise ValueError(f"Quantiles must be between 0 and 1, got {quantile!r}.")
    whole, point, part = f"{100 * quantile:.10g}".partition(".")
    return f"q{whole.zfill(2)}{point}{part}"
