"""``python -m dpcov`` is the ``dpcov`` command."""

from dpcov.cli import main

if __name__ == "__main__":
    main()
