/**
 * Whether the constants of a plan pay for its promise, rounded toward privacy.
 *
 * Owns the mathematics of claim P14 (docs/privacy.md), as privacy/cap.py has it. A device
 * need not trust the server's constants: it computes what they cost. Sees no row.
 */

import { erfc, exp, log, powerOfTwo } from "./arithmetic.js";

/** The probability p₀ is coin / COIN. */
export const COIN = 0x100000000;
export const MOST_COLUMNS = 65536;

const GENERATOR = /* @__PURE__ */ powerOfTwo(-43);
const WORD = /* @__PURE__ */ powerOfTwo(-62);
const NORMAL_ERROR = /* @__PURE__ */ powerOfTwo(-48);
const UNIT_ERROR = /* @__PURE__ */ powerOfTwo(-50);
const ROUNDING = /* @__PURE__ */ powerOfTwo(-53);
const ARITHMETIC = /* @__PURE__ */ powerOfTwo(-45); // of q and the logarithms: 256 units of 2^-53
const LONG = 40;
const CHUNK = 64; // the sum of products in cap.ts is formed in chunks of as many

/** q, the share of all seeds that are in a cap. */
export function shareInside(threshold: number): number {
  return erfc(threshold / Math.SQRT2);
}

/** Bound |q_x − q| over all rows of so many columns: generator, words, floating point. */
export function distance(columns: number): number {
  const size = columns + 1;
  const length = Math.sqrt(size + 2 * Math.sqrt(LONG * size) + 2 * LONG);
  const sums = (CHUNK + size / CHUNK + 2) * ROUNDING;
  const slip = NORMAL_ERROR * (Math.sqrt(size) + length) + (sums + UNIT_ERROR) * length;
  return 0.8 * slip + GENERATOR + size * WORD + exp(-LONG);
}

/** Return the ε that a threshold and a coin pay for, rounded up. */
export function capEpsilon(threshold: number, coin: number, columns: number): number {
  const q = shareInside(threshold);
  const rarer = Math.min(q, 1 - q);
  const d = distance(columns);
  if (d >= rarer) return Infinity;
  const odds = log(coin / (COIN - coin)) + log((1 - q) / q);
  const oneCap = odds + (d / (q - d) + d / (1 - q - d) + ARITHMETIC);
  const sameSide = (2 * d) / (rarer - d) + ARITHMETIC;
  return Math.max(oneCap, sameSide);
}

/** How many seeds a device looks at, always: one of them will do but for 2^-32. */
export function steadyTries(threshold: number): number {
  const q = shareInside(threshold);
  return Math.ceil((-32 * Math.LN2) / log(1 - Math.min(q, 1 - q)));
}
