/**
 * Claim P14: any two rows give any seed with probabilities within e^ε.
 *
 * By enumeration with exact fractions, by the law of what is drawn, and by the work that is done.
 * Each check is seen to find a planted bug.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawSeed, score } from "../build/cap.js";
import { expandNormals } from "../build/generator.js";
import { COIN, distance, shareInside } from "../build/payment.js";
import { seededRandom, VECTORS } from "./vectors.js";

const SEEDS = 256;

/** A toy generator: the first byte of a seed is an angle. */
function circle(seed, normals) {
  const angle = (2 * Math.PI * (seed[0] + 0.5)) / SEEDS;
  normals[0] = 2 * Math.cos(angle);
  normals[1] = 2 * Math.sin(angle);
}

const direction = (step) => {
  const angle = (2 * Math.PI * step) / SEEDS;
  return Float64Array.of(Math.cos(angle), Math.sin(angle));
};
const UNITS = [
  Float64Array.of(1, 0, 0, 0),
  Float64Array.of(0.5, 0.5, 0.5, 0.5),
  Float64Array.of(0, 0, 0, 1),
];
const seedOf = (i) => Uint8Array.of(i & 255, i >> 8, ...new Uint8Array(14));

/** Which of the first seeds are in the cap of a row, as the device decides it. */
function decisions(unit, threshold, count, expand) {
  const normals = new Float64Array(unit.length);
  return Array.from({ length: count }, (_, i) => {
    expand(seedOf(i), normals);
    return Math.abs(score(normals, unit)) > threshold;
  });
}

/** The exact probabilities of seeds, over their common denominator. */
function law(inside, coin) {
  const n = inside.filter(Boolean).length;
  const [above, below] = [BigInt(coin), BigInt(COIN - coin)];
  const [within, beyond] = [BigInt(n), BigInt(inside.length - n)];
  return inside.map((i) => (i ? { num: above, den: within } : { num: below, den: beyond }));
}

/** The largest log ratio of the probabilities of one seed under two rows. */
function largestLoss(laws) {
  let worst = 0n;
  for (let seed = 0; seed < laws[0].length; seed++) {
    for (const p of laws) {
      for (const q of laws) {
        const ratio = (p[seed].num * q[seed].den * 10n ** 18n) / (p[seed].den * q[seed].num);
        worst = ratio > worst ? ratio : worst;
      }
    }
  }
  return Math.log(Number(worst) / 1e18);
}

function coinFor(epsilon, q) {
  const odds = (Math.exp(epsilon) * q) / (1 - q);
  return Math.floor((odds / (1 + odds)) * COIN);
}

test("claim P14: every seed of a toy generator is within the promise, for any two rows", () => {
  const tables = Array.from({ length: 64 }, (_, k) => decisions(direction(4 * k), 1.6, SEEDS, circle));
  const shares = new Set(tables.map((inside) => inside.filter(Boolean).length / SEEDS));
  assert.equal(shares.size, 1); // every cap has the same share of seeds
  const coin = coinFor(1, [...shares][0]);
  const loss = largestLoss(tables.map((inside) => law(inside, coin)));
  assert.ok(loss > 1 - 1e-8 && loss <= 1, `${loss}`);
  // A coin that is off, and the two sides of the coin taken for each other where p₀ > ½.
  assert.ok(largestLoss(tables.map((inside) => law(inside, Math.floor(coin * 1.1)))) > 1.1);
});

test("claim P14: few seeds of the real generator cost what the claim says", () => {
  const { threshold, coin } = VECTORS.payments.find((v) => v.n_columns === 1 && v.epsilon === 1);
  const q = shareInside(threshold);
  const tables = Array.from({ length: 16 }, (_, k) =>
    decisions(direction(16 * k), threshold, 2048, expandNormals));
  const off = Math.max(...tables.map((t) => Math.abs(t.filter(Boolean).length / 2048 - q)));
  const loss = largestLoss(tables.map((inside) => law(inside, coin)));
  assert.ok(loss > 1 && loss <= 1 + off / (q - off) + off / (1 - q - off), `${loss}`);
});

test("claim P14: the share of seeds in a cap does not depend on the row", () => {
  const size = 12;
  const { threshold } = VECTORS.payments.find((v) => v.epsilon === 1);
  const q = shareInside(threshold);
  const spike = new Float64Array(size);
  spike[3] = 1;
  const lifted = new Float64Array(size);
  lifted[size - 1] = 1;
  const units = [spike, new Float64Array(size).fill(size ** -0.5), lifted];
  const [random, seed, normals] = [seededRandom("shares"), new Uint8Array(16), new Float64Array(size)];
  const [counts, n] = [[0, 0, 0], 30_000];
  for (let i = 0; i < n; i++) {
    random(seed);
    expandNormals(seed, normals);
    units.forEach((unit, k) => (counts[k] += Math.abs(score(normals, unit)) > threshold));
  }
  const sd = Math.sqrt(q * (1 - q) * n);
  for (const count of counts) {
    assert.ok(Math.abs(count - n * q) < 5 * sd);
    assert.ok(Math.abs(count - n * 1.1 * q) > 5 * sd); // a share that is off would be seen
  }
  assert.ok(distance(1000) < 1e-11);
});

