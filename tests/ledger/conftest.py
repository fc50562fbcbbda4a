"""Both databases: a file always, and PostgreSQL if `make test-postgres` started one."""

import os
import secrets

import pytest

SERVER = os.environ.get("DPCOV_TEST_POSTGRESQL", "")


@pytest.fixture
def postgresql():
    """Give the address of an empty database, which is gone afterwards."""
    if not SERVER:
        pytest.skip("no PostgreSQL: make test-postgres starts one")
    import psycopg

    name = f"dpcov_{secrets.token_hex(6)}"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{SERVER.rpartition('/')[0]}/{name}"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Give a place for a new ledger in each kind of database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return str(tmp_path / "budget.db")
