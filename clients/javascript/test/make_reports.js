/**
 * Reports of many people, for Python's collector: what is asked for comes as JSON, reports go out.
 *
 *     {"plan": text, "rows": [...], "count": n, "seed": s}    simulated, the same for the same seed
 *     {"plan": text, "rows": [...], "count": n}               real ones, by the module as it is shipped
 *
 * With "bug" a simulation is spoiled, to see that it would be noticed.
 */

import { createCipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { makeReport, readPlan } from "../dist/dpcov.js";
import * as internal from "../build/plan.js";
import { reportOf } from "../build/report.js";
import { cellsOf, lift, quantize } from "../build/row.js";

const { plan: text, rows, count, seed, bug } = JSON.parse(readFileSync(0, "utf8"));

/** A stream of bytes that a seed decides. */
function streamOf(seed) {
  const key = createHash("sha256").update(seed).digest();
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return (bytes) => bytes.set(cipher.update(Buffer.alloc(bytes.length)));
}

const bugs = {
  threshold: ({ threshold, coin, tries }) => ({ threshold: 1.3 * threshold, coin, tries }),
  coin: ({ threshold, coin, tries }) => ({ threshold, coin: 2 ** 32 - coin, tries }),
  "": (cap) => cap,
};

/** Draws that give the seeds of the first report to everybody. */
function reusing(random) {
  let seeds;
  return (bytes) => {
    random(bytes);
    if (bytes.length > 16) bytes.set((seeds ??= bytes.slice()));
  };
}

async function simulated() {
  const plan = await internal.readPlan(text);
  const cap = (bugs[bug] ?? bugs[""])(plan);
  const random = bug === "reuse" ? reusing(streamOf(seed)) : streamOf(seed);
  const units = rows.map((row) => lift(quantize(cellsOf(row, plan), plan), plan.mean));
  return (i) => reportOf(units[i % units.length], plan, cap, random, true);
}

async function real() {
  const plan = await readPlan(text);
  return (i) => makeReport(rows[i % rows.length], plan);
}

const make = seed === undefined ? await real() : await simulated();
const reports = [];
for (let i = 0; i < count; i++) reports.push(await make(i));
process.stdout.write(Buffer.concat(reports));
