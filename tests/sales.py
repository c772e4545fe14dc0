"""A table as a shop would have it: hours with gaps, promotions, closed nights, and Christmas."""

import numpy as np
import pandas as pd

OPEN = range(8, 20)


def make_sales(start="2024-09-02", n_weeks=16, seed=0):
    """Sales of the hours in which a shop is open; an empty field is no promotion.

    Parameters
    ----------
    start : str
        First day.
    n_weeks : int
        Number of weeks.
    seed : int
        Determines noise, gaps and promotions.

    Returns
    -------
    pandas.DataFrame
        Columns date, sales and promotion.
    """
    rng = np.random.default_rng(seed)
    date = pd.date_range(start, periods=168 * n_weeks, freq="h")
    hour, weekday = date.hour.to_numpy(), date.day_of_week.to_numpy()
    sales = 40 * np.exp(-0.5 * ((hour - 12) / 2.5) ** 2) + 60 * np.exp(-0.5 * ((hour - 17) / 2) ** 2)
    sales *= np.select([weekday == 5, weekday == 6], [1.5, 0.6], 1.0)
    promoted = np.repeat(rng.uniform(size=7 * n_weeks) < 0.2, 24)
    sales *= np.where(promoted, 1.4, 1.0)
    christmas = (date.month == 12) & (date.day >= 10)
    sales *= np.where(christmas, 1.3, 1.0)
    frame = pd.DataFrame({"date": date, "sales": np.round(sales + rng.normal(0, 3, len(date)), 1)})
    frame["promotion"] = np.where(promoted, "half price", "")
    closed = ((date.month == 12) & (date.day >= 25) & (date.day <= 26)) | ((date.month == 1) & (date.day == 1))
    return frame[np.isin(hour, OPEN) & ~closed & (rng.uniform(size=len(date)) > 0.02)].reset_index(drop=True)
