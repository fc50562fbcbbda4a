/** Rows, reports and their bytes. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";

import { makeReport, readPlan, readReport, ReportError, RowError } from "../dist/dpcov.js";
import { reportOf } from "../build/report.js";
import { cellsOf, lift, quantize } from "../build/row.js";
import * as internal from "../build/plan.js";
import { bytesOf, hexOf, listedRandom, planText, VECTORS } from "./vectors.js";

const PLAN = await readPlan(planText());
const STRICT = await readPlan(VECTORS.plans[1].json);

test("rows become Python's integers and unit vectors", async () => {
  for (const { plan: text, row, whole, unit } of VECTORS.rows) {
    const plan = await readPlan(text);
    const found = quantize(cellsOf(row, plan), plan);
    assert.deepEqual([...found].map((x) => x + 0), whole);
    assert.deepEqual([...lift(found, plan.mean)].map((x) => x + 0), unit.map((x) => x + 0));
  }
});

test("the same draws make Python's reports", async () => {
  for (const vector of VECTORS.reports) {
    const plan = await internal.readPlan(vector.plan);
    const unit = lift(quantize(cellsOf(vector.row, plan), plan), plan.mean);
    const report = await reportOf(unit, plan, plan, listedRandom(vector), false);
    assert.equal(hexOf(report), vector.report);
  }
});

test("a report has 50 bytes, of which 32 are new each time", async () => {
  const [one, two] = [await makeReport([0.1, 0.2], PLAN), await makeReport([0.1, 0.2], PLAN)];
  assert.equal(one.length, 50);
  assert.equal(hexOf(one.subarray(0, 18)), "0101" + PLAN.id.slice(0, 32));
  assert.equal(hexOf(one.subarray(0, 18)), hexOf(two.subarray(0, 18)));
  assert.notEqual(hexOf(one.subarray(18, 34)), hexOf(two.subarray(18, 34)));
  assert.notEqual(hexOf(one.subarray(34)), hexOf(two.subarray(34)));
});

test("a report is read back, all of it", () => {
  const [{ report, report_id }] = VECTORS.reports;
  const facts = readReport(bytesOf(report));
  assert.equal(facts.hex, report);
  assert.equal("0101" + facts.planId + facts.reportId + facts.seed, report);
  assert.deepEqual([facts.size, facts.reportId, facts.simulated], [50, report_id, false]);
  assert.equal(readReport(bytesOf("0181" + report.slice(4))).simulated, true);
});

test("what is not a report is refused", () => {
  const [{ report }] = VECTORS.reports;
  const wrong = ["", report + "00", report.slice(2), "02" + report.slice(2), "0102" + report.slice(4)];
  for (const bytes of [...wrong.map(bytesOf), report, null, [...bytesOf(report)]]) {
    assert.throws(() => readReport(bytes), ReportError);
  }
});

test("a row is a list, an array or an object by name, and null is missing", () => {
  const cells = (row) => [...cellsOf(row, PLAN)];
  assert.deepEqual(cells([1, null]), [1, NaN]);
  assert.deepEqual(cells(new Float32Array([1, 2])), [1, 2]);
  assert.deepEqual(cells({ b: 2, a: 1 }), [1, 2]);
  assert.deepEqual(cells(Object.assign(Object.create(null), { a: 1, b: null })), [1, NaN]);
});

test("a column may have the name of something that every object has", async () => {
  const plan = { ...PLAN, columns: ["__proto__", "constructor"].map((name) => ({ name })) };
  assert.throws(() => cellsOf({}, plan), { name: "RowError" });
  assert.deepEqual([...cellsOf(JSON.parse('{"__proto__":1,"constructor":2}'), plan)], [1, 2]);
});

const shapes = [null, undefined, 5, "12", [], [1], [1, 2, 3], [1, , 3], [1, undefined], ["1", 2],
  [1n, 2n], [true, 1], { a: 1 }, { a: 1, b: 2, c: 3 }, { a: 1, c: 2 }, new DataView(new ArrayBuffer(2)),
  new BigInt64Array(2), { length: 2, 0: 1, 1: 2 }];
for (const row of shapes) {
  test(`the row ${inspect(row)} is refused, without a word on what is in it`, async () => {
    await assert.rejects(makeReport(row, PLAN), (error) =>
      error instanceof RowError && error.message === "The row must have 2 cells, one for each " +
        "column of the plan: a number, or null where it is missing.");
  });
}

test("a plan that refuses missing cells refuses the row, and says no more", async () => {
  for (const row of [[null, 1, 1], [NaN, 1, 1], [1, Infinity, 1]]) {
    await assert.rejects(makeReport(row, STRICT), {
      name: "RowError",
      message: "The plan refuses rows with missing or infinite cells.",
    });
  }
  assert.equal((await makeReport([1, 1, 1], STRICT)).length, 50);
});

test("a plan that readPlan did not make is refused", async () => {
  for (const plan of [{ ...PLAN }, Object.create(PLAN), null, undefined, planText()]) {
    await assert.rejects(makeReport([1, 2], plan), /readPlan/);
  }
});

test("the module is below 15 kB, needs nothing, and hides nothing", () => {
  const file = readFileSync(new URL("../dist/dpcov.js", import.meta.url), "utf8");
  assert.ok(Buffer.byteLength(file) < 15_000, `${Buffer.byteLength(file)} bytes`);
  assert.doesNotMatch(file, /\bimport\b|\brequire\b|\beval\b|https?:\/\//);
  assert.equal(file.match(/\bfetch\(/g).length, 1);
  const settings = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.equal(settings.dependencies, undefined);
});

test("the lock file names no host", () => {
  const lock = readFileSync(new URL("../package-lock.json", import.meta.url), "utf8");
  assert.doesNotMatch(lock, /resolved|https?:/);
});
