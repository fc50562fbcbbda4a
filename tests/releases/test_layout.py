import io
import sys
import zipfile

import numpy as np
import pytest

from dpcov.releases import layout

MEMBERS = {
    "header.npy": np.arange(5, dtype=np.uint8),
    "matrix.npy": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty.npy": np.empty(0),
    "single.npy": np.zeros((), dtype=bool),
}


def parts():
    return {name: layout.npy_parts(array) for name, array in MEMBERS.items()}


def by_python():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, array in MEMBERS.items():
            about = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            about.create_system = 3
            with archive.open(about, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0))
    return target.getvalue()


@pytest.mark.parametrize("limit", [(1 << 31) - 1, 200, 0])
def test_numpy_reads_every_member_back(monkeypatch, limit):
    monkeypatch.setattr(layout, "_LIMIT", limit)
    content = b"".join(layout.archive_parts(parts()))
    with np.load(io.BytesIO(content)) as file:
        assert all((file[name[:-4]] == array).all() for name, array in MEMBERS.items())


@pytest.mark.skipif(sys.version_info < (3, 11, 4), reason="older Pythons write other sizes")
@pytest.mark.parametrize("limit", [(1 << 31) - 1, 200])
def test_the_bytes_are_those_of_a_recent_python(monkeypatch, limit):
    monkeypatch.setattr(layout, "_LIMIT", limit)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    assert b"".join(layout.archive_parts(parts())) == by_python()


def test_content_that_goes_on_is_other_content():
    assert layout.is_content(io.BytesIO(b"one two"), [b"one ", b"two"])
    assert not layout.is_content(io.BytesIO(b"one two "), [b"one ", b"two"])
    assert not layout.is_content(io.BytesIO(b"one tw"), [b"one ", b"two"])
