/** Reading plans: what Python writes is read, and nothing else. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { BudgetError, DpcovError, PlanError, readPlan } from "../dist/dpcov.js";
import { readJson } from "../build/json.js";
import { capEpsilon, COIN, shareInside, steadyTries } from "../build/payment.js";
import { canonicalForm, check } from "../build/plan.js";
import { planText, VECTORS } from "./vectors.js";

const CAPS = VECTORS.plans.filter(({ json }) => JSON.parse(json).mechanism === "cap");
const GAUSSIAN = VECTORS.plans.find(({ json }) => JSON.parse(json).mechanism === "gaussian");
const TEXT = planText();

for (const { json, canonical, id } of [...CAPS, ...VECTORS.studies]) {
  test(`plan ${id.slice(0, 8)} has Python's id and canonical form`, async () => {
    const plan = await readPlan(json);
    assert.equal(plan.id, id);
    const read = readJson(json, 6);
    read.delete("id");
    check(read);
    assert.equal(canonicalForm(read), canonical);
    const facts = JSON.parse(json);
    assert.deepEqual(plan.columns, facts.columns.map((c) => ({ ...c, center: c.center + 0 })));
    assert.deepEqual([plan.rowNorm, plan.epsilon, plan.missing, plan.study],
      [facts.row_norm, facts.epsilon, facts.missing, facts.study ?? null]);
  });
}

const STUDY = VECTORS.studies[0].json;

test("a study cannot be changed", async () => {
  const { study } = await readPlan(STUDY);
  const [, { points }, { choices }] = study.questions;
  for (const value of [study, study.questions, points, choices, choices[0]]) {
    assert.ok(Object.isFrozen(value));
  }
});

test("a number of a study is an integer or a real as it is written", async () => {
  const [, other] = VECTORS.studies;
  await readPlan(other.json.replace("1000.0", "1e3"));
  await assert.rejects(readPlan(other.json.replace("1000.0", "1000")), /id is not that/);
  await assert.rejects(readPlan(STUDY.replace('"low": 18', '"low": 18.0')), /id is not that/);
});

const wrongStudies = {
  "another word": STUDY.replace("seldom", "rarely"),
  "a null study": TEXT.replace("{", '{"study":null,'),
  "a study that is a text": TEXT.replace("{", '{"study":"x",'),
  "an infinite number": STUDY.replace('"low": 18', '"low": 1e999'),
  "half a surrogate pair": STUDY.replace("seldom", "\\ud800"),
  "a key that stands twice": STUDY.replace('"low": 18', '"low": 18, "low": 18'),
  "seven levels": STUDY.replace('"label": "no"', '"label": []'),
};
for (const [name, text] of Object.entries(wrongStudies)) {
  test(`a study with ${name} is refused`, async () => {
    assert.ok(text !== TEXT && text !== STUDY);
    await assert.rejects(readPlan(text), PlanError);
  });
}

test("a plan with a delta is refused", async () => {
  await assert.rejects(readPlan(GAUSSIAN.json), (error) =>
    error instanceof PlanError && /pure promise/.test(error.message));
});

test("a plan cannot be changed", async () => {
  const plan = await readPlan(TEXT);
  for (const value of [plan, plan.columns, plan.columns[0]]) assert.ok(Object.isFrozen(value));
});

/** The text of a plan with other contents, and the id that belongs to them. */
function withId(changes, columns = [{}, {}]) {
  const facts = { ...JSON.parse(TEXT), ...changes };
  facts.columns = facts.columns.map((column, i) => ({ ...column, ...columns[i] }));
  const real = (x) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x + 0);
    return view.getBigUint64(0).toString(16).padStart(16, "0");
  };
  const { id, ...rest } = facts;
  const marked = JSON.stringify(rest, (key, value) =>
    typeof value === "number" && !["coin", "version"].includes(key) ? real(value)
      : value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value);
  facts.id = createHash("sha256").update(marked).digest("hex");
  return JSON.stringify(facts);
}

test("a plan with other contents and their id is read", async () => {
  assert.equal(withId({}), TEXT);
  const plan = await readPlan(withId({ row_norm: 3, missing: "refuse" }, [{ center: -0.5 }]));
  assert.deepEqual([plan.rowNorm, plan.missing, plan.columns[0].center], [3, "refuse", -0.5]);
});

test("a center of −0 is 0: one number, one id", async () => {
  const plan = await readPlan(TEXT.replace('"center":0', '"center":-0.0'));
  assert.ok(Object.is(plan.columns[0].center, 0));
  assert.equal(plan.id, (await readPlan(TEXT)).id);
});

