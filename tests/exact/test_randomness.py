"""Claim P6: every release has its own stream, and no process repeats another's."""

import copy
import multiprocessing
import os
import pickle
import secrets

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import dpcov
from dpcov.errors import ForkedStreamError, ParameterError, SensitiveDataError
from dpcov.exact import randomness
from dpcov.exact.randomness import RandomStream
from wiring.planting import plant


@pytest.fixture(autouse=True)
def _keys_of_the_system(monkeypatch):
    """Look at the keys as they are outside of tests."""
    monkeypatch.setattr(randomness, "secrets", secrets)


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


def problems_of_the_key(monkeypatch):
    """Say what is wrong with the key of a stream, given what the operating system was asked."""
    asked, keys = [], []
    token_bytes, keystream = randomness.secrets.token_bytes, randomness._keystream

    def give(*count):
        asked.append(token_bytes(*count))
        return asked[-1]

    def start(key, counter):
        keys.append(key)
        return keystream(key, counter)

    with monkeypatch.context() as patch:
        patch.setattr(randomness.secrets, "token_bytes", give)
        patch.setattr(randomness, "_keystream", start)
        RandomStream.from_os()
    if [len(given) for given in asked] != [32]:
        return "the operating system is not asked once, for 32 bytes"
    return None if set(keys) == set(asked) else "the key is not what the operating system gave"


def blocks_apart(monkeypatch):
    """Return how many blocks `words` or `spare_word` reads before it reaches the other's."""
    starts, keystream = [], randomness._keystream

    def start(key, counter):
        starts.append(counter)
        return keystream(key, counter)

    with monkeypatch.context() as patch:
        patch.setattr(randomness, "_keystream", start)
        RandomStream.from_seed(0)
    main, spare = starts
    return min((spare - main) % 2**128, (main - spare) % 2**128)


def release_bytes():
    stated = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "allow": {"small"}}
    return dpcov.release(np.eye(3), **stated).matrix.tobytes()


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


@pytest.mark.claim("P6")
def test_the_key_is_32_bytes_as_the_operating_system_gave_them(monkeypatch):
    assert problems_of_the_key(monkeypatch) is None


@pytest.mark.claim("P6")
@pytest.mark.parametrize(
    "key",
    [
        "secrets.token_bytes(4) * 8",
        "secrets.token_bytes(8) + bytes(24)",
        "secrets.token_bytes(_KEY_BYTES)[:16] + bytes(16)",
        "hashlib.sha256(os.getpid().to_bytes(8, 'big')).digest()",
    ],
)
def test_a_key_with_less_randomness_is_noticed(monkeypatch, key):
    plant(
        monkeypatch,
        "exact.randomness:RandomStream.from_os",
        "secrets.token_bytes(_KEY_BYTES)",
        key,
    )
    assert problems_of_the_key(monkeypatch)


@pytest.mark.claim("P6")
def test_words_and_spare_words_are_further_apart_than_any_release_reads(monkeypatch):
    # 2^64 blocks are 2^68 bytes of noise: no machine reads them.
    assert blocks_apart(monkeypatch) >= 2**64


@pytest.mark.claim("P6")
@pytest.mark.parametrize("counter", [0, 1 << 16, 1 << 40, (1 << 128) - (1 << 16)])
def test_counters_that_come_near_each_other_are_noticed(monkeypatch, counter):
    monkeypatch.setattr(randomness, "_SPARE_COUNTER", counter)
    assert blocks_apart(monkeypatch) < 2**64


def test_a_spare_counter_that_the_words_reach_repeats_them(monkeypatch):
    """Why the distance counts: a near counter gives the same words twice."""
    monkeypatch.setattr(randomness, "_SPARE_COUNTER", 1 << 16)
    stream = RandomStream.from_seed(1)
    assert stream.spare_word() == int(stream.words(2**17 + 1)[-1])


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


@pytest.mark.claim("P41")
def test_what_must_happen_before_noise_happens_once_and_before_the_first_words():
    happened = []
    stream = RandomStream.from_os(before=lambda: happened.append(stream.is_drawn))
    assert happened == []
    stream.begin("moments")
    stream.words(1)
    stream.words(1)
    assert happened == [False]


@pytest.mark.claim("P41")
def test_no_words_are_returned_while_what_must_happen_before_fails():
    def fail():
        raise OSError("the ledger cannot be written")

    stream = RandomStream.from_os(before=fail)
    stream.begin("moments")
    for _ in range(2):
        with pytest.raises(OSError, match="ledger"):
            stream.words(1)
    assert not stream.is_drawn
