/** A device spends once, keeps to its owner's limits, and sends one report and nothing else. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Device, makeReport, memoryStore, readPlan, UploadError } from "../dist/dpcov.js";
import { hexOf, planText, VECTORS } from "./vectors.js";

const PLAN = await readPlan(planText());
const OTHER = await readPlan(VECTORS.reports[0].plan); // epsilon = 2, three columns
const STRICT = await readPlan(VECTORS.plans[1].json);
const ROW = [0.1, 0.2];
const URL_OF_PLAN = "https://study.example/reports";

/** A row that nobody may look at. */
const UNREADABLE = new Proxy([0.1, 0.2, 0.3], {
  get: () => assert.fail("the row was looked at"),
  ownKeys: () => assert.fail("the row was looked at"),
});

test("a retry and a reload give the same bytes", async () => {
  const store = memoryStore();
  const first = await new Device({ store }).report(ROW, PLAN);
  const device = new Device({ store });
  assert.equal(hexOf(await device.report(ROW, PLAN)), hexOf(first));
  assert.equal(hexOf(await device.report([0.9, -0.1], PLAN)), hexOf(first));
  assert.equal(hexOf(await device.report(UNREADABLE, PLAN)), hexOf(first));
  assert.equal(hexOf(await device.kept(PLAN)), hexOf(first));
});

test("before a report is made, none is kept", async () => {
  const device = new Device({ store: memoryStore() });
  assert.equal(await device.kept(PLAN), undefined);
  assert.deepEqual([await device.pending(), await device.spent()], [[], 0]);
  await assert.rejects(device.upload(PLAN, URL_OF_PLAN), { name: "ReportError" });
});

test("two tabs that ask at the same time get one report", async () => {
  const store = memoryStore();
  const answers = await Promise.all(
    [1, 2, 3].map(() => new Device({ store }).report(ROW, PLAN)));
  assert.equal(new Set(answers.map(hexOf)).size, 1);
  assert.equal((await store.all()).length, 1);
});

test("what is returned can be changed without harm to what is kept", async () => {
  const device = new Device({ store: memoryStore() });
  const first = await device.report(ROW, PLAN);
  const before = hexOf(first);
  first.fill(0);
  assert.equal(hexOf(await device.report(ROW, PLAN)), before);
});

test("a report that cannot be kept is not returned", async () => {
  const store = { ...memoryStore(), keep: async () => { throw new Error("disk full"); } };
  await assert.rejects(new Device({ store }).report(ROW, PLAN), /disk full/);
});

test("a plan beyond the owner's limit is refused before the row is looked at", async () => {
  const store = memoryStore();
  const device = new Device({ store, mostEpsilon: 3.5 });
  await device.report(ROW, PLAN);
  const before = await store.all();
  await assert.rejects(device.report(UNREADABLE, OTHER), {
    name: "BudgetError",
    message: "With this plan epsilon = 4 would be spent in all; the owner of the device allows " +
      "3.5. The row was not looked at, nothing was made and nothing was spent.",
  });
  assert.deepEqual(await store.all(), before);
  assert.equal(await device.spent(), 2);
});

test("a limit holds to the last digit", async () => {
  const store = memoryStore();
  for (let i = 0; i < 9; i++) {
    await store.keep({ planId: `${i}`, epsilon: 0.1, report: new Uint8Array(), sent: true }, () => {});
  }
  const device = new Device({ store, mostEpsilon: 2.9 });
  assert.equal(await device.spent(), 0.9); // 0.8999999999999999 in plain additions
  await device.report(ROW, PLAN);
  await assert.rejects(
    new Device({ store, mostEpsilon: 4.8999 }).report([1, 2, 3], OTHER), { name: "BudgetError" });
});

test("the limit is asked again in the step that keeps", async () => {
  // Another tab spends between the first look and the end of the work.
  const store = memoryStore();
  const late = { ...store, all: async () => [] };
  await new Device({ store }).report(ROW, PLAN);
  await assert.rejects(
    new Device({ store: late, mostEpsilon: 3 }).report([1, 2, 3], OTHER), { name: "BudgetError" });
  assert.equal((await store.all()).length, 1);
});

test("a plan that refuses missing cells is refused, whatever the row is", async () => {
  const device = new Device({ store: memoryStore() });
  await assert.rejects(device.report(UNREADABLE, STRICT), /silence would tell/);
  for (const allowRefusal of [1, "yes", null]) {
    await assert.rejects(
      new Device({ store: memoryStore(), allowRefusal }).report([1, 1, 1], STRICT), /silence/);
  }
});

test("an owner can allow plans that refuse", async () => {
  const store = memoryStore();
  const device = new Device({ store, allowRefusal: true });
  await assert.rejects(device.report([null, 1, 1], STRICT), { name: "RowError" });
  assert.deepEqual(await store.all(), []);
  assert.equal((await device.report([1, 1, 1], STRICT)).length, 50);
});

test("a row that is refused spends nothing", async () => {
  const store = memoryStore();
  await assert.rejects(new Device({ store }).report([1], PLAN), { name: "RowError" });
  assert.deepEqual(await store.all(), []);
});

for (const mostEpsilon of [0, -1, NaN, "2", null]) {
  test(`a limit of ${mostEpsilon} is refused`, () => {
    assert.throws(() => new Device({ store: memoryStore(), mostEpsilon }), { name: "BudgetError" });
  });
}