const { constants } = JSON.parse(TEXT);
const refused = {
  "another id": TEXT.replace(/"id":"../, (found) => found.slice(0, -2) + "zz"),
  "a larger epsilon than the id was made for": TEXT.replace('"epsilon":2', '"epsilon":3'),
  "an unknown key": withId({ note: "x" }),
  "a missing key": JSON.stringify({ ...JSON.parse(TEXT), missing: undefined }),
  "an unknown key of a column": withId({}, [{ note: "x" }]),
  "an unknown constant": withId({ constants: { ...constants, note: 1 } }),
  "another format": withId({ format: "something" }),
  "version 1": withId({ version: 1 }),
  "version 3": withId({ version: 3 }),
  "a version that is no integer": TEXT.replace('"version":2', '"version":2.0'),
  "a coin that is no integer": TEXT.replace(/("coin":\d+)/, "$1.0"),
  "a coin as text": withId({ constants: { ...constants, coin: `${constants.coin}` } }),
  "constants that do not pay": withId({ epsilon: 1.9999 }),
  "a coin that is larger by 16": withId({ constants: { ...constants, coin: constants.coin + 16 } }),
  "a coin below the share of the cap": withId({ constants: { ...constants, coin: 100 } }),
  "a threshold beyond 3": withId({ constants: { threshold: 3.01, coin: constants.coin } }),
  "an epsilon of zero": withId({ epsilon: 0 }),
  "an epsilon beyond 20": withId({ epsilon: 20.1 }),
  "an infinite norm": TEXT.replace('"row_norm":1', '"row_norm":1e999'),
  "a norm of zero": withId({ row_norm: 0 }),
  "a norm that is true": withId({ row_norm: true }),
  "a scale of zero": withId({}, [{ scale: 0 }]),
  "a negative scale": withId({}, [{ scale: -1 }]),
  "a huge center": withId({}, [{ center: 1e101 }]),
  "equal names": withId({}, [{ name: "b" }]),
  "a name that is a number": withId({}, [{ name: 7 }]),
  "half a surrogate pair": withId({}, [{ name: "\ud800" }]),
  "no columns": withId({ columns: [] }),
  "columns that are an object": withId({ columns: [] }).replace('"columns":[]', '"columns":{}'),
  "a rule that does not exist": withId({ missing: "pairwise" }),
  "a delta": withId({ delta: 1e-6 }),
  "a key that stands twice": TEXT.replace("{", '{"epsilon":9,'),
  "a key that stands twice by an escape": TEXT.replace("{", '{"epsi\\u006con":9,'),
  "text after the end": TEXT + "x",
  "a byte order mark": "\ufeff" + TEXT,
  "an exotic space": "\u00a0" + TEXT,
  "NaN": TEXT.replace('"row_norm":1', '"row_norm":NaN'),
  "a list": "[]",
  "nothing": "",
  "too deep": "[".repeat(100_000),
  "too long": " ".repeat((16 << 20) + 1) + TEXT,
  "a number of 2,000 digits": TEXT.replace('"row_norm":1', `"row_norm":1.${"0".repeat(2000)}`),
};
for (const [name, text] of Object.entries(refused)) {
  test(`${name} is refused`, async () => {
    assert.notEqual(text, TEXT);
    await assert.rejects(readPlan(text), PlanError);
  });
}

test("what is not a text is refused", async () => {
  for (const text of [null, undefined, 7, {}, [TEXT], new String(TEXT)]) {
    await assert.rejects(readPlan(text), PlanError);
  }
});

test("errors have one root", () => {
  assert.ok(new PlanError("x") instanceof DpcovError && new BudgetError("x") instanceof Error);
});

test("without WebCrypto a plan is refused with what to do", async (t) => {
  t.mock.getter(globalThis.crypto, "subtle", () => undefined);
  await assert.rejects(readPlan(TEXT), /https/);
});

test("JSON is read as JSON.parse does, integers as bigint, objects as maps", () => {
  const text = ' {"a" : [1, -0, 2.50, 1E2, true, null, "\\u00fc\\n/\\/"], "b": {}, "c": []} \n';
  const read = readJson(text, 3);
  assert.deepEqual(read, new Map([
    ["a", [1n, 0n, 2.5, 100, true, null, "ü\n//"]], ["b", new Map()], ["c", []]]));
});

for (const text of ["01", "1.", ".5", "+1", "[1,]", "[,1]", "[1 2]", '{"a":}', '{"a"}', "{1:2}",
  '"\t"', '"\\x"', "'a'", "tru", "[1]]", "[", "{", '"', "-", "1e", '{"a":1,}', "/**/1"]) {
  test(`${JSON.stringify(text)} is not JSON`, () => {
    assert.throws(() => JSON.parse(text));
    assert.throws(() => readJson(text, 3));
  });
}

test("claim P14: constants cost what Python says, and calibrated ones pay", () => {
  for (const vector of VECTORS.payments) {
    const { threshold, coin, n_columns: size, paid, epsilon, tries } = vector;
    const found = capEpsilon(threshold, coin, size);
    assert.ok(Math.abs(found - paid) <= 2 ** -46 + 2 ** -50 * paid, `${found} ${paid}`);
    assert.ok(found <= epsilon);
    assert.equal(steadyTries(threshold), tries);
    const share = shareInside(threshold);
    assert.ok(Math.max(share, 1 - share) ** tries <= 2 ** -32 * (1 + 1e-9));
  }
});

test("claim P14: one more step of the coin is not paid for where epsilon is small", () => {
  // At 1e-6 a step of the coin is 1.4e-9, more than what calibration leaves over.
  const tight = VECTORS.payments.filter(({ epsilon }) => epsilon === 1e-6);
  for (const { threshold, coin, n_columns: size, epsilon } of tight) {
    assert.ok(capEpsilon(threshold, coin + 1, size) > epsilon);
  }
  assert.ok(tight.length);
  assert.equal(capEpsilon(3, COIN - 1, 2 ** 45), Infinity);
});
