import pytest

from tests.data.sources.stores import CSV_BLOCK, Table


@pytest.fixture(scope="session")
def table():
    return Table.make()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", CSV_BLOCK)