const made = await makeReport(ROW, PLAN);
const simulated = made.slice();
simulated[1] |= 0x80;
const damages = { short: made.slice(1), simulated, foreign: await makeReport([1, 2, 3], OTHER), text: "x" };
for (const [name, report] of Object.entries(damages)) {
  test(`a kept report that is ${name} is neither sent nor replaced`, async () => {
    const store = memoryStore();
    const entry = { planId: PLAN.id, epsilon: 2, report, sent: false };
    await store.keep(entry, () => {});
    const device = new Device({ store });
    for (const use of [device.report(ROW, PLAN), device.kept(PLAN), device.pending(),
      device.upload(PLAN, URL_OF_PLAN)]) {
      await assert.rejects(use, /spend the budget again/);
    }
    assert.deepEqual(await store.all(), [entry]);
  });
}

for (const epsilon of [0, -1, NaN, Infinity, "2", undefined]) {
  test(`a record of ${epsilon} that was spent stops new answers`, async () => {
    const store = memoryStore();
    await store.keep({ planId: "x", epsilon, report: made, sent: true }, () => {});
    await assert.rejects(new Device({ store }).report(ROW, PLAN), /record of what was spent/);
  });
}

/** A device with a report, and a server that answers from a list: statuses, or no network. */
async function withServer(t, answers, headers = {}) {
  const requests = [];
  t.mock.method(globalThis, "fetch", async (url, options) => {
    requests.push({ url, options, body: hexOf(options.body) });
    const status = answers.shift();
    if (!status) throw new TypeError("no network");
    return new Response(status === 204 ? null : "{}", { status, headers });
  });
  const device = new Device({ store: memoryStore() });
  const report = hexOf(await device.report(ROW, PLAN));
  return { device, requests, report };
}

const quick = { firstWait: 0.001 };

test("an upload sends the report and nothing else", async (t) => {
  const { device, requests, report } = await withServer(t, [201]);
  assert.equal((await device.pending()).length, 1);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN), true);
  const [{ url, options, body }] = requests;
  assert.deepEqual([url, body, requests.length], [URL_OF_PLAN, report, 1]);
  assert.deepEqual({ ...options, body: null }, {
    method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: null,
    credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", cache: "no-store",
    signal: null,
  });
  assert.deepEqual(await device.pending(), []);
});

test("what a server has is not sent again", async (t) => {
  const { device, requests } = await withServer(t, [200]);
  await device.upload(PLAN, URL_OF_PLAN);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN), true);
  assert.equal(requests.length, 1);
});

test("a retry sends the same bytes until a server has them", async (t) => {
  const { device, requests, report } = await withServer(t, [0, 503, 429, 500, 200]);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN, quick), true);
  assert.deepEqual(requests.map(({ body }) => body), new Array(5).fill(report));
});

test("offline, a report waits and is sent later", async (t) => {
  const { device, requests, report } = await withServer(t, [0, 0, 200]);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN, { ...quick, attempts: 2 }), false);
  assert.deepEqual((await device.pending()).map((each) => hexOf(each.report)), [report]);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN, quick), true);
  assert.equal(requests.length, 3);
});

test("a repeated report that the server knows is done", async (t) => {
  // The first answer was lost: the server has counted it, and answers as before.
  const { device, requests } = await withServer(t, [0, 200]);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN, quick), true);
  assert.equal(requests[0].body, requests[1].body);
});

for (const status of [400, 404, 409, 410, 413]) {
  test(`status ${status} is final, and the report stays kept`, async (t) => {
    const { device, requests, report } = await withServer(t, [status]);
    await assert.rejects(device.upload(PLAN, URL_OF_PLAN, quick), (error) =>
      error instanceof UploadError && error.status === status);
    assert.equal(requests.length, 1);
    assert.equal(hexOf(await device.kept(PLAN)), report);
  });
}

test("only the report of the plan is sent", async (t) => {
  const { device, requests } = await withServer(t, [200, 200]);
  const other = hexOf(await device.report([1, 2, 3], OTHER));
  await device.upload(OTHER, URL_OF_PLAN);
  assert.deepEqual(requests.map(({ body }) => body), [other]);
  assert.deepEqual((await device.pending()).map(({ planId }) => planId), [PLAN.id]);
});

test("waits double, and a server can ask for longer ones", async (t) => {
  const waits = [];
  t.mock.method(globalThis, "setTimeout", (resume, wait) => (waits.push(wait / 1000), queueMicrotask(resume)));
  const one = await withServer(t, [500, 500, 500, 500, 500]);
  waits.length = 0;
  assert.equal(await one.device.upload(PLAN, URL_OF_PLAN), false);
  assert.equal(waits.length, 4);
  waits.forEach((wait, k) => assert.ok(wait >= 2 ** k / 2 && wait <= 2 ** k, `${waits}`));
  t.mock.restoreAll();
});

test("a stated wait is kept, and one beyond ten minutes is left to the next call", async (t) => {
  const one = await withServer(t, [503, 200], { "Retry-After": "0.05" });
  const start = performance.now();
  assert.equal(await one.device.upload(PLAN, URL_OF_PLAN, quick), true);
  assert.ok(performance.now() - start >= 45);
  t.mock.restoreAll();
  const two = await withServer(t, [503, 200], { "Retry-After": "3600" });
  assert.equal(await two.device.upload(PLAN, URL_OF_PLAN, quick), false);
  assert.equal(two.requests.length, 1);
});

test("an upload can be stopped, and the report stays pending", async (t) => {
  const { device, requests } = await withServer(t, [0, 200]);
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  assert.equal(await device.upload(PLAN, URL_OF_PLAN, { signal: stop.signal, firstWait: 60 }), false);
  assert.equal(requests.length, 1);
  assert.equal((await device.pending()).length, 1);
});
