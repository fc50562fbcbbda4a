/** The public generator, against Python's vectors, WebCrypto and 40 digits. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { encryptBlocks } from "../build/aes.js";
import { erfc, exp, log } from "../build/arithmetic.js";
import { score } from "../build/cap.js";
import { expandNormals, expandWords } from "../build/generator.js";
import { normal, quantile } from "../build/normal.js";
import { lift } from "../build/row.js";
import { bytesOf, halves, hexOf, seededRandom, VECTORS } from "./vectors.js";

const wordOf = (words, i) =>
  [words[2 * i + 1], words[2 * i]].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");

/** What a collector makes of a word: 4096 times the normal of its leading 20 bits, rounded. */
function integerOf(word) {
  const [high] = halves(word);
  const size = Math.round(4096 * quantile((((high & 0x7fffffff) >>> 12) + 0.5) / 2 ** 20));
  return high < 0 ? -size : size;
}

test("the key is the digest of a sentence", async () => {
  const key = createHash("sha256").update("dpcov cap expansion 1").digest().subarray(0, 16);
  assert.equal(hexOf(key), VECTORS.key);
});

test("every block is encrypted as WebCrypto does", async () => {
  const key = await crypto.subtle.importKey("raw", bytesOf(VECTORS.key), "AES-CBC", false, ["encrypt"]);
  const blocks = new Int32Array(4 * 512);
  seededRandom("blocks")(new Uint8Array(blocks.buffer));
  blocks.fill(0, 0, 4);
  blocks.fill(-1, 4, 8);
  const plain = new Uint8Array(blocks.buffer.slice(0));
  encryptBlocks(blocks);
  for (let start = 0; start < plain.length; start += 16) {
    // With an IV of zeros the first block of CBC is the block alone.
    const [iv, block] = [new Uint8Array(16), plain.subarray(start, start + 16)];
    const cipher = await crypto.subtle.encrypt({ name: "AES-CBC", iv }, key, block);
    assert.equal(hexOf(new Uint8Array(blocks.buffer, start, 16)), hexOf(cipher.slice(0, 16)));
  }
});

for (const vector of VECTORS.expansions) {
  const { n_columns: size, seed } = vector;
  test(`seed ${seed.slice(0, 6)} has Python's words and integers for ${size} columns`, () => {
    const words = expandWords(bytesOf(seed), size + 1);
    assert.deepEqual(vector.words.map((_, i) => wordOf(words, i)), vector.words);
    assert.deepEqual(vector.integers.map((_, i) => integerOf(vector.words[i])), vector.integers);
  });
}

test("the normal quantile gives the published table of a collector, all of it", () => {
  const table = new Int16Array(1 << 20);
  for (let k = 0; k < 1 << 19; k++) {
    table[k] = Math.round(4096 * quantile((k + 0.5) / 2 ** 20));
    table[k + (1 << 19)] = -table[k];
  }
  const digest = createHash("sha256").update(new Uint8Array(table.buffer)).digest("hex");
  assert.equal(digest, VECTORS.table_sha256);
});

/** |x − digits|, exactly enough: the digits as an integer of 10^-45. */
function errorOf(x, digits) {
  const fixed = (text) => {
    const [, sign, whole, part = "", power = "0"] = /^(-?)(\d+)\.?(\d*)(?:e([-+]?\d+))?$/.exec(text);
    const shift = 60 + Number(power) - part.length;
    const value = shift < 0 ? BigInt(whole + part) / 10n ** BigInt(-shift)
      : BigInt(whole + part) * 10n ** BigInt(shift);
    return sign ? -value : value;
  };
  // A float is a multiple of 2^-1074, hence a finite decimal; 60 digits tell enough of it.
  const exact = BigInt(Math.round(x * 2 ** 50)) * 10n ** 60n / 2n ** 50n;
  const rest = fixed((x - Math.round(x * 2 ** 50) / 2 ** 50).toString());
  return Math.abs(Number(exact + rest - fixed(digits)) / 1e60);
}

test("claim P14: a normal is within a fourth of its allowance, at the ends and borders too", () => {
  let worst = 0;
  for (const { word, normal: digits } of VECTORS.normals) {
    const g = normal(...halves(word));
    worst = Math.max(worst, errorOf(g, digits) / Math.max(1, Math.abs(g)));
    assert.equal(Object.is(Math.sign(g), -0) || g < 0, word >= "8");
  }
  assert.ok(worst <= 2 ** -50, `2^${Math.log2(worst)}`);
  assert.ok(worst > 2 ** -55, "the measurement sees errors");
});

test("logarithm, exponential and erfc are within eight units of the last place", () => {
  // Against the engine's, which is good where this was written; erfc against Python's.
  for (let i = 0; i < 2000; i++) {
    const x = 10 ** (-25 + i / 50);
    assert.ok(Math.abs(log(x) - Math.log(x)) <= 4 * 2 ** -52 * Math.abs(Math.log(x)));
    const y = -170 + i / 10;
    assert.ok(Math.abs(exp(y) / Math.exp(y) - 1) <= 4 * 2 ** -52);
  }
  for (const { threshold, inside } of VECTORS.payments) {
    assert.ok(Math.abs(erfc(threshold / Math.SQRT2) / inside - 1) <= 8 * 2 ** -52);
  }
});

test("decisions are those of Python, for 2, 10 and 1,000 columns", () => {
  for (const vector of VECTORS.decisions) {
    const size = vector.n_columns;
    const row = new Float64Array(size).fill(vector.row.at(-1));
    row.set(vector.row.slice(0, -1));
    const whole = row.map((x) => Math.trunc(Math.min(1, x) * 2 ** 24));
    assert.deepEqual([whole[0], whole[size - 1]], vector.whole);
    const normals = new Float64Array(size + 1);
    expandNormals(bytesOf(vector.seed), normals);
    const found = score(normals, lift(whole));
    assert.ok(Math.abs(found - vector.score) < 1e-12);
    assert.equal(Math.abs(found) > VECTORS.threshold, vector.inside);
  }
});

test("claim P14: a score is within its allowance", () => {
  const random = seededRandom("scores");
  for (const size of [3, 64, 65, 1001]) {
    const normals = new Float64Array(size);
    const seed = new Uint8Array(16);
    for (let round = 0; round < 10; round++) {
      random(seed);
      expandNormals(seed, normals);
      const whole = normals.map((_, i) => Math.trunc((2 ** 24 * Math.cos(i)) / Math.sqrt(size)));
      const unit = lift(whole.subarray(1));
      // Products of a float and a multiple of 2^-24, split so that each part is exact.
      const length = Math.sqrt(normals.reduce((sum, g) => sum + g * g, 0));
      const allowed = (64 + size / 64 + 2) * 2 ** -53 * length;
      assert.ok(Math.abs(score(normals, unit) - exactScore(normals, unit)) <= allowed);
    }
  }
});

/** Σ g u in integers of 2^-106: floats of size below 2^6 that are multiples of 2^-53 here. */
function exactScore(normals, unit) {
  const fixed = (x) => BigInt(Math.round(x * 2 ** 30)) * 2n ** 45n
    + BigInt(Math.round((x - Math.round(x * 2 ** 30) / 2 ** 30) * 2 ** 75));
  let sum = 0n;
  normals.forEach((g, i) => (sum += fixed(g) * fixed(unit[i])));
  return Number(sum) / 2 ** 75 / 2 ** 75;
}
