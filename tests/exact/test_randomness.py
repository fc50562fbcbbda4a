"""Claim P6: every release has its own stream, and no process repeats another's."""

import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import dpcov
from dpcov.errors import ForkedStreamError, ParameterError, SensitiveDataError
from dpcov.exact.randomness import RandomStream

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def read_in_a_fork(work):
    """Run `work` in a forked child and return what it wrote."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return pipe.read()


def release_bytes():
    return dpcov.release(np.eye(3), epsilon=1, delta=1e-6, row_norm=1).matrix.tobytes()


def test_it_is_the_aes_256_ctr_keystream():
    key = bytes(range(32))
    zeros = bytes(8 * 100)
    expected = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(zeros)
    stream = RandomStream(key, simulated=True)
    got = np.concatenate([stream.words(33), stream.words(67)])
    assert got.astype("<u8").tobytes() == expected


def test_a_seed_gives_the_same_words_everywhere():
    assert RandomStream.from_seed(7).words(2).tolist() == [
        RandomStream.from_seed(np.int64(7)).words(1)[0],
        RandomStream.from_seed(7).words(2)[1],
    ]
    assert (
        RandomStream.from_seed(7).words(4).tolist() != RandomStream.from_seed(8).words(4).tolist()
    )


@pytest.mark.claim("P6")
def test_two_streams_of_the_operating_system_differ():
    assert RandomStream.from_os().words(4).tolist() != RandomStream.from_os().words(4).tolist()


@pytest.mark.claim("P6")
def test_spare_words_do_not_disturb_the_sequence_and_do_not_repeat_it():
    plain, disturbed = RandomStream.from_seed(1), RandomStream.from_seed(1)
    spare = [disturbed.spare_word() for _ in range(1000)]
    words = plain.words(10_000)
    assert (disturbed.words(10_000) == words).all()
    assert not set(spare) & set(words.tolist())
    assert len(set(spare)) == 1000


@needs_fork
@pytest.mark.claim("P6")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_stream_refuses_to_work_in_a_forked_process():
    stream = RandomStream.from_os()
    stream.words(1)

    def work():
        try:
            return stream.words(1).tobytes()
        except ForkedStreamError:
            return b"refused"

    assert read_in_a_fork(work) == b"refused"


@needs_fork
@pytest.mark.claim("P6")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_never_repeats_a_release():
    release_bytes()
    children = [read_in_a_fork(release_bytes) for _ in range(3)]
    outputs = {*children, release_bytes(), release_bytes()}
    assert len(outputs) == 5
    assert all(len(output) == 72 for output in outputs)


@pytest.mark.claim("P6")
def test_processes_that_start_together_never_repeat_a_release():
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        outputs = [pool.apply_async(release_bytes) for _ in range(6)]
        assert len({output.get() for output in outputs}) == 6


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_cannot_be_copied(clone):
    with pytest.raises(SensitiveDataError, match="cannot be copied"):
        clone(RandomStream.from_os())


def test_the_repr_does_not_show_the_key():
    assert repr(RandomStream.from_os()) == "RandomStream(operating system)"
    assert "seeded" in repr(RandomStream.from_seed(3))


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True, None])
def test_an_impossible_seed_is_refused(seed):
    with pytest.raises(ParameterError, match="seed must"):
        RandomStream.from_seed(seed)
