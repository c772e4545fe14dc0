"""Known pixels of an image, and whether they are enough to see something repeat."""

_FEWEST_LINES = 8  # rows and columns with known pixels: a shorter side cannot show that anything repeats
_FEWEST_PIXELS = 100  # cell, length scales, variances and mean are ten numbers or more


def check_known_pixels(channels, known):
    """Smallest and largest known value, or raise where nothing can be learned from what is known."""
    n_known, lines = int(known.sum()), [int(known.any(axis=axis).sum()) for axis in (1, 0)]
    if n_known < _FEWEST_PIXELS or min(lines) < _FEWEST_LINES:
        raise ValueError(
            f"Too few pixels are known: {n_known}, in {lines[0]} rows and {lines[1]} columns. At least "
            f"{_FEWEST_PIXELS} are needed, in {_FEWEST_LINES} rows and columns, with a pattern seen several times."
        )
    low, high = float(channels[known].min()), float(channels[known].max())
    if low == high:
        raise ValueError(f"All known pixels have the value {low:g}: in a constant image nothing repeats.")
    return low, high
