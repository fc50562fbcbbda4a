"""A PostgreSQL for tests, if `make test-postgres` started one."""

import os
import secrets
from contextlib import contextmanager

import pytest

SERVER = os.environ.get("DPCOV_TEST_POSTGRESQL", "")


@contextmanager
def empty_database():
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
