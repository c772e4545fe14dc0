"""Tables in files, CSV and Parquet, with errors of one line that say where to look.

Numbers with decimal commas are read where nothing else can be meant. What could be read in two ways is refused until it
is said how it is written (``decimal``); no value of a file is taken for a hint. A file is read in the same way, whether
as a whole or block by block.

pandas and pyarrow are imported when a file is read; install them with ``pip install "torusgp[io]"``.
"""

from torusgp.data.tables._columns import AUTO, checked_column, complete_rows
from torusgp.data.tables._errors import NotNumbersError, TableError, did_you_mean, one_line, short
from torusgp.data.tables._files import (
    PARQUET_SUFFIXES,
    as_written,
    place_of_row,
    read_as_written,
    read_table,
    read_without_loss,
    to_text_file,
)
from torusgp.data.tables._missing import check_missing, looks_missing, without_marks
from torusgp.data.tables._numbers import check_decimal, comma_column, holds_numbers, numeric_column
from torusgp.data.tables._text import TEXT_SUFFIXES, TextFile, import_pandas, is_text

__all__ = [
    "AUTO",
    "PARQUET_SUFFIXES",
    "TEXT_SUFFIXES",
    "NotNumbersError",
    "TableError",
    "TextFile",
    "as_written",
    "check_decimal",
    "check_missing",
    "checked_column",
    "comma_column",
    "complete_rows",
    "did_you_mean",
    "holds_numbers",
    "import_pandas",
    "is_text",
    "looks_missing",
    "numeric_column",
    "one_line",
    "place_of_row",
    "read_as_written",
    "read_table",
    "read_without_loss",
    "short",
    "to_text_file",
    "without_marks",
]
