"""Both databases: a folder always, and PostgreSQL if `make test-postgres` started one."""

import pytest

from databases import empty_database


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Give a place for a new collection in each kind of database."""
    if request.param == "sqlite":
        yield str(tmp_path / "collection")
        return
    with empty_database() as place:
        yield place
