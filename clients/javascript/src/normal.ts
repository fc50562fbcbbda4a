/**
 * The normal quantile, as accurately as claim P14 asks for.
 *
 * Owns Φ⁻¹ on the lower half, by Wichura's algorithm AS 241 (1988). Claim P14 allows a device
 * an error of 2^-48 max(1, |g|); tests find 2^-50 at most, down to the last tail 2^-65.
 */

import { log, powerOfTwo } from "./arithmetic.js";

// Highest power first. All coefficients and all arguments are positive, so that sums do not
// lose digits.
const CENTER = [
  [
    2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
    13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
  ],
  [
    5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
    5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1,
  ],
];
const TAIL = [
  [
    7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
    1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
    1.42343711074968357734,
  ],
  [
    1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
    0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
    2.05319162663775882187, 1,
  ],
];
const FAR_TAIL = [
  [
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.2426609473880784386e-3,
    0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699,
    6.6579046435011037772,
  ],
  [
    2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
    7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
    0.59983220655588793769, 1,
  ],
];

function ratio([above, below]: number[][], x: number): number {
  let p = 0;
  let q = 0;
  for (let k = 0; k < 8; k++) {
    p = p * x + above[k];
    q = q * x + below[k];
  }
  return p / q;
}

/** Return −Φ⁻¹(tail), for a tail from 2^-65 to ½: a number from 9.2 down to 0. */
export function quantile(tail: number): number {
  const q = 0.5 - tail;
  if (q <= 0.425) return q * ratio(CENTER, 0.180625 - q * q);
  const r = Math.sqrt(-log(tail));
  return r <= 5 ? ratio(TAIL, r - 1.6) : ratio(FAR_TAIL, r - 5);
}

const HALF_WORD = /* @__PURE__ */ powerOfTwo(32);
const WORD_STEP = /* @__PURE__ */ powerOfTwo(-64);

/** Return the standard normal that a word stands for, given by its two halves. */
export function normal(high: number, low: number): number {
  // The magnitude comes from the tail: 1 − (v + ½)/2^64 has no room in a float.
  const v = (high & 0x7fffffff) * HALF_WORD + (low >>> 0);
  const size = quantile((v + 0.5) * WORD_STEP);
  return high < 0 ? -size : size;
}
