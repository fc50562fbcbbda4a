"""Both databases: a file always, and PostgreSQL if `make test-postgres` started one."""

import pytest

from databases import empty_database


@pytest.fixture
def postgresql():
    """Give the address of an empty database, which is gone afterwards."""
    with empty_database() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Give a place for a new ledger in each kind of database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return str(tmp_path / "budget.db")
