"""Times of rows as numbers."""

from dataclasses import dataclass

from torusgp.tables.calendar import YEAR
from torusgp.tables.reading import TableError


@dataclass(frozen=True)
class TimeAxis:
    """Times as numbers, in which a slope is told: years of dates, or the units of a column of numbers.

    Attributes
    ----------
    column : str
        Column of the table.
    zero : str or float
        Time that is counted as 0.
    kind : {"number", "time", "zoned time"}
        What the column holds.
    """

    column: str
    zero: str | float
    kind: str

    @classmethod
    def from_order(cls, order):
        """Axis of a column that orders rows: it begins with the first of them."""
        first, kind = order.min(), _kind(order)
        if kind == "number":
            return cls(str(order.name), float(first), kind)
        return cls(str(order.name), (first if kind == "time" else first.tz_convert("UTC")).isoformat(), kind)

    @property
    def unit(self):
        """What a slope is told per."""
        return f"unit of {self.column}" if self.kind == "number" else "year"

    def to_numbers(self, order, source):
        """Numbers of the times of a column.

        Parameters
        ----------
        order : pandas.Series
            Times or numbers, all known.
        source : str or Path
            What errors call their table.

        Returns
        -------
        ndarray of float
        """
        import pandas

        if _kind(order) != self.kind:
            names = {"number": "numbers", "time": "times without a time zone", "zoned time": "times with a time zone"}
            raise TableError(
                f"Column {self.column!r} of {source} has {names[_kind(order)]}, but the model was fitted "
                f"to {names[self.kind]}."
            )
        if self.kind == "number":
            return order.to_numpy() - self.zero
        times = order if self.kind == "time" else order.dt.tz_convert("UTC")
        return ((times - pandas.Timestamp(self.zero)) / pandas.Timedelta(days=YEAR)).to_numpy(dtype=float)


def _kind(order):
    if order.dtype.kind != "M":
        return "number"
    return "time" if order.dt.tz is None else "zoned time"
