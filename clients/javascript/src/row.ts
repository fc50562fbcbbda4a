/**
 * A person's row becomes a unit vector: center and scale, clip to the grid, lift.
 *
 * Owns the road from answers to integers of bounded norm, to the same ones as
 * sensitive/sums/rows.py finds, and the coordinate that makes their norm one.
 */

import { exponentOf, powerOfTwo } from "./arithmetic.js";
import { RowError } from "./errors.js";
import type { Plan } from "./plan.js";

/** A number for each column, in the order of the plan or by name; null, NaN, ±∞ are missing. */
export type Row = ArrayLike<number | null> | Readonly<Record<string, number | null>>;

const BITS = 24;
const MOST = 0x1000000; // 2^BITS: whole rows have at most this norm
const EXACT = 0x20000000000000; // sums of squared integers below 2^53 are exact

/** Return the cells of a row in the order of the plan, NaN where they are missing. */
export function cellsOf(row: Row, plan: Plan): Float64Array {
  const given = Object(row) as Record<string, unknown>; // null has no properties to ask for
  const isList = Array.isArray(row) || ArrayBuffer.isView(row);
  const cells = plan.columns
    .map(({ name }, i) => (isList ? i : name))
    .map((label) => (Object.hasOwn(given, label) ? given[label] : undefined));
  if (
    Object.keys(given).length !== cells.length ||
    !cells.every((cell) => cell === null || typeof cell === "number")
  ) {
    throw new RowError(
      `The row must have ${cells.length} cells, one for each column of the plan: a number, or ` +
        "null where it is missing.",
    );
  }
  return Float64Array.from(cells, (cell) => cell ?? NaN);
}

/**
 * Return whole numbers with a squared norm of at most 4^24.
 *
 * Claim P2: a function of this row and of public facts alone.
 */
export function quantize(cells: Float64Array, plan: Plan): Float64Array {
  const working = cells
    .map((x, i) => (x - plan.columns[i].center) / plan.columns[i].scale)
    .map((x) => (Number.isFinite(x) ? x : missing(plan)));
  const perStep = 1 / (plan.rowNorm / MOST);
  const whole = working.map((x) => Math.trunc(x * perStep));
  const squared = squaredNorm(whole);
  if (squared <= MOST * MOST) return whole;
  if (squared < EXACT) return shorten(whole, squared);
  // So long that its norm is not exact: the largest cell just below 2^24, by a power of two.
  const largest = working.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const shift = powerOfTwo(BITS - exponentOf(largest));
  const near = working.map((x) => Math.trunc(x * shift));
  return shorten(near, Number(near.reduce((sum, x) => sum + BigInt(x) * BigInt(x), 0n)));
}

function missing(plan: Plan): number {
  if (plan.missing === "center") return 0;
  throw new RowError("The plan refuses rows with missing or infinite cells.");
}

function squaredNorm(whole: Float64Array): number {
  return whole.reduce((sum, x) => sum + x * x, 0);
}

function shorten(whole: Float64Array, squared: number): Float64Array {
  const factor = MOST / Math.sqrt(squared);
  const short = whole.map((x) => Math.trunc(x * factor));
  // Truncation is enough where arithmetic is IEEE 754's; the claim rests on this check.
  while (!(squaredNorm(short) <= MOST * MOST)) {
    short.forEach((x, i) => (short[i] = x - Math.sign(x)));
  }
  return short;
}

/**
 * Return the unit vector of a whole row, with one coordinate more, or two for the mean.
 *
 * Claim P14: the squared norm is an integer below 2^53, the last coordinate one rounded root.
 */
export function lift(whole: Float64Array, mean = false): Float64Array {
  const rest = Math.sqrt(MOST * MOST - squaredNorm(whole));
  const norm = Math.sqrt(mean ? 1.0625 : 1); // the constant is a quarter of the others
  return Float64Array.from([...whole, ...(mean ? [MOST / 4] : []), rest], (x) => x / MOST / norm);
}
