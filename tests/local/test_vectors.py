"""The published vectors, against an implementation that shares no code with dpcov.

It is what a programmer in another language would write from docs/protocol.md.
"""

import hashlib
import json
import struct
from pathlib import Path

import mpmath
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpcov import local
from dpcov.local import expansion, integers

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "local.json").read_text("utf-8"))


def words(seed, size):
    key = hashlib.sha256(b"dpcov cap expansion 1").digest()[:16]
    cipher = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()  # noqa: S305
    result = []
    for block in range((size + 1) // 2):
        last = int.from_bytes(seed[8:], "little") ^ block
        result += struct.unpack("<QQ", cipher.update(seed[:8] + last.to_bytes(8, "little")))
    return result[:size]


def quantile(tail):
    """Solve Φ(−z) = tail by Newton's method in 40 digits."""
    with mpmath.workdps(40):
        z = mpmath.sqrt(-2 * mpmath.log(2 * tail)) if tail < 0.5 else mpmath.mpf(0)
        for _ in range(60):
            step = (mpmath.ncdf(-z) - tail) / mpmath.npdf(z)
            z += step
            if abs(step) < mpmath.mpf(10) ** -30:
                break
        return z


def normal(word):
    with mpmath.workdps(40):
        z = quantile((mpmath.mpf(word % 2**63) + 0.5) / 2**64)
    return -z if word >> 63 else z


def integer(word):
    with mpmath.workdps(40):
        z = int(mpmath.nint(4096 * quantile((mpmath.mpf((word % 2**63) >> 44) + 0.5) / 2**20)))
    return -z if word >> 63 else z


def test_the_vectors_cover_what_was_promised():
    assert {v["n_columns"] for v in VECTORS["expansions"]} == {2, 10, 1000}
    assert {v["n_columns"] for v in VECTORS["decisions"]} == {2, 10, 1000}


@pytest.mark.parametrize("vector", VECTORS["expansions"], ids=lambda v: str(v["n_columns"]))
def test_another_implementation_finds_the_same_words_and_integers(vector):
    seed, size = bytes.fromhex(vector["seed"]), vector["n_columns"]
    assert [f"{word:016x}" for word in words(seed, size + 1)] == vector["words"]
    checked = slice(0, 10) if size == 1000 else slice(None)  # 40 digits take their time
    assert [integer(w) for w in words(seed, size)[checked]] == vector["integers"][checked]


@pytest.mark.parametrize("vector", VECTORS["expansions"], ids=lambda v: str(v["n_columns"]))
def test_the_library_finds_the_published_words_and_integers(vector):
    seed = np.frombuffer(bytes.fromhex(vector["seed"]), np.uint8)[None]
    size = vector["n_columns"]
    assert [f"{w:016x}" for w in expansion.expand_words(seed, size + 1)[0]] == vector["words"]
    assert expansion.expand_integers(seed, size)[0].tolist() == vector["integers"]


@pytest.mark.parametrize("vector", VECTORS["plans"] + VECTORS["studies"], ids=lambda v: v["id"][:8])
def test_a_plan_has_its_published_id(vector):
    plan = local.CollectionPlan.from_json(vector["json"])
    assert plan.id == vector["id"] == hashlib.sha256(vector["canonical"].encode()).hexdigest()
    assert plan.to_json() == vector["json"]


def canonical(value):
    """Write the form behind an id as docs/protocol.md has it, from the text of a plan."""
    if isinstance(value, dict):
        parts = (f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value))
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return f'"{struct.unpack(">Q", struct.pack(">d", value + 0.0))[0]:016x}"'
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("vector", VECTORS["plans"] + VECTORS["studies"], ids=lambda v: v["id"][:8])
def test_another_implementation_finds_the_ids_of_plans(vector):
    facts = json.loads(vector["json"])
    stated = facts.pop("id")
    assert canonical(facts) == vector["canonical"]
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest() == stated == vector["id"]


def test_a_decision_does_not_depend_on_who_computes_it():
    small = [v for v in VECTORS["decisions"] if v["n_columns"] < 100]
    assert small
    for vector in small:
        unit = [min(1.0, abs(cell)) * (1 if cell > 0 else -1) for cell in vector["row"]]
        unit = [int(cell * 2**24) / 2**24 for cell in unit]
        unit.append((1 - sum(cell**2 for cell in unit)) ** 0.5)
        seed = bytes.fromhex(vector["seed"])
        score = sum(float(normal(w)) * c for w, c in zip(words(seed, len(unit)), unit, strict=True))
        assert score == pytest.approx(vector["score"], abs=1e-12)
        assert (abs(score) > VECTORS["threshold"]) == vector["inside"]
        # A vector on the boundary would test rounding errors.
        assert abs(abs(score) - VECTORS["threshold"]) > 1e-9


