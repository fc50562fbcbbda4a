/**
 * Logarithm, exponential and erfc in + − × ÷, which every engine rounds the same way.
 *
 * Owns what ECMAScript leaves to the engine: its Math.log and Math.exp may be as inexact as
 * they like, and a promise rests on the numbers here. Each is within a few units of the
 * last place; tests compare them with 40 digits.
 */

const bits = new DataView(new ArrayBuffer(8));

// ln 2 in two parts: multiples of the first by an exponent are exact.
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
const SQRT2 = 1.4142135623730951;

/** Return e with 2^(e−1) ≤ |x| < 2^e, for a normal number x. */
export function exponentOf(x: number): number {
  bits.setFloat64(0, x);
  return ((bits.getUint16(0) >> 4) & 0x7ff) - 1022;
}

/** Return 2^n, exactly, for n from −1022 to 1023. */
export function powerOfTwo(n: number): number {
  bits.setBigUint64(0, 0n);
  bits.setUint16(0, (n + 1023) << 4);
  return bits.getFloat64(0);
}

/** Return the 16 hexadecimal digits of the IEEE 754 pattern of a number. */
export function pattern(x: number): string {
  bits.setFloat64(0, x);
  return bits.getBigUint64(0).toString(16).padStart(16, "0");
}

/** The natural logarithm of a positive normal number: e ln 2 + 2 artanh((m − 1)/(m + 1)). */
export function log(x: number): number {
  let e = exponentOf(x);
  let m = x * powerOfTwo(-e);
  if (2 * m < SQRT2) {
    m *= 2;
    e -= 1;
  }
  const s = (m - 1) / (m + 1);
  const square = s * s; // below 0.0295: eleven terms are enough
  let sum = 0;
  for (let k = 23; k > 1; k -= 2) sum = (sum + 1 / k) * square;
  return e * LN2_HIGH + (2 * s + (2 * s * sum + e * LN2_LOW));
}

/** The exponential, for numbers from −700 to 700: 2^k times a Taylor series on |r| ≤ 0.35. */
export function exp(x: number): number {
  const k = Math.round(x / (LN2_HIGH + LN2_LOW));
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  let sum = 1;
  for (let n = 18; n > 0; n--) sum = 1 + (sum * r) / n;
  return sum * powerOfTwo(k);
}

/**
 * The complementary error function, for numbers from 0.3 to 2.2.
 *
 * The trapezoidal rule for (2x/π) e^(−x²) ∫ e^(−s²)/(s² + x²) ds at s = h(n + ½), h = ½, and
 * the pole at ix (Chiarella and Reichel 1968): all terms are positive, and what is left out
 * is of order e^(−π²/h²) = 7e-18.
 */
export function erfc(x: number): number {
  const h = 0.5;
  let sum = 0;
  for (let n = 13; n >= 0; n--) {
    const square = h * (n + 0.5) * (h * (n + 0.5));
    sum += exp(-square) / (square + x * x);
  }
  return ((2 * h * x) / Math.PI) * exp(-x * x) * sum + 2 / (exp((2 * Math.PI * x) / h) + 1);
}
