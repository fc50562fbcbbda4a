/**
 * The cap randomizer: a unit vector becomes a seed.
 *
 * Owns the choice of the seed. The message is a seed, so no rounding error of the row can
 * leave the device.
 */

import { expandNormals, SEED_BYTES } from "./generator.js";

/** The public constants of a plan that the choice depends on. */
export interface Cap {
  readonly threshold: number;
  readonly coin: number;
  readonly tries: number;
}

/** Fills bytes with random ones. */
export type Random = (bytes: Uint8Array) => void;

const CHUNK = 64; // of coordinates: the rounding error that claim P14 allows rests on it
const ENTRIES = 1 << 15; // normals between two pauses, so that a page stays alive
const MOST_RANDOM_BYTES = 1 << 16; // that getRandomValues gives at once

/** The random bytes of the system. */
export const systemRandom: Random = (bytes) => {
  for (let start = 0; start < bytes.length; start += MOST_RANDOM_BYTES) {
    crypto.getRandomValues(bytes.subarray(start, start + MOST_RANDOM_BYTES));
  }
};

/** Return ⟨g, u⟩, summed in chunks. */
export function score(normals: Float64Array, unit: Float64Array): number {
  let sum = 0;
  for (let start = 0; start < unit.length; start += CHUNK) {
    const end = Math.min(start + CHUNK, unit.length);
    let part = 0;
    for (let i = start; i < end; i++) part += normals[i] * unit[i];
    sum += part;
  }
  return sum;
}

/**
 * Draw the seed that a device sends.
 *
 * Claim P14: uniform among the seeds with |⟨g, u⟩| > t with probability p₀, and uniform among
 * the others otherwise. The number of seeds that are looked at, and what is done with
 * each, is the same for all rows, coins and answers: the time until the first one that will
 * do would tell the coin. Only with a probability of 2^-32 must it look at as many again.
 *
 * @param expand what a seed stands for; tests put toy generators in its place
 */
export async function drawSeed(
  unit: Float64Array,
  cap: Cap,
  random: Random,
  expand: (seed: Uint8Array, normals: Float64Array) => void = expandNormals,
): Promise<Uint8Array> {
  const toss = new Uint8Array(4);
  random(toss);
  const inside = Number(new DataView(toss.buffer).getUint32(0, true) < cap.coin);
  const seeds = new Uint8Array(cap.tries * SEED_BYTES);
  const normals = new Float64Array(unit.length);
  const atATime = Math.max(1, Math.floor(ENTRIES / unit.length));
  for (;;) {
    random(seeds);
    let place = 0;
    let found = 0;
    for (let i = 0; i < cap.tries; i++) {
      if (i % atATime === atATime - 1) await pause();
      expand(seeds.subarray(i * SEED_BYTES, (i + 1) * SEED_BYTES), normals);
      const fits = 1 - (Number(Math.abs(score(normals, unit)) > cap.threshold) ^ inside);
      // The first that fits, without a branch.
      place += (i - place) * (fits & (1 - found));
      found |= fits;
    }
    if (found) return seeds.slice(place * SEED_BYTES, (place + 1) * SEED_BYTES);
  }
}

function pause(): Promise<void> {
  return new Promise((resume) => setTimeout(resume));
}