def test_the_library_makes_the_published_decisions():
    from dpcov.local.cap import in_cap, lift_rows
    from dpcov.local.randomizer import _whole_rows

    for vector in VECTORS["decisions"]:
        size = vector["n_columns"]
        plan = local.CollectionPlan(
            columns=[f"x{i}" for i in range(size)], row_norm=1.0, epsilon=1.0
        )
        row = np.full(size, vector["row"][-1])
        row[: len(vector["row"]) - 1] = vector["row"][:-1]
        whole = _whole_rows(row[None], plan)
        assert [whole[0, 0], whole[0, -1]] == vector["whole"]
        seed = np.frombuffer(bytes.fromhex(vector["seed"]), np.uint8)[None]
        inside = in_cap(seed, lift_rows(whole, plan.bits), plan.cap.threshold)
        assert bool(inside[0]) == vector["inside"]


@pytest.mark.parametrize("vector", VECTORS["packings"], ids=lambda v: str(v["bits"]))
def test_integers_are_packed_as_published(vector):
    noise = integers.IntegerNoise(vector["bits"], vector["off_diagonal"], vector["diagonal"])
    largest = 4 ** vector["bits"] + 16 * vector["diagonal"]
    width = largest.bit_length() // 8 + 1
    clamped = [max(-largest, min(largest, entry)) for entry in vector["entries"]]
    expected = b"".join(entry.to_bytes(width, "little", signed=True) for entry in clamped)
    assert vector["payload"] == expected.hex()
    assert integers.pack(np.array(vector["entries"]), noise) == expected
    payload = np.frombuffer(expected, np.uint8)[None]
    assert integers.unpack(payload, noise)[0].tolist() == clamped


@pytest.mark.parametrize("part", ["normals", "rows", "payments", "reports"])
def test_there_are_vectors_for_devices(part):
    assert len(VECTORS[part]) > 10


def test_a_word_stands_for_its_published_normal():
    for vector in VECTORS["normals"][::4]:
        with mpmath.workdps(40):
            error = abs(mpmath.mpf(vector["normal"]) - normal(int(vector["word"], 16)))
        assert error < mpmath.mpf(10) ** -30


def test_the_library_s_normals_are_the_published_ones(monkeypatch):
    table = np.array([[int(v["word"], 16) for v in VECTORS["normals"]]], dtype=np.uint64)
    monkeypatch.setattr(expansion, "expand_words", lambda seeds, size: table)
    found = expansion.expand_normals(np.zeros((1, 16), np.uint8), table.shape[1])[0]
    for computed, vector in zip(found.tolist(), VECTORS["normals"], strict=True):
        with mpmath.workdps(40):
            error = abs(mpmath.mpf(computed) - mpmath.mpf(vector["normal"]))
        assert error <= 2.0**-48 * max(1.0, abs(computed))


def test_a_row_becomes_its_published_integers():
    from dpcov.local.cap import lift_rows
    from dpcov.local.randomizer import _one_row, _whole_rows

    for vector in VECTORS["rows"]:
        plan = local.CollectionPlan.from_json(vector["plan"])
        whole = _whole_rows(_one_row(vector["row"], plan), plan)
        assert whole[0].tolist() == vector["whole"]
        assert lift_rows(whole, plan.bits, mean=plan.mean)[0].tolist() == vector["unit"]


def test_constants_cost_what_is_published():
    from dpcov.privacy import Cap, cap_epsilon

    for vector in VECTORS["payments"]:
        cap = Cap(vector["threshold"], vector["coin"])
        paid = cap_epsilon(cap, n_columns=vector["n_columns"])
        assert paid == pytest.approx(vector["paid"], rel=1e-14, abs=2.0**-48)
        assert paid <= vector["epsilon"]
        assert cap.steady_tries == vector["tries"]


def test_another_implementation_makes_the_published_reports():
    for vector in VECTORS["reports"]:
        plan = json.loads(vector["plan"])
        columns, constants = plan["columns"], plan["constants"]
        row = [
            0.0 if cell is None else (cell - column["center"]) / column["scale"]
            for cell, column in zip(vector["row"], columns, strict=True)
        ]
        length = max(1.0, sum(cell**2 for cell in row) ** 0.5 / plan["row_norm"])
        unit = [int(cell / length / plan["row_norm"] * 2**24) / 2**24 for cell in row]
        rest = (1 - sum(cell**2 for cell in unit)) ** 0.5
        if plan.get("mean"):  # a constant cell, and all of it shorter
            unit = [cell / 1.0625**0.5 for cell in [*unit, 0.25, rest]]
        else:
            unit.append(rest)
        inside = vector["toss"] < constants["coin"]
        for place in range(10_000):
            seed = hashlib.sha256(f"{vector['seeds']} {place}".encode()).digest()[:16]
            numbers = zip(words(seed, len(unit)), unit, strict=True)
            score = sum(float(normal(w)) * c for w, c in numbers)
            if (abs(score) > constants["threshold"]) == inside:
                break
        report = bytes([1, 1]) + bytes.fromhex(plan["id"])[:16] + bytes.fromhex(vector["report_id"])
        assert (report + seed).hex() == vector["report"]