/** Chi squared of 6,000 seeds drawn by the device, against the enumerated law, 31 degrees. */
async function misfit(change = {}, random = seededRandom("law")) {
  const [unit, n] = [direction(17), 6000];
  const coin = coinFor(1, 0.4);
  const expected = new Array(32).fill(0);
  law(decisions(unit, 1.6, SEEDS, circle), coin).forEach(
    ({ num, den }, i) => (expected[i >> 3] += (n * Number(num)) / Number(den) / COIN));
  const drawn = new Array(32).fill(0);
  for (let i = 0; i < n; i++) {
    const cap = { threshold: 1.6, coin, tries: 45, ...change };
    drawn[(await drawSeed(unit, cap, random, circle))[0] >> 3]++;
  }
  return drawn.reduce((sum, count, i) => sum + (count - expected[i]) ** 2 / expected[i], 0);
}

const SURE = 100; // beyond it with probability 4e-9 under 31 degrees of freedom

test("claim P14: a device draws with the enumerated law", async () => {
  assert.ok((await misfit()) < SURE);
});

test("the law finds a threshold that is off", async () => {
  assert.ok((await misfit({ threshold: 1.7 })) > SURE);
});

test("the law finds that the sides of the coin were swapped", async () => {
  assert.ok((await misfit({ coin: COIN - coinFor(1, 0.4) })) > SURE);
});

test("the law finds seeds that are used again", async () => {
  const random = seededRandom("reuse");
  const once = new Map();
  const reusing = (bytes) => {
    if (bytes.length < 16) return random(bytes); // the coin is new
    if (!once.has(bytes.length)) random(bytes), once.set(bytes.length, bytes.slice());
    bytes.set(once.get(bytes.length));
  };
  assert.ok((await misfit({}, reusing)) > SURE);
});

test("claim P14: the coin falls inside exactly as often as planned", async () => {
  const unit = Float64Array.of(0.6, 0, 0, 0.8);
  for (const { threshold, coin, tries } of VECTORS.payments.slice(2, 5)) {
    for (const [toss, expected] of [[0, true], [coin - 1, true], [coin, false], [COIN - 1, false]]) {
      let first = true;
      const random = (bytes) => {
        if (!first) return seededRandom(toss)(bytes);
        first = false;
        new DataView(bytes.buffer).setUint32(bytes.byteOffset, toss, true);
      };
      const normals = new Float64Array(4);
      expandNormals(await drawSeed(unit, { threshold, coin, tries }, random), normals);
      assert.equal(Math.abs(score(normals, unit)) > threshold, expected);
    }
  }
});

test("claim P14: the work depends on neither row nor coin nor seeds", async () => {
  const { threshold, coin, tries } = VECTORS.payments.find((v) => v.epsilon === 2);
  const works = new Set();
  for (const unit of UNITS) {
    for (let seed = 0; seed < 40; seed++) {
      let [bytes, vectors] = ["", 0];
      const random = seededRandom(seed);
      await drawSeed(unit, { threshold, coin, tries },
        (out) => ((bytes += ` ${out.length}`), random(out)),
        (...args) => (vectors++, expandNormals(...args)));
      works.add(`${bytes}, ${vectors}`);
    }
  }
  assert.deepEqual([...works], [` 4 ${16 * tries}, ${tries}`]);
});

test("a device sends the first seed that will do", async () => {
  const fits = [0, 0, 1, 1];
  let place = 0;
  const expand = (_, normals) => normals.fill(9 * fits[place++]);
  const random = (bytes) => bytes.forEach((_, i) => (bytes[i] = i >> 4));
  const seed = await drawSeed(Float64Array.of(1), { threshold: 1, coin: COIN - 1, tries: 4 }, random, expand);
  assert.deepEqual([...seed], new Array(16).fill(2));
});

test("a device looks at as many seeds again when none will do", async () => {
  let looked = 0;
  const expand = (_, normals) => normals.fill(looked++ < 4 ? 0 : 9);
  const seed = await drawSeed(Float64Array.of(1), { threshold: 1, coin: COIN - 1, tries: 4 },
    seededRandom("again"), expand);
  assert.deepEqual([seed.length, looked], [16, 8]);
});

test("long rows let the page breathe", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const unit = new Float64Array(5001).fill(5001 ** -0.5);
  await drawSeed(unit, { threshold: 1.5, coin: COIN / 2, tries: 60 }, seededRandom("long"));
  clearInterval(timer);
  assert.ok(turns >= 5);
});
