/** The vectors that Python publishes, and ways to feed them to the client. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const VECTORS = JSON.parse(
  readFileSync(new URL("../../../tests/vectors/local.json", import.meta.url), "utf8"),
);

export const bytesOf = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
export const hexOf = (bytes) => Buffer.from(bytes).toString("hex");

/** The halves of a word that is given in hexadecimal digits: high, low. */
export const halves = (word) => [parseInt(word.slice(0, 8), 16) | 0, parseInt(word.slice(8), 16) | 0];

/** The text of a plan for `n` columns, with the constants that Python computes. */
export function planText(changes = {}) {
  return JSON.stringify({ ...JSON.parse(VECTORS.plans[0].json), ...changes });
}

/** Random bytes that are not: the same from the same seed. */
export function seededRandom(seed) {
  let place = 0;
  return (bytes) => {
    for (let start = 0; start < bytes.length; start += 32) {
      const block = createHash("sha256").update(`${seed} ${place++}`).digest();
      bytes.set(block.subarray(0, bytes.length - start), start);
    }
  };
}

/** What the vectors of reports draw: a report id, a toss, and the seeds of a list. */
export function listedRandom({ report_id, toss, seeds }) {
  const draws = [bytesOf(report_id), new Uint8Array(new Uint32Array([toss]).buffer)];
  let place = 0;
  return (bytes) => {
    const given = draws.shift();
    if (given) return bytes.set(given);
    for (let start = 0; start < bytes.length; start += 16) {
      const digest = createHash("sha256").update(`${seeds} ${place++}`).digest();
      bytes.set(digest.subarray(0, 16), start);
    }
  };
}
