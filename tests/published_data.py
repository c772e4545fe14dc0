"""Data sets that tests read from a folder, where there is one."""

import os

import pytest

from torusgp.data.datasets._sources import DATA_FOLDER

needs_demand = pytest.mark.skipif(
    DATA_FOLDER not in os.environ, reason=f"the demand is read from the folder that {DATA_FOLDER} names"
)
