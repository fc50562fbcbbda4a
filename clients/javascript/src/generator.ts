/**
 * The public generator: what vector a seed of 16 bytes stands for.
 *
 * Owns the road from a seed to numbers (docs/protocol.md). Nothing here is secret and nothing
 * here is random.
 */

import { encryptBlocks } from "./aes.js";
import { normal } from "./normal.js";

export const SEED_BYTES = 16;

/**
 * Return the words of a seed: coordinate i has its low half at 2i and its high half at 2i + 1.
 *
 * @param size how many coordinates; there is room for up to three more
 */
export function expandWords(seed: Uint8Array, size: number): Int32Array {
  const view = new DataView(seed.buffer, seed.byteOffset, SEED_BYTES);
  const [a, b, c, d] = [0, 4, 8, 12].map((place) => view.getInt32(place, true));
  const words = new Int32Array(8 * Math.ceil(size / 4)); // two coordinates a block, two blocks
  for (let j = 0; 4 * j < words.length; j++) {
    words[4 * j] = a;
    words[4 * j + 1] = b;
    words[4 * j + 2] = c ^ j;
    words[4 * j + 3] = d;
  }
  encryptBlocks(words);
  return words;
}

/** Write the standard normals of a seed. */
export function expandNormals(seed: Uint8Array, normals: Float64Array): void {
  const words = expandWords(seed, normals.length);
  for (let i = 0; i < normals.length; i++) normals[i] = normal(words[2 * i + 1], words[2 * i]);
}
