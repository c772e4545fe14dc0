"""How a text file writes a table, so that another can be written in the same way."""

from dataclasses import dataclass

from torusgp.data.tables import AUTO, TextFile, comma_column, is_text


@dataclass(frozen=True)
class TextLayout:
    """What parts the columns of a text file, and what comes before decimals.

    Attributes
    ----------
    delimiter : str, default=","
        Separator of columns.
    decimal : str, default="."
        Sign before decimals.
    """

    delimiter: str = ","
    decimal: str = "."

    def to_csv(self, frame, numbers):
        """Text of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table. Its columns are written as they are, ...
        numbers : sequence of str
            ... but for the decimals of these, of floats.

        Returns
        -------
        str

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"Datum": ["31.01.2024"], "mean": [4.5]})
        >>> TextLayout(";", ",").to_csv(frame, ["mean"]).splitlines()
        ['Datum;mean', '31.01.2024;4,5']
        """
        if self.decimal != ".":
            written = {name: [_written(value, self.decimal) for value in frame[name]] for name in numbers}
            frame = frame.assign(**written)
        return frame.to_csv(index=False, sep=self.delimiter)


def text_layout(frame, path, decimal=AUTO, default=None):
    """How a table is written.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``read_table``.
    path : str or Path
        File of the table.
    decimal : {"auto", ".", ","}, default="auto"
        What was said of the sign before decimals.
    default : TextLayout, optional
        The layout of a table that does not show its own: of one column, or no text file.

    Returns
    -------
    TextLayout
    """
    shows_layout = is_text(path) and len(frame.columns) > 1
    if not shows_layout and default is not None:
        return default
    delimiter = TextFile(path).delimiter if is_text(path) else ","
    if decimal == AUTO:
        decimal = "," if delimiter != "," and comma_column(frame) is not None else "."
    return TextLayout(delimiter, decimal)


def _written(value, decimal):
    return None if value != value else repr(float(value)).replace(".", decimal)
