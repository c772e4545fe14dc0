"""Table files, read for the command: CSV and Parquet, with errors of one line that say where to look.

Numbers with decimal commas and dates such as 31.01.2024 are read where nothing else can be meant. What could be read in
two ways, such as 03/04/2024, is refused until it is said how it is written (``decimal``, ``date_format``); no value of
a file is taken for a hint.

pandas and pyarrow are imported when a file is read; install them with ``pip install "torusgp[io]"``.
"""

from torusgp.data.tables import (
    NotNumbersError,
    TableError,
    complete_rows,
    did_you_mean,
    holds_numbers,
    looks_missing,
    numeric_column,
    place_of_row,
    read_as_written,
    read_table,
    read_without_loss,
    without_marks,
)
from torusgp.tables.reading._layout import TextLayout, text_layout
from torusgp.tables.reading._levels import level_column, to_level
from torusgp.tables.reading._moments import check_zone, to_moment, to_zone, zone_name
from torusgp.tables.reading._times import is_unix_time, time_column

__all__ = [
    "NotNumbersError",
    "TableError",
    "TextLayout",
    "check_zone",
    "complete_rows",
    "did_you_mean",
    "holds_numbers",
    "is_unix_time",
    "level_column",
    "looks_missing",
    "numeric_column",
    "place_of_row",
    "read_as_written",
    "read_table",
    "read_without_loss",
    "text_layout",
    "time_column",
    "to_level",
    "to_moment",
    "to_zone",
    "without_marks",
    "zone_name",
]
