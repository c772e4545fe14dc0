"""Rows of a fit that pictures draw."""

import numpy as np

from torusgp.views.record import Record


def make_record(rows, unseen=None, predicted=None):
    """Record of the rows of a table, with predictions of those that a model has not seen.

    Parameters
    ----------
    rows : Rows
        Rows in their order.
    unseen : ndarray of bool, optional
        Which of them the model has not seen; none by default.
    predicted : Predictions, optional
        Of these, with the ends of intervals.

    Returns
    -------
    Record
    """
    along, place = "", None
    if rows.order is not None:
        along, place = str(rows.order.name), rows.order
    elif rows.X.shape[1] == 1 and rows.X.dtypes.iloc[0].kind == "f":
        along, place = str(rows.X.columns[0]), rows.X.iloc[:, 0]
    if unseen is None:
        return Record.from_rows(rows.y, along=along, place=place, is_ordered=rows.order is not None)
    tested = rows.take(unseen)
    return Record.from_rows(
        rows.y,
        along=along,
        place=place,
        is_ordered=rows.order is not None,
        unseen=np.asarray(unseen),
        predicted=(predicted.mean, *predicted.shown.T),
        inputs={str(name): tested.X[name].to_numpy() for name in tested.X},
    )
