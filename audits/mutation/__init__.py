"""Mutation testing: the library is broken on purpose, one place at a time, and tests must notice.

    python -m audits.mutation --modules privacy.gaussian exact.scales

See docs/mutation.md for what was found, and `make test-mutants` for how it is run.
"""
